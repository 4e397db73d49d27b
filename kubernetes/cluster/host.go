package cluster

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/kubernetes/pod"
)

// host is the cluster as Muster's link sees it (link.Host).
type host struct{ c *Cluster }

func (h host) Sample() {}

func (h host) Exits(seq uint64) []protocol.Exited { return h.c.reports.after(seq) }

func (h host) LogsStored() <-chan protocol.LogsStored { return h.c.logs }

func (h host) Tailed() <-chan protocol.Tailed { return nil } // kubectl logs shows what pods write

func (h host) Obey(ctx context.Context, m protocol.Message) {
	switch {
	case m.Assign != nil:
		h.c.assign(ctx, m.Assign)
	case m.Kill != nil:
		h.c.kill(*m.Kill)
	case m.Collect != nil:
		go h.c.collect(ctx, *m.Collect)
	case m.Ack != nil:
		if e, ok := h.c.reports.ack(m.Ack.Seq); ok {
			h.c.queue.Add(key{e.InstanceID, e.Group})
		}
	}
}

// assign applies a desired state.
func (c *Cluster) assign(ctx context.Context, a *protocol.Assign) {
	c.mu.Lock()
	defer c.mu.Unlock()
	instances, groups := map[string]bool{}, map[key]bool{}
	for n := range a.Instances {
		d := &a.Instances[n]
		c.assignInstance(d)
		instances[d.InstanceID] = true
		for n := range d.Groups {
			groups[c.assignGroup(d, &d.Groups[n])] = true
		}
	}
	c.keep(instances, groups)
	if !c.assigned {
		c.assigned = true
		for _, at := range c.pods.GetStore().List() {
			p := at.(*corev1.Pod)
			c.queue.Add(key{p.Labels[pod.LabelInstance], p.Labels[pod.LabelGroup]})
		}
		go c.sweep(ctx)
	}
	c.link.Changed()
}

// assignInstance sets what is desired of an instance. It must be called with mu held.
func (c *Cluster) assignInstance(d *protocol.Desired) {
	i := c.instances[d.InstanceID]
	if i == nil {
		i = &instance{}
		c.instances[d.InstanceID] = i
	}
	if i.desired != nil && !maps.Equal(tokensOf(i.desired), tokensOf(d)) {
		c.queue.Add(key{instance: d.InstanceID})
	}
	i.desired = d
}

// assignGroup sets what is desired of a group of an instance, and returns its key. It must be
// called with mu held.
func (c *Cluster) assignGroup(d *protocol.Desired, g *protocol.Group) key {
	k := key{pod.Label(d.InstanceID), pod.Label(g.Name)}
	at := c.groups[k]
	if at == nil {
		at = &group{}
		c.groups[k] = at
	}
	next := want(d, g)
	if at.want == nil || !same(at.want, next) {
		at.code, at.cause, at.tries = "", "", 0 // another definition may do better
		c.queue.Add(k)
	}
	at.name, at.want = g.Name, next
	return k
}

// keep has all other instances and groups end. It must be called with mu held.
func (c *Cluster) keep(instances map[string]bool, groups map[key]bool) {
	for k, g := range c.groups {
		if !groups[k] && g.want != nil {
			c.lookBeside(k.instance, g.want.desired)
			g.want = nil
			c.queue.Add(k)
		}
	}
	for id := range c.instances {
		if !instances[id] {
			delete(c.instances, id)
			c.queue.Add(key{instance: id})
		}
	}
}

// same reports whether a group is desired as before, apart from its token.
func same(a, b *wanted) bool {
	x, y := *a.group, *b.group
	x.AuthToken, y.AuthToken = "", ""
	return a.stop == b.stop && a.stopBy.Equal(b.stopBy) && reflect.DeepEqual(x, y)
}

// sweep has the Secrets removed that a former agent left.
func (c *Cluster) sweep(ctx context.Context) {
	ids, err := c.tokens.left(ctx)
	if err != nil {
		c.log.Warn("Secrets of former instances are not removed", "error", err)
	}
	for _, id := range ids {
		c.queue.Add(key{instance: id})
	}
}

