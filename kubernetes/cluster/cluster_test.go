package cluster_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/kubernetes/cluster"
	"github.com/musterhq/muster/kubernetes/internal/kubetest"
	"github.com/musterhq/muster/kubernetes/pod"
)

// kubelet does by hand what kubelets and the scheduler do.
type kubelet struct {
	t *testing.T
	*kubetest.Cluster
}

// pods returns the pods of a group, the last run first.
func (k kubelet) pods(instance, group string) []corev1.Pod {
	k.t.Helper()
	list, err := k.Core.Pods("default").List(k.t.Context(), metav1.ListOptions{LabelSelector: pod.LabelInstance + "=" + instance + "," + pod.LabelGroup + "=" + group})
	if err != nil {
		k.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(b.Name, a.Name) })
	return list.Items
}

// patience is how long a test waits for what takes seconds on a machine that is not busy.
var patience = 3 * wait.Patience()

// until waits until ok, which asks the API server.
func (k kubelet) until(what string, ok func() bool) {
	k.t.Helper()
	wait.Within(k.t, patience, what, func() error {
		if ok() {
			return nil
		}
		return seen(k.shown)
	})
}

// seen is an error that is put into words when it is read, as the API server is asked for them.
type seen func() string

func (s seen) Error() string { return s() }

// shown describes the pods that there are, some of many.
func (k kubelet) shown() string {
	list, err := k.Core.Pods("default").List(k.t.Context(), metav1.ListOptions{})
	if err != nil {
		return fmt.Sprintf("the pods are not known: %v", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "there are %d pods", len(list.Items))
	for n, p := range list.Items {
		if n == 20 {
			b.WriteString("\n…")
			break
		}
		fmt.Fprintf(&b, "\n%s %s on %q, since %s", p.Name, p.Status.Phase, p.Spec.NodeName, p.CreationTimestamp.Format(time.TimeOnly))
		if p.DeletionTimestamp != nil {
			fmt.Fprintf(&b, ", to end by %s (%d s)", p.DeletionTimestamp.Format(time.TimeOnly), *p.DeletionGracePeriodSeconds)
		}
		fmt.Fprintf(&b, ", version %s, finalizers %v, labels %v, notes %v", p.ResourceVersion, p.Finalizers, p.Labels, p.Annotations)
	}
	return b.String()
}

// appears waits for the pod of a run, and returns it.
func (k kubelet) appears(instance, group string, run int) *corev1.Pod {
	k.t.Helper()
	var p *corev1.Pod
	k.until(fmt.Sprintf("run %d of %s of %s has a pod", run, group, instance), func() bool {
		got, err := k.Core.Pods("default").Get(k.t.Context(), pod.Name(instance, group, run), metav1.GetOptions{})
		p = got
		return err == nil
	})
	return p
}

// bind has a pod placed on a node.
func (k kubelet) bind(p *corev1.Pod, node string) {
	k.t.Helper()
	err := k.Core.Pods("default").Bind(k.t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
}

// says sets the status of a pod.
func (k kubelet) says(p *corev1.Pod, s corev1.PodStatus) {
	k.t.Helper()
	text, err := json.Marshal(map[string]any{"status": s})
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.Core.Pods("default").Patch(k.t.Context(), p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status"); err != nil {
		k.t.Fatal(err)
	}
}

// runs has all containers of a pod run on a node.
func (k kubelet) runs(p *corev1.Pod, node string) {
	k.t.Helper()
	k.bind(p, node)
	s := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.2.3"}
	for _, c := range p.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, ContainerID: "containerd://" + c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}})
	}
	k.says(p, s)
}

// ends has the first container of a pod end, and the pod with it.
func (k kubelet) ends(p *corev1.Pod, code int32, reason, message string) {
	k.t.Helper()
	phase := corev1.PodFailed
	if code == 0 {
		phase = corev1.PodSucceeded
	}
	k.says(p, corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, StartedAt: metav1.NewTime(time.Now().Add(-time.Minute)), FinishedAt: metav1.Now()},
	}}}})
}

// vanishes completes the deletion of a pod, as a kubelet does when its containers ended.
func (k kubelet) vanishes(p *corev1.Pod) {
	k.t.Helper()
	now := int64(0)
	if err := k.Core.Pods("default").Delete(k.t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) {
		k.t.Fatal(err)
	}
}

