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
	"github.com/musterhq/muster/kubernetes/internal/kubetest"
	"github.com/musterhq/muster/kubernetes/pod"
)

// The program muster-kubernetes on a real API server, scheduler and controllers with 100
// simulated nodes: 1000 game servers, all with game sessions, a lost node, none, and back.
// MUSTER_KUBE_GROUPS sets another number of game servers, for measurements.
func TestCluster_Large(t *testing.T) {
	program := os.Getenv("MUSTER_KUBERNETES_BIN")
	if program == "" {
		t.Skip("MUSTER_KUBERNETES_BIN is not set; make kube runs this test")
	}
	groups, nodes, each := 1000, 100, 10
	if text := os.Getenv("MUSTER_KUBE_GROUPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		groups = n
	}
	c := kubetest.Start(t)
	c.Simulate(t)
	k, m := kubelet{t, c}, play(t)
	m.pods = k.shown
	for n := range nodes {
		node := kubetest.Node(fmt.Sprintf("node-%d", n), "64", "256Gi", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", n+1)})
		if _, err := k.Core.Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	own := ownRate(t, c, groups)
	agent := c.Program(t, program, "--server="+m.server.URL, "--token=token", "--kubeconfig="+c.Kubeconfig(), "--namespace=default", "--leader-elect", "--api-rate=1000", "--workers=32")
	m.until("the cluster has joined with all nodes", func() bool { return m.hello.Facts.CPUMillis == nodes*64000 })
	run := func(busy bool, missing string) func() bool {
		return func() bool {
			n := 0
			if m.status == nil {
				return false
			}
			for _, i := range m.status.Instances {
				for _, g := range i.Groups {
					if g.Phase == protocol.GroupRunning && g.IPAddress != "" && g.IPAddress != missing {
						n++
					}
				}
			}
			return n == groups
		}
	}
	began := time.Now()
	m.assign(many(groups, each, false)...)
	m.until("all run", run(false, ""))
	took := time.Since(began)
	t.Logf("%d pods: %.0f a second by muster-kubernetes until they run, %.0f a second by a plain client; muster-kubernetes has %s", groups, float64(groups)/took.Seconds(), own, resident(t, agent))

	m.assign(many(groups, each, true)...)
	k.until("all are marked as busy", func() bool { return count(t, c, pod.LabelBusy+"=true") == groups })

	lost, err := k.Core.Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: pod.LabelAgent, FieldSelector: "spec.nodeName=node-7"})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Core.Nodes().Delete(t.Context(), "node-7", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.until("the ends of the lost node are reported", func() bool { return len(m.exits) >= len(lost.Items) })
	m.until("all run elsewhere", run(true, "10.1.0.8"))
	t.Logf("%d game servers of the lost node run elsewhere", len(lost.Items))

	m.assign()
	k.until("nothing is left", func() bool { return count(t, c, pod.LabelAgent) == 0 })
	m.assign(many(groups, each, false)...)
	m.until("all run again", run(false, ""))
	if n := count(t, c, pod.LabelAgent); n != groups {
		t.Errorf("there are %d pods", n)
	}
}

// many returns instances with groups on ports of their own.
func many(groups, each int, busy bool) []protocol.Desired {
	var all []protocol.Desired
	for n := range groups / each {
		d := desired(fmt.Sprintf("i-%05d", n), each)
		for g := range d.Groups {
			d.Groups[g].Busy = busy
			d.Groups[g].Containers[0].Ports[0].Host = 20000 + n*each + g
		}
		all = append(all, d)
	}
	return all
}

func count(t *testing.T, c *kubetest.Cluster, selector string) int {
	t.Helper()
	list, err := c.Core.Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: selector, ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// ownRate returns how many of the same pods a second a plain client creates in another
// namespace until they run, and deletes them.
func ownRate(t *testing.T, c *kubetest.Cluster, groups int) float64 {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	if _, err := c.Core.Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubelet{t, c}.until("nodes are ready", func() bool {
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
	for _, d := range many(groups, 10, false) {
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
	kubelet{t, c}.until("they run", func() bool {
		list, err := c.Core.Pods("plain").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running", ResourceVersion: "0"})
		return err == nil && len(list.Items) == groups
	})
	rate := float64(groups) / time.Since(began).Seconds()
	kubelet{t, c}.until("they are gone", func() bool {
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
