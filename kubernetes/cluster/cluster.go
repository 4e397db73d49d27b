package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/kubernetes/pod"
)

// Options configure a Cluster.
type Options struct {
	API     *rest.Config
	Version string       // of the API server
	Link    link.Options // Keeper and Facts are set by New
	Run     string       // identifies the agents of this cluster to Muster: one at a time works
	Facts   protocol.Facts
	Pods    pod.Options
	Secret  string // name of the Secret of the credential
	Workers int    // requests to the API server at the same time
	Log     *slog.Logger
}

// Cluster runs container groups as the pods of a Kubernetes cluster. Create it with New,
// and call Run once.
type Cluster struct {
	opts    Options
	log     *slog.Logger
	version string
	api     typed.CoreV1Interface
	server  *link.Server
	link    *link.Link
	pods    cache.SharedIndexInformer
	watched cache.SharedIndexInformer // nodes
	secrets cache.SharedIndexInformer // of tokens
	nodes   *nodes
	tokens  *tokens
	reports reports
	queue   workqueue.TypedRateLimitingInterface[key]
	logs    chan protocol.LogsStored
	packing chan struct{} // holds a value for each archive of logs being sent
	offered atomic.Int64  // sum of what the nodes offered when Muster was told last, or untold
	refacts wake.Nudge    // what the nodes offer may have changed

	mu        sync.Mutex
	assigned  bool // the desired state is known
	instances map[string]*instance
	groups    map[key]*group
	kills     map[string]protocol.Kill // by game server: what Muster asked for and is not done
}

// key names a group, or with an empty group the Secret of an instance. Both are as in the
// labels of pods.
type key struct{ instance, group string }

// instance is what Muster desires of an instance.
type instance struct {
	desired   *protocol.Desired
	activated bool // a container of it has started
}

// group is a container group, desired or not.
type group struct {
	name   string // as Muster calls it
	want   *wanted
	memory memory
	gone   bool
	code   string // event code of why no pod can be created
	cause  string
	tries  int // in vain, to create the pod
}

// The indexes of pods.
const (
	byGroup   = "group"
	byNode    = "node"
	byProcess = "process"
)

// New returns a Cluster that does nothing yet.
func New(o Options) (*Cluster, error) {
	api, err := typed.NewForConfig(o.API)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	c := &Cluster{
		opts: o, log: o.Log, version: o.Version, api: api, instances: map[string]*instance{}, groups: map[key]*group{}, kills: map[string]protocol.Kill{},
		reports: reports{known: map[string]bool{}}, logs: make(chan protocol.LogsStored, 64), packing: make(chan struct{}, 4), refacts: wake.NewNudge(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[key](100*time.Millisecond, 30*time.Second)),
	}
	c.offered.Store(untold)
	c.tokens = &tokens{secrets: api.Secrets(o.Pods.Namespace), agent: o.Pods.Agent, kept: map[string]*secret{}}
	if err := c.watch(); err != nil {
		return nil, err
	}
	c.nodes = &nodes{api: api.Nodes(), cache: c.watched.GetStore(), offers: labels.SelectorFromSet(o.Pods.NodeSelector), bears: o.Pods.Tolerations, gone: map[string]bool{}}
	o.Link.Keeper, o.Link.Facts = keeper{api.Secrets(o.Pods.Namespace), o.Secret}, c.facts
	c.server = link.NewServer(o.Link)
	c.link = link.New(link.LinkOptions{Server: c.server, Host: host{c}, Run: o.Run, Pause: pause, Log: o.Log})
	return c, nil
}

// pause is the time between two Status frames: those of a cluster are large.
const pause = time.Second

// watch prepares the watches.
func (c *Cluster) watch() error {
	mine := func(o *metav1.ListOptions) { o.LabelSelector = pod.LabelAgent + "=" + c.opts.Pods.Agent }
	c.pods = cache.NewSharedIndexInformer(
		cache.NewFilteredListWatchFromClient(c.api.RESTClient(), "pods", c.opts.Pods.Namespace, mine), &corev1.Pod{}, 0,
		cache.Indexers{byGroup: groupOf, byNode: nodeOf, byProcess: processOf})
	c.watched = cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(c.api.RESTClient(), "nodes", metav1.NamespaceAll, fields.Everything()), &corev1.Node{}, 0, cache.Indexers{})
	_, err1 := c.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(at any) { c.podSeen(at.(*corev1.Pod)) }, UpdateFunc: func(_, at any) { c.podSeen(at.(*corev1.Pod)) }, DeleteFunc: c.podGone,
	})
	_, err2 := c.watched.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.nodeSeen, UpdateFunc: func(_, at any) { c.nodeSeen(at) }, DeleteFunc: c.nodeGone,
	})
	c.secrets = cache.NewSharedIndexInformer(
		cache.NewFilteredListWatchFromClient(c.api.RESTClient(), "secrets", c.opts.Pods.Namespace, func(o *metav1.ListOptions) {
			o.LabelSelector = pod.LabelAgent + "=" + c.opts.Pods.Agent + "," + pod.LabelInstance
		}), &corev1.Secret{}, 0, cache.Indexers{})
	_, err3 := c.secrets.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, at any) { c.secretSeen(at, true) }, DeleteFunc: func(at any) { c.secretSeen(at, false) },
	})
	return errors.Join(c.pods.SetTransform(slimPod), c.watched.SetTransform(slimNode), err1, err2, err3)
}

func groupOf(at any) ([]string, error) {
	p := at.(*corev1.Pod)
	return []string{p.Labels[pod.LabelInstance] + "/" + p.Labels[pod.LabelGroup]}, nil
}

func nodeOf(at any) ([]string, error) { return []string{at.(*corev1.Pod).Spec.NodeName}, nil }