func (k kubelet) node(name string, addresses ...corev1.NodeAddress) {
	k.t.Helper()
	n := kubetest.Node(name, "8", "16Gi", addresses...)
	if _, err := k.Core.Nodes().Create(k.t.Context(), n, metav1.CreateOptions{}); err != nil {
		k.t.Fatal(err)
	}
	// The admission taints new nodes, and a controller removes that once they are ready.
	if _, err := k.Core.Nodes().Patch(k.t.Context(), name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}); err != nil {
		k.t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]any{"status": n.Status})
	if _, err := k.Core.Nodes().Patch(k.t.Context(), name, types.MergePatchType, text, metav1.PatchOptions{}, "status"); err != nil {
		k.t.Fatal(err)
	}
}

// agent starts an agent, and returns how to end it.
func agent(t testing.TB, k *kubetest.Cluster, m *muster, change func(*cluster.Options)) (stop func() error) {
	t.Helper()
	o := cluster.Options{
		API: k.API, Version: "v1.36.3", Secret: "muster-credential", Workers: 8, Log: quiet(t),
		Link:  link.Options{Servers: []string{m.URL}, Token: "token", Log: quiet(t)},
		Facts: protocol.Facts{Name: "cluster", PortFrom: 20000, PortTo: 29999},
		Pods:  pod.Options{Agent: "muster", Namespace: "default", LostAfter: time.Minute},
	}
	if change != nil {
		change(&o)
	}
	c, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var once bool
	var result error
	stop = func() error {
		cancel()
		if !once {
			once, result = true, <-ended
		}
		return result
	}
	t.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, link.ErrRemoved) {
			t.Errorf("the agent ended with %v", err)
		}
	})
	return stop
}

// linked starts a cluster of one node, and an agent that is linked to a Muster.
func linked(t *testing.T) (k kubelet, m *muster, stop func() error) {
	t.Helper()
	k, m = kubelet{t, kubetest.Start(t)}, play(t)
	k.node("node-1")
	stop = agent(t, k.Cluster, m, nil)
	m.Until("the agent is linked", func() bool { return m.Links == 1 })
	return k, m, stop
}

// desired returns an instance with game server groups.
func desired(id string, groups int) protocol.Desired {
	d := protocol.Desired{InstanceID: id, FleetID: "containerfleet-1", Region: "eu-central-1", SDKURL: "wss://muster.example/sdk", Location: "here"}
	for n := range groups {
		d.Groups = append(d.Groups, protocol.Group{
			Name: fmt.Sprint(n), Compute: fmt.Sprintf("%s/%d", id, n), Definition: "arn:one:1", MemoryMiB: 256, CPUMillis: 250, AuthToken: fmt.Sprintf("token-%d", n),
			Containers: []protocol.Container{{
				Name: "Game", Game: true, Essential: true, Image: "registry.example/arena@sha256:" + strings.Repeat("ab", 32),
				Environment: []protocol.Variable{{Name: "MODE", Value: "duel"}}, Ports: []protocol.Port{{Container: 7777, Host: 20000 + n, Protocol: "UDP"}},
			}},
		})
	}
	return d
}