// kill has a game server ended by the workers, as all else that is asked of the API server: a
// thousand requests at once would delay each other until none is answered in time, and Muster
// asks again for what takes long.
func (c *Cluster) kill(k protocol.Kill) {
	c.mu.Lock()
	defer c.mu.Unlock() // podGone forgets the kill after the watch has lost the pod
	if p := c.process(k.ProcessID); p != nil {
		c.kills[k.ProcessID] = k
		c.queue.Add(key{p.Labels[pod.LabelInstance], p.Labels[pod.LabelGroup]})
	}
}

// endAsked ends those of the game servers that Muster asked for.
func (c *Cluster) endAsked(ctx context.Context, pods []sighting) error {
	var all error
	for _, s := range pods {
		c.mu.Lock()
		k, asked := c.kills[s.ProcessID]
		c.mu.Unlock()
		p := c.process(s.ProcessID)
		if !asked || p == nil {
			continue
		}
		r := removal{name: p.Name, uid: p.UID, grace: max(atOnce, k.Grace)}
		if p.Annotations[pod.NoteReason] == "" { // the first reason stays
			r.why = cmp.Or(k.Reason, pod.CodeStopped)
		}
		if err := c.remove(ctx, r); err != nil {
			all = errors.Join(all, err)
			continue
		}
		c.mu.Lock()
		if c.kills[s.ProcessID] == k { // else it was asked for again, with less time
			delete(c.kills, s.ProcessID)
		}
		c.mu.Unlock()
	}
	return all
}

// process returns the pod of a game server, or nil.
func (c *Cluster) process(id string) *corev1.Pod {
	list, err := c.pods.GetIndexer().ByIndex(byProcess, id)
	if err != nil || len(list) == 0 || id == "" {
		return nil
	}
	return list[0].(*corev1.Pod)
}

// maxLog bounds the log of a container in bytes.
const maxLog = 64 << 20

// collect sends the logs of an ended game server's containers to Muster.
func (c *Cluster) collect(ctx context.Context, m protocol.Collect) {
	done := protocol.LogsStored{InstanceID: m.InstanceID, ProcessID: m.ProcessID}
	select {
	case c.packing <- struct{}{}:
	case <-ctx.Done():
		return
	}
	var err error
	if done.Bytes, err = c.ship(ctx, m); err != nil {
		done.Problem = err.Error()
	}
	<-c.packing
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	select {
	case c.logs <- done:
	case <-late.C: // Muster asks again
	case <-ctx.Done():
	}
}

// ship packs and sends logs.
func (c *Cluster) ship(ctx context.Context, m protocol.Collect) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	p := c.process(m.ProcessID)
	if p == nil {
		return 0, errors.New("the pod is gone, and its logs with it; the cluster's collection of logs may have them")
	}
	file, err := os.CreateTemp("", "logs-*.zip")
	if err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := c.pack(ctx, file, p); err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	req, err := c.server.Request(ctx, http.MethodPut, protocol.PathLogs+m.InstanceID+"/"+m.ProcessID, io.NopCloser(file))
	if err != nil {
		return 0, err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/zip")
	res, err := c.server.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusOK {
		return 0, link.RefusalOf(res)
	}
	return size, nil
}

// pack writes an archive with a file for each container that has started.
func (c *Cluster) pack(ctx context.Context, to io.Writer, p *corev1.Pod) error {
	archive := zip.NewWriter(to)
	limit := int64(maxLog)
	for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if st.State.Running == nil && st.State.Terminated == nil {
			continue
		}
		log, err := c.api.Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{Container: st.Name, LimitBytes: &limit}).Stream(ctx)
		if err != nil {
			return err
		}
		file, err := archive.Create(st.Name + ".log")
		if err == nil {
			_, err = io.Copy(file, log)
		}
		if err = errors.Join(err, log.Close()); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Status returns the state of all instances, or nil before Muster has sent the desired