func processOf(at any) ([]string, error) {
	if id := at.(*corev1.Pod).Labels[pod.LabelProcess]; id != "" {
		return []string{id}, nil
	}
	return nil, nil
}

// Run does the agent's work until ctx ends. It fails if the cluster cannot join, or if it
// was removed from Muster: then all its groups are ended.
func (c *Cluster) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	defer c.queue.ShutDown()
	defer cancel()
	work.Go(func() { c.pods.RunWithContext(ctx) })
	work.Go(func() { c.watched.RunWithContext(ctx) })
	work.Go(func() { c.secrets.RunWithContext(ctx) }) // what follows does not depend on it
	if !cache.WaitForCacheSync(ctx.Done(), c.pods.HasSynced, c.watched.HasSynced) {
		return nil
	}
	if err := c.server.Identify(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for range max(1, c.opts.Workers) {
		work.Go(func() { c.work(ctx) })
	}
	work.Go(func() { c.offer(ctx) })
	err := c.link.Keep(ctx)
	if errors.Is(err, link.ErrRemoved) {
		c.log.Error("this cluster was removed; its game servers are ended")
		return errors.Join(err, c.clear(ctx))
	}
	return err
}

// clear ends all pods. The API server may need several requests if there are many.
func (c *Cluster) clear(ctx context.Context) (err error) {
	grace := int64(atOnce / time.Second)
	selector := pod.LabelAgent + "=" + c.opts.Pods.Agent
	for range maxClears {
		err = errors.Join(
			c.api.Pods(c.opts.Pods.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{LabelSelector: selector}),
			c.api.Secrets(c.opts.Pods.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: selector + "," + pod.LabelInstance}))
		if err == nil || !wake.Sleep(ctx, time.Second) {
			break
		}
	}
	return err
}

const maxClears = 20

// untold means that Muster was not told yet what the nodes offer: the next link begins with
// that.
const untold = -1

// offer has Muster told when the nodes offer something else. Changes within a second are
// one.
func (c *Cluster) offer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.refacts:
		}
		cpu, memory := c.nodes.capacity()
		if was := c.offered.Load(); was != untold && was != sumOf(cpu, memory) {
			c.link.FactsChanged()
		}
		if !wake.Sleep(ctx, time.Second) {
			return
		}
	}
}

// podSeen handles a new or changed pod.
func (c *Cluster) podSeen(p *corev1.Pod) {
	c.queue.Add(key{p.Labels[pod.LabelInstance], p.Labels[pod.LabelGroup]})
	c.link.Changed()
}

// podGone handles a deleted pod.
func (c *Cluster) podGone(at any) {
	p, ok := at.(*corev1.Pod)
	if tomb, isTomb := at.(cache.DeletedFinalStateUnknown); isTomb {
		p, ok = tomb.Obj.(*corev1.Pod)
	}
	if !ok {
		return
	}
	s := pod.Deleted(p)
	k := key{s.InstanceID, s.Group}
	if s.ProcessID != "" && !s.Reported {
		c.report(s)
	}
	c.reports.forget(s.ProcessID)
	c.mu.Lock()
	delete(c.kills, s.ProcessID)
	if g := c.groups[k]; g != nil {
		g.memory.last = max(g.memory.last, s.Run)
		if g.memory.last == s.Run {
			g.memory.created = time.Time{}
		}
		if g.memory.counted != p.UID {
			g.memory.count(sighting{uid: p.UID, State: s}, time.Now(), chance())
		}
	}
	c.mu.Unlock()
	c.queue.Add(k)
	c.link.Changed()
}

// secretSeen has a Secret looked at that somebody else has changed or deleted.
func (c *Cluster) secretSeen(at any, exists bool) {
	s, ok := at.(*corev1.Secret)
	if tomb, isTomb := at.(cache.DeletedFinalStateUnknown); isTomb {
		s, ok = tomb.Obj.(*corev1.Secret)
	}
	if ok && c.tokens.seen(s, exists) {
		c.queue.Add(key{instance: s.Labels[pod.LabelInstance]})
	}
}

// nodeSeen handles a new or changed node.
func (c *Cluster) nodeSeen(at any) {
	n := at.(*corev1.Node)
	c.nodes.back(n.Name)
	c.refacts.Send()
	if len(n.Spec.Taints) > 0 {
		c.lookOn(n.Name)
	}
	c.link.Changed()
}

// nodeGone handles a deleted node.
func (c *Cluster) nodeGone(at any) {
	n, ok := at.(*corev1.Node)
	if tomb, isTomb := at.(cache.DeletedFinalStateUnknown); isTomb {
		n, ok = tomb.Obj.(*corev1.Node)
	}
	if ok {
		c.refacts.Send()
		c.lookOn(n.Name)
	}
}

// lookOn has the groups on a node looked at.
func (c *Cluster) lookOn(node string) {
	list, err := c.pods.GetIndexer().ByIndex(byNode, node)
	if err != nil {
		c.log.Error("the pods of a node are not known", "node", node, "error", err)
	}
	for _, at := range list {
		p := at.(*corev1.Pod)
		c.queue.Add(key{p.Labels[pod.LabelInstance], p.Labels[pod.LabelGroup]})
	}
}

// work handles groups of the queue.
func (c *Cluster) work(ctx context.Context) {
	for {
		k, over := c.queue.Get()
		if over {
			return
		}
		again, err := c.look(ctx, k)
		switch {
		case err != nil && ctx.Err() == nil:
			c.log.Warn("a group is not as it should be yet", "instance", k.instance, "group", k.group, "error", err)
			c.queue.AddRateLimited(k)
		case !again.IsZero():
			c.queue.Forget(k)
			c.queue.AddAfter(k, time.Until(again))
		default:
			c.queue.Forget(k)
		}
		c.queue.Done(k)
	}
}