// The whole way of a game server on a real API server: its pod, its address, its end, the
// next run; and what another agent makes of it.
func TestCluster_GameServer(t *testing.T) {
	k, m := kubelet{t, kubetest.Start(t)}, play(t)
	k.node("node-1", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.1"})
	stop := agent(t, k.Cluster, m, nil)
	m.Until("the agent is linked", func() bool { return m.Links == 1 && m.Hello.Facts.CPUMillis == 8000 })
	if f := m.Hello.Facts; !f.NoBuilds || f.Engine == nil || f.Engine.Name != "kubernetes" || f.MemoryMiB != 16<<10 {
		t.Errorf("the cluster says it is %+v", f)
	}
	d := desired("i-1", 2)
	m.Assign(d)
	p := k.appears("i-1", "0", 1)
	k.appears("i-1", "1", 1)
	tokenIsHidden(t, k, p)
	k.runs(p, "node-1")
	m.Until("the group runs", func() bool {
		g := m.group("i-1", "0")
		return g != nil && g.Phase == protocol.GroupRunning && g.IPAddress == "203.0.113.1" && g.DNSName == "" && g.ProcessID == p.Labels[pod.LabelProcess]
	})
	m.Until("the instance is activated", func() bool { return m.Instance("i-1").Phase == protocol.Activating })

	// It crashes: Muster learns how, and the next run begins with another process.
	k.ends(p, 139, "Error", "loading map\nsegmentation fault")
	m.Until("the end is reported", func() bool { return len(m.Exits) == 1 })
	e := m.Exits[0]
	if e.InstanceID != "i-1" || e.Group != "0" || e.ProcessID != p.Labels[pod.LabelProcess] || !e.Known || e.Signal != "SIGSEGV" || len(e.Tail) != 2 {
		t.Errorf("the report is %+v", e)
	}
	next := k.appears("i-1", "0", 2)
	if next.Labels[pod.LabelProcess] == p.Labels[pod.LabelProcess] {
		t.Error("the next run has the process id of the first")
	}
	k.until("the ended pod is removed", func() bool { return len(k.pods("i-1", "0")) == 1 })
	k.runs(next, "node-1")

	// Another agent finds what runs, and leaves it as it is.
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	m.Forget()
	agent(t, k.Cluster, m, nil)
	m.Until("the next agent reports what runs", func() bool {
		g := m.group("i-1", "0")
		return g != nil && g.Phase == protocol.GroupRunning && g.ProcessID == next.Labels[pod.LabelProcess]
	})
	if m.Joins != 1 {
		t.Errorf("the cluster joined %d times", m.Joins)
	}
	for _, group := range []string{"0", "1"} {
		if n := len(k.pods("i-1", group)); n != 1 {
			t.Errorf("group %s has %d pods", group, n)
		}
	}

	// A drain waits for the game server; an instance that nobody desires is removed.
	d.Stop, d.StopBy = protocol.Drain, time.Now().Add(time.Hour)
	m.Assign(d)
	m.Until("it drains", func() bool { return m.group("i-1", "0").Phase == protocol.GroupDraining })
	k.ends(next, 0, "Completed", "")
	m.Until("it is gone", func() bool { return m.group("i-1", "0").Phase == protocol.GroupGone })
	if e := m.Exits[len(m.Exits)-1]; e.Code != 0 || e.Signal != "" {
		t.Errorf("the clean end is reported as %+v", e)
	}
	m.Assign()
	k.until("nothing is left", func() bool {
		_, err := k.Core.Secrets("default").Get(t.Context(), pod.SecretName("i-1"), metav1.GetOptions{})
		return len(k.pods("i-1", "0"))+len(k.pods("i-1", "1")) == 0 && apierrors.IsNotFound(err)
	})
	m.Until("Muster is told", func() bool { return m.Instance("i-1").InstanceID == "" })
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.Hellos != 2 {
		t.Errorf("two agents whose nodes did not change said %d times what they are", m.Hellos)
	}
	if m.early != "" {
		t.Errorf("process %s was reported before it began", m.early)
	}
}

// gate is a transport that holds changes of pods until it is open.
type gate struct {
	next http.RoundTripper
	open chan struct{}

	mu      sync.Mutex
	waiting int
	most    int            // that waited at the same time
	deleted map[string]int // requests by path
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if (r.Method != http.MethodPatch && r.Method != http.MethodDelete) || !strings.Contains(r.URL.Path, "/pods/") {
		return g.next.RoundTrip(r)
	}
	g.mu.Lock()
	g.waiting++
	g.most = max(g.most, g.waiting)
	if r.Method == http.MethodDelete {
		g.deleted[r.URL.Path]++
	}
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting--
	}()
	select {
	case <-g.open:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return g.next.RoundTrip(r)
}

// Many game servers that are to be ended at once are ended by the workers, each with one
// deletion, however often Muster asks.
func TestCluster_ManyKills(t *testing.T) {
	const groups, workers = 20, 3
	k, m := kubelet{t, kubetest.Start(t)}, play(t)
	k.node("node-1", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.1"})
	g := &gate{open: make(chan struct{}), deleted: map[string]int{}}
	agent(t, k.Cluster, m, func(o *cluster.Options) {
		o.Workers = workers
		o.API = rest.CopyConfig(o.API)
		o.API.Wrap(func(next http.RoundTripper) http.RoundTripper {
			g.next = next
			return g
		})
	})
	m.Until("the agent is linked", func() bool { return m.Links == 1 })
	m.Assign(desired("i-1", groups))
	var pods []*corev1.Pod
	for n := range groups {
		pods = append(pods, k.appears("i-1", fmt.Sprint(n), 1))
	}
	for range 3 {
		for _, p := range pods {
			m.Send(protocol.Message{Kill: &protocol.Kill{InstanceID: "i-1", ProcessID: p.Labels[pod.LabelProcess], Reason: pod.CodeStopped}})
		}
	}
	m.Assign(desired("i-1", groups), desired("i-2", 1)) // after the kills
	m.Until("the new instance is reported", func() bool { return m.group("i-2", "0") != nil })
	k.until("all workers wait", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.waiting >= workers
	})
	close(g.open)
	k.until("all are ended", func() bool {
		for _, p := range pods {
			at, err := k.Core.Pods("default").Get(t.Context(), p.Name, metav1.GetOptions{})
			if err == nil && at.UID == p.UID && at.DeletionTimestamp == nil {
				return false
			}
		}
		return true
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.most > workers {
		t.Errorf("%d requests were under way at the same time, by %d workers", g.most, workers)
	}
	for path, n := range g.deleted {
		if n != 1 {
			t.Errorf("%s was deleted %d times", path, n)
		}
	}
}

// A per-instance group of an instance that is drained, without a deadline, ends with the last
// game server there.
func TestCluster_PerInstanceEndsLast(t *testing.T) {
	k, m, _ := linked(t)
	d := desired("i-1", 2)
	d.Groups = append(d.Groups, protocol.Group{Name: "beside", PerInstance: true, Definition: "arn:beside:1", MemoryMiB: 64, CPUMillis: 100, Containers: []protocol.Container{
		{Name: "helper", Essential: true, Image: "registry.example/helper@sha256:" + strings.Repeat("cd", 32)},
	}})
	m.Assign(d)
	games := []*corev1.Pod{k.appears("i-1", "0", 1), k.appears("i-1", "1", 1)}
	for _, p := range append(games, k.appears("i-1", "beside", 1)) {
		k.runs(p, "node-1")
	}
	m.run("i-1", "0", "1", "beside")
	d.Stop = protocol.Drain
	m.Assign(d)
	k.ends(games[0], 0, "Completed", "")
	m.Until("one game server is gone", func() bool { return m.group("i-1", "0").Phase == protocol.GroupGone })
	if p := k.appears("i-1", "beside", 1); p.DeletionTimestamp != nil {
		t.Error("the per-instance group ends before the last game server")
	}
	k.ends(games[1], 0, "Completed", "")
	var helper *corev1.Pod
	k.until("the per-instance group is told to end", func() bool {
		helper = k.appears("i-1", "beside", 1)
		return helper.DeletionTimestamp != nil
	})
	k.vanishes(helper)
	m.Until("the instance is gone", func() bool { return m.Instance("i-1").Phase == protocol.Gone })
}

// tokenIsHidden checks that a pod refers to its token, which is in the instance's Secret.
func tokenIsHidden(t *testing.T, k kubelet, p *corev1.Pod) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "token-0") || strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte("token-0"))) {
		t.Error("the token is in the description of the pod")
	}
	at := slices.IndexFunc(p.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == "GAMELIFT_SDK_AUTH_TOKEN" })
	if at < 0 {
		t.Fatal("the pod has no token")
	}
	ref := p.Spec.Containers[0].Env[at].ValueFrom.SecretKeyRef
	s, err := k.Core.Secrets("default").Get(t.Context(), ref.Name, metav1.GetOptions{})
	if err != nil || string(s.Data[ref.Key]) != "token-0" {
		t.Errorf("the token of group 0 is %q, %v", s.Data[ref.Key], err)
	}
}