// state: until then groups without a pod are not known.
func (h host) Status() *protocol.Status {
	c := h.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.assigned {
		return nil
	}
	_, memory := c.nodes.capacity()
	status := &protocol.Status{Resources: protocol.Resources{MemoryMiB: memory}, Instances: []protocol.Instance{}}
	byInstance := map[string][]protocol.GroupStatus{}
	pulls := map[string]pull{}
	for k, g := range c.groups {
		s, about := c.groupStatus(k, g)
		byInstance[k.instance] = append(byInstance[k.instance], s)
		pulls[k.instance] = pulls[k.instance].and(about)
	}
	for id := range c.instances {
		if byInstance[id] == nil {
			byInstance[id] = []protocol.GroupStatus{}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byInstance)) {
		list := byInstance[id]
		slices.SortFunc(list, func(a, b protocol.GroupStatus) int { return cmp.Compare(a.Name, b.Name) })
		i := c.instances[id]
		if i != nil && pulls[id].started {
			i.activated = true
		}
		status.Instances = append(status.Instances, report(id, i, list, pulls[id]))
	}
	return status
}

// pull is what groups of an instance say about their images.
type pull struct {
	started  bool // a container of one has started
	hopeless *protocol.GroupStatus
}

func (p pull) and(other pull) pull {
	p.started = p.started || other.started
	p.hopeless = cmp.Or(p.hopeless, other.hopeless)
	return p
}

// report returns the state of an instance from those of its groups.
func report(id string, i *instance, groups []protocol.GroupStatus, about pull) protocol.Instance {
	to := protocol.Instance{InstanceID: id, Phase: protocol.Downloading, Groups: groups}
	gone := !slices.ContainsFunc(groups, func(g protocol.GroupStatus) bool { return g.Phase != protocol.GroupGone })
	switch {
	case (i == nil || i.desired.Stop != protocol.Keep) && gone:
		to.Phase = protocol.Gone
	case i == nil || i.desired.Stop != protocol.Keep:
		to.Phase = protocol.Draining
	case i.activated:
		to.Phase = protocol.Activating
	case about.hopeless != nil:
		to.Phase, to.Code, to.Cause = protocol.Failed, about.hopeless.Code, about.hopeless.Cause
	}
	return to
}

// groupStatus returns the state of a group. The caller must hold mu.
func (c *Cluster) groupStatus(k key, g *group) (protocol.GroupStatus, pull) {
	to := protocol.GroupStatus{Name: g.name, Phase: protocol.GroupStarting, Code: g.code, Cause: g.cause, Failed: g.memory.failed}
	if g.want != nil {
		to.Definition = g.want.group.Definition
	}
	if g.code != "" {
		to.Phase = protocol.GroupFailed
	}
	pods := c.sighted(k)
	var about pull
	if len(pods) > 0 {
		newest := slices.MaxFunc(pods, func(a, b sighting) int { return cmp.Compare(a.Run, b.Run) })
		about.started = !newest.Started.IsZero()
		if g.code == "" {
			to.Phase, to.Code, to.Cause = newest.Phase, newest.Code, newest.Cause
		}
		to.Definition, to.Containers = newest.Definition, newest.Containers
		if newest.End == nil {
			// A pod may wait for a node or an image for long, and its process begins after that:
			// Muster counts from then how long the process takes to call InitSDK.
			if !newest.Started.IsZero() {
				to.ProcessID, to.Started = newest.ProcessID, newest.Started
			}
			if c.opts.Facts.IPAddress == "" {
				to.IPAddress, to.IPv6, to.DNSName = c.address(newest.name)
			}
		} else if newest.End.Clean {
			to.Phase = protocol.GroupStarting
		}
		if newest.Hopeless {
			about.hopeless = &to
		}
	}
	if g.want == nil || g.want.stop != protocol.Keep {
		if to.Phase = protocol.GroupDraining; g.gone {
			to.Phase = protocol.GroupGone
		}
	}
	return to, about
}

// address returns the addresses of the node that a pod is on.
func (c *Cluster) address(name string) (ip, ipv6, dns string) {
	at, ok, _ := c.pods.GetStore().GetByKey(c.opts.Pods.Namespace + "/" + name) // the cache's error is always nil
	if !ok {
		return "", "", ""
	}
	return pod.Address(c.nodes.get(at.(*corev1.Pod).Spec.NodeName))
}
