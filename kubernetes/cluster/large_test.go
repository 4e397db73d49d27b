package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/kubernetes/internal/kubetest"
	"github.com/musterhq/muster/kubernetes/pod"
)

// Muster and muster-kubernetes, the built programs, on a real API server, scheduler and
// controllers with 100 simulated nodes: a container fleet of 1000 game servers, each with a
// game session; a node is lost, and only its game sessions are; the fleet is scaled to none,
// and back. MUSTER_KUBE_GROUPS sets another number of game servers, for measurements.
func TestCluster_Large(t *testing.T) {
	groups, nodes := 1000, 100
	if text := os.Getenv("MUSTER_KUBE_GROUPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		groups = n
	}
	f := &large{caller: serve(t), kubelet: kubelet{t, kubetest.Start(t)}}
	f.Simulate(t)
	for n := range nodes {
		node := kubetest.Node(fmt.Sprintf("node-%d", n), "64", "256Gi", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", n+1)})
		if _, err := f.Core.Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	own := f.ownRate(groups)
	servers := &plainServers{kubelet: f.kubelet, slots: make(chan struct{}, 16)}
	startRuntime(f.kubelet, servers.launch)
	agent := f.Program(t, os.Getenv("MUSTER_KUBERNETES_BIN"), append(f.joins(f.kubelet, "us-east-1"), "--leader-elect", "--api-rate=1000", "--workers=32")...)
	f.create()

	began := time.Now()
	f.resize(groups / each)
	f.rises("all run", groups, func() int { return f.running("default") })
	took := time.Since(began)
	t.Logf("%d pods: %.0f a second by muster-kubernetes until they run, %.0f a second by a plain client; muster-kubernetes has %s", groups, float64(groups)/took.Seconds(), own, resident(t, agent))
	f.rises("all are ready", groups, func() int { return f.counts(f.fleet).IDLE })

	f.play(groups)
	f.rises("all have a game session", groups, func() int { return f.counts(f.fleet).ACTIVE })
	f.rises("all are marked as busy", groups, func() int { return f.count(pod.LabelBusy + "=true") })

	at := f.some()
	lost := f.on(at)
	if err := f.Core.Nodes().Delete(t.Context(), at, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.rises("the game sessions of the lost node have ended", lost, func() int { return groups - f.games() })
	f.rises("as many game servers run elsewhere", lost, func() int { return f.counts(f.fleet).IDLE })
	if games, here := f.games(), f.on(at); games != groups-lost || here != 0 {
		t.Errorf("%d of %d game sessions are left, and %d game servers on the lost node, which had %d", games, groups, here, lost)
	}
	t.Logf("%d game servers of the lost node run elsewhere", lost)

	servers.shrinks.Store(true)
	f.resize(0)
	f.rises("nothing is left", groups, func() int { return groups - f.count(pod.LabelAgent) })
	servers.shrinks.Store(false)
	if n := f.games(); n != 0 {
		t.Errorf("without game servers there are %d game sessions", n)
	}
	f.resize(groups / each)
	f.rises("all are ready again", groups, func() int { return f.counts(f.fleet).IDLE })
	if n := f.count(pod.LabelAgent); n != groups {
		t.Errorf("there are %d pods", n)
	}
}

// each is how many game servers an instance has.
const each = 10

// large is a fleet of many game servers.
type large struct {
	caller
	kubelet
	fleet string
}

// create creates the fleet, with one instance.
func (f *large) create() {
	f.call("CreateContainerGroupDefinition", fmt.Sprintf(`{"Name":"arena","OperatingSystem":"AMAZON_LINUX_2023","TotalMemoryLimitMebibytes":256,"TotalVcpuLimit":0.25,
		"GameServerContainerDefinition":{"ContainerName":"game","ImageUri":%q,"ServerSdkVersion":"5.4.0","PortConfiguration":{"ContainerPortRanges":[{"FromPort":7777,"ToPort":7777,"Protocol":"UDP"}]}}}`, image("1")), new(any))
	var made struct {
		ContainerFleet struct{ FleetId string }
	}
	f.call("CreateContainerFleet", fmt.Sprintf(`{"FleetRoleArn":"arn:aws:iam::000000000000:role/none","GameServerContainerGroupDefinitionName":"arena",
		"GameServerContainerGroupsPerInstance":%d,"InstanceType":"c5.xlarge"}`, each), &made)
	f.fleet = made.ContainerFleet.FleetId
	f.rises("the first instance is ready", each, func() int { return f.counts(f.fleet).IDLE })
}

// resize sets how many instances there shall be.
func (f *large) resize(instances int) {
	f.call("UpdateFleetCapacity", fmt.Sprintf(`{"FleetId":%q,"DesiredInstances":%d,"MinSize":0,"MaxSize":%d}`, f.fleet, instances, max(1, instances)), new(any))
}

// play creates game sessions, many at a time.
func (f *large) play(n int) {
	var work sync.WaitGroup
	todo := make(chan int)
	for range 16 {
		work.Go(func() {
			for range todo {
				var made any
				if err := f.try(f.request("CreateGameSession", fmt.Sprintf(`{"FleetId":%q,"MaximumPlayerSessionCount":2}`, f.fleet)), &made); err != nil {
					f.caller.t.Error(err)
				}
			}
		})
	}
	for game := range n {
		todo <- game
	}
	close(todo)
	work.Wait()
}

// games returns how many game sessions are ACTIVE.
func (f *large) games() int {
	var found struct {
		FleetUtilization []struct{ ActiveGameSessionCount int }
	}
	f.call("DescribeFleetUtilization", fmt.Sprintf(`{"FleetIds":[%q]}`, f.fleet), &found)
	return found.FleetUtilization[0].ActiveGameSessionCount
}

// some returns a node that has game servers.
func (f *large) some() string {
	list, err := f.Core.Pods("default").List(f.caller.t.Context(), metav1.ListOptions{LabelSelector: pod.LabelAgent, Limit: 1})
	if err != nil || len(list.Items) == 0 {
		f.caller.t.Fatalf("there is no pod, %v", err)
	}
	return list.Items[0].Spec.NodeName
}

// on returns how many game servers are on a node.
func (f *large) on(node string) int {
	list, err := f.Core.Pods("default").List(f.caller.t.Context(), metav1.ListOptions{LabelSelector: pod.LabelAgent, FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		f.caller.t.Fatal(err)
	}
	return len(list.Items)
}

// running returns how many pods run in a namespace.
func (f *large) running(namespace string) int {
	return f.list(namespace, metav1.ListOptions{FieldSelector: "status.phase=Running", ResourceVersion: "0"})
}

// count returns how many pods of game servers have a label.
func (f *large) count(selector string) int {
	return f.list("default", metav1.ListOptions{LabelSelector: selector, ResourceVersion: "0"})
}

func (f *large) list(namespace string, o metav1.ListOptions) int {
	list, err := f.Core.Pods(namespace).List(f.caller.t.Context(), o)
	if err != nil {
		f.caller.t.Fatal(err)
	}
	return len(list.Items)
}

// rises waits until a number is exactly as large as it shall become. It gives up only if the
// number has not changed for long: how long all takes depends on how many there are.
func (f *large) rises(what string, to int, number func() int) {
	f.caller.t.Helper()
	for n := number(); n != to; {
		wait.Within(f.caller.t, patience, what, func() error {
			last := n
			if n = number(); n != last {
				return nil
			}
			return seen(func() string { return fmt.Sprintf("it is %d of %d; %s", n, to, f.shown()) })
		})
	}
}

// many returns instances with groups on ports of their own.
func many(groups int) []protocol.Desired {
	var all []protocol.Desired
	for n := range groups / each {
		d := desired(fmt.Sprintf("i-%05d", n), each)
		for g := range d.Groups {
			d.Groups[g].Containers[0].Ports[0].Host = 20000 + n*each + g
		}
		all = append(all, d)
	}
	return all
}

// ownRate returns how many of the same pods a second a plain client creates in another
// namespace until they run, and deletes them.
func (f *large) ownRate(groups int) float64 {
	t, c := f.caller.t, f.Cluster
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	if _, err := c.Core.Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until("nodes are ready", func() bool {
		list, err := c.Core.Nodes().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 100 && len(list.Items[99].Spec.Taints) == 0
	})
	began := time.Now()
	var work sync.WaitGroup
	todo := make(chan *corev1.Pod)
	for range 32 {
		work.Go(func() {
			for p := range todo {
				if _, err := c.Core.Pods("plain").Create(context.WithoutCancel(t.Context()), p, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, d := range many(groups) {
		for n := range d.Groups {
			p, err := pod.New(&pod.Options{Agent: "plain", Namespace: "plain"}, pod.Run{Desired: &d, Group: &d.Groups[n], Number: 1, ProcessID: "p"})
			if err != nil {
				t.Fatal(err)
			}
			todo <- p
		}
	}
	close(todo)
	work.Wait()
	f.rises("they run", groups, func() int { return f.running("plain") })
	rate := float64(groups) / time.Since(began).Seconds()
	f.until("they are gone", func() bool {
		if err := c.Core.Pods("plain").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return false // there are too many for one request
		}
		list, err := c.Core.Pods("plain").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	return rate
}

// resident returns the memory of a program.
func resident(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return "unknown memory"
}