// The Secret with the tokens of an instance is as it should be again after somebody has deleted,
// changed or replaced it.
func TestCluster_SecretHeals(t *testing.T) {
	k, m, _ := linked(t)
	m.Assign(desired("i-1", 2))
	k.appears("i-1", "0", 1)
	k.appears("i-1", "1", 1)
	secrets, name := k.Core.Secrets("default"), pod.SecretName("i-1")
	last, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	for what, harm := range map[string]func() error{
		"deleted": func() error { return secrets.Delete(t.Context(), name, metav1.DeleteOptions{}) },
		"changed": func() error {
			_, err := secrets.Patch(t.Context(), name, types.MergePatchType, []byte(`{"data":{"0":"Zm9yZ2Vk","more":"eA=="}}`), metav1.PatchOptions{})
			return err
		},
		"without labels": func() error {
			_, err := secrets.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
			return err
		},
		"replaced": func() error {
			other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: last.Labels}, Type: "example/other", Immutable: &yes, StringData: map[string]string{"1": "forged"}}
			if err := secrets.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			_, err := secrets.Create(t.Context(), other, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil // it was healed in between
			}
			return err
		},
	} {
		if err := harm(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		k.until("a Secret that was "+what+" is healed", func() bool {
			got, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && reflect.DeepEqual(got.Data, last.Data) && reflect.DeepEqual(got.Labels, last.Labels)
		})
	}
	if n := len(k.pods("i-1", "0")) + len(k.pods("i-1", "1")); n != 2 {
		t.Errorf("there are %d pods", n)
	}
}

// The API server goes away and comes back: nothing is created twice, and what happened
// meanwhile is reported.
func TestCluster_APIServerAway(t *testing.T) {
	k, m, _ := linked(t)
	m.Assign(desired("i-1", 3))
	for _, group := range []string{"0", "1", "2"} {
		k.runs(k.appears("i-1", group, 1), "node-1")
	}
	m.run("i-1", "0", "1", "2")
	k.StopAPI(t)
	m.Assign(desired("i-1", 3), desired("i-2", 1)) // while it is away
	m.Until("the new instance is reported, and the old one as it was", func() bool {
		g := m.group("i-1", "0")
		return m.group("i-2", "0") != nil && g != nil && g.Phase == protocol.GroupRunning
	})
	k.StartAPI(t)
	k.appears("i-2", "0", 1)
	for _, group := range []string{"0", "1", "2"} {
		if pods := k.pods("i-1", group); len(pods) != 1 || pods[0].Name != pod.Name("i-1", group, 1) {
			t.Errorf("group %s has %d pods", group, len(pods))
		}
	}
	if m.Links != 1 {
		t.Errorf("the link was opened %d times", m.Links)
	}
}

// A node that is gone takes its game servers with it; they start elsewhere.
func TestCluster_NodeLost(t *testing.T) {
	k, m := kubelet{t, kubetest.Start(t)}, play(t)
	k.node("node-1")
	k.node("node-2")
	agent(t, k.Cluster, m, nil)
	m.Until("the agent knows both nodes", func() bool { return m.Hello.Facts.CPUMillis == 16000 })
	m.Assign(desired("i-1", 1))
	p := k.appears("i-1", "0", 1)
	k.runs(p, "node-1")
	m.run("i-1", "0")
	if err := k.Core.Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.Until("the end is reported", func() bool { return len(m.Exits) == 1 })
	if e := m.Exits[0]; e.Known || !strings.Contains(e.Cause, "node-1 was lost") {
		t.Errorf("the report is %+v", e)
	}
	k.appears("i-1", "0", 2)
	k.until("the lost pod is removed", func() bool { return len(k.pods("i-1", "0")) == 1 })
	m.Until("the cluster is smaller", func() bool { return m.Hello.Facts.CPUMillis == 8000 })
}

// A busy game server cannot be evicted, an idle one can: it is reported, and replaced.
func TestCluster_Eviction(t *testing.T) {
	k, m, _ := linked(t)
	d := desired("i-1", 1)
	d.Groups[0].Busy = true
	m.Assign(d)
	p := k.appears("i-1", "0", 1)
	k.runs(p, "node-1")
	marks := func(busy string) func() bool {
		return func() bool {
			got := k.appears("i-1", "0", 1)
			return got.Labels[pod.LabelBusy] == busy && got.Annotations["karpenter.sh/do-not-disrupt"] == busy && got.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != busy
		}
	}
	k.until("it is marked", marks("true"))
	all := &policy.PodDisruptionBudget{}
	if err := json.Unmarshal([]byte(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"busy"},"spec":{"minAvailable":1000000,"selector":{"matchLabels":{"`+pod.LabelBusy+`":"true"}}}}`), all); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(all)
	if err := k.Core.RESTClient().Post().AbsPath("/apis/policy/v1/namespaces/default/poddisruptionbudgets").SetHeader("Content-Type", "application/json").Body(text).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	evict := func() error {
		// A refusal says to wait 10 s, and the client would ask ten times.
		return k.Core.RESTClient().Post().MaxRetries(0).Namespace("default").Resource("pods").Name(p.Name).SubResource("eviction").
			Body(&policy.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}).Do(t.Context()).Error()
	}
	k.until("its eviction is refused", func() bool { return apierrors.IsTooManyRequests(evict()) })
	d = desired("i-1", 1)
	m.Assign(d)
	k.until("it is not marked any more", marks("false"))
	k.until("its eviction is allowed", func() bool { return evict() == nil })
	k.vanishes(p)
	m.Until("its end is reported", func() bool { return len(m.Exits) == 1 })
	if e := m.Exits[0]; !strings.Contains(e.Cause, "its pod was deleted") {
		t.Errorf("the report is %+v", e)
	}
	k.appears("i-1", "0", 2)
}

// What is wrong with images and pods is said, and a game server that Muster ends names its
// reason.
func TestCluster_Reasons(t *testing.T) {
	k, m, _ := linked(t)
	d := desired("i-1", 3)
	d.Groups[1].Containers[0].Mounts = []protocol.Mount{{Instance: "/var/lib/maps", Container: "/maps"}}
	m.Assign(d)
	p := k.appears("i-1", "0", 1)
	k.bind(p, "node-1")
	k.says(p, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "401 Unauthorized"},
	}}}})
	m.Until("the image's problem is said", func() bool {
		g, i := m.group("i-1", "0"), m.Instance("i-1")
		return g != nil && g.Phase == protocol.GroupFailed && g.Code == "FLEET_BINARY_DOWNLOAD_FAILED" && strings.Contains(g.Cause, "401") && i.Phase == protocol.Failed && strings.Contains(i.Cause, "401")
	})
	m.Until("the mount point's problem is said", func() bool {
		g := m.group("i-1", "1")
		return g != nil && g.Phase == protocol.GroupFailed && strings.Contains(g.Cause, "--allow-host-path")
	})
	tight := k.appears("i-1", "2", 1)
	k.says(tight, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu"}}})
	m.Until("the missing room is said", func() bool {
		g := m.group("i-1", "2")
		return g != nil && g.Phase == protocol.GroupStarting && strings.Contains(g.Cause, "Insufficient cpu")
	})
	k.runs(tight, "node-1")
	m.run("i-1", "2")
	m.Send(protocol.Message{Kill: &protocol.Kill{InstanceID: "i-1", ProcessID: tight.Labels[pod.LabelProcess], Reason: "SERVER_PROCESS_TERMINATED_UNHEALTHY", Grace: time.Minute}})
	k.until("its deletion is requested", func() bool {
		return k.appears("i-1", "2", 1).DeletionTimestamp != nil
	})
	k.ends(tight, 137, "Error", "")
	k.vanishes(tight)
	m.Until("its end is reported", func() bool { return len(m.Exits) == 1 })
	if e := m.Exits[0]; e.Reason != "SERVER_PROCESS_TERMINATED_UNHEALTHY" || e.Signal != "SIGKILL" {
		t.Errorf("the report is %+v", e)
	}
}

// What Muster has not acknowledged is reported by the next agent too; a cluster that was
// removed ends everything.
func TestCluster_UnackedAndRemoved(t *testing.T) {
	k, m, stop := linked(t)
	m.Set(func() { m.Deaf = true })
	m.Assign(desired("i-1", 1))
	p := k.appears("i-1", "0", 1)
	k.runs(p, "node-1")
	m.run("i-1", "0")
	k.ends(p, 1, "OOMKilled", "")
	m.Until("the end is reported", func() bool { return len(m.Exits) == 1 && m.Exits[0].OOM })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	m.Set(func() { m.Exits, m.Deaf = nil, false })
	stop = agent(t, k.Cluster, m, nil)
	m.Until("the next agent reports it again", func() bool { return len(m.Exits) == 1 && m.Exits[0].ProcessID == p.Labels[pod.LabelProcess] })
	m.Set(func() { m.Removed = true })
	m.Cut()
	k.until("all pods are told to end", func() bool {
		for _, p := range k.pods("i-1", "0") {
			if p.DeletionTimestamp == nil {
				return false
			}
			k.vanishes(&p)
		}
		return len(k.pods("i-1", "0")) == 0
	})
	if err := stop(); !errors.Is(err, link.ErrRemoved) {
		t.Errorf("the agent ended with %v", err)
	}
}
