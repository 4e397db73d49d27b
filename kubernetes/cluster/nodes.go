package cluster

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/hosts/protocol"
)

// nodes are the nodes of the cluster.
type nodes struct {
	api    typed.NodeInterface
	cache  cache.Store
	offers labels.Selector // nodes that pods of groups may be on
	bears  []corev1.Toleration

	mu   sync.Mutex
	gone map[string]bool // names of nodes that are certain not to exist
}

// get returns a node, or nil.
func (n *nodes) get(name string) *corev1.Node {
	at, ok, _ := n.cache.GetByKey(name) // the cache's error is always nil
	if !ok {
		return nil
	}
	return at.(*corev1.Node)
}

// isGone reports whether a node is certain not to exist.
func (n *nodes) isGone(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone[name]
}

// check asks the API server for a node that the watch does not show, since the watch of
// pods may be ahead of it.
func (n *nodes) check(ctx context.Context, name string) error {
	if name == "" || n.get(name) != nil || n.isGone(name) {
		return nil
	}
	_, err := n.api.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[name] = true
	return nil
}

// back notes that a node exists.
func (n *nodes) back(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.gone, name)
}

// capacity returns what the nodes offer that take pods of groups.
func (n *nodes) capacity() (cpuMillis, memoryMiB int) {
	for _, at := range n.cache.List() {
		node := at.(*corev1.Node)
		if n.offers.Matches(labels.Set(node.Labels)) && isReady(node) && n.bearsTaints(node) {
			cpuMillis += int(node.Status.Allocatable.Cpu().MilliValue())
			memoryMiB += int(node.Status.Allocatable.Memory().Value() >> 20)
		}
	}
	return cpuMillis, memoryMiB
}

// bearsTaints reports whether pods of groups may be on a node in spite of its taints.
func (n *nodes) bearsTaints(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(n.bears, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taint, false) }) {
			return false
		}
	}
	return true
}

// isReady reports whether a node takes new pods.
func isReady(n *corev1.Node) bool {
	return !n.Spec.Unschedulable && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// facts describe the cluster to Muster. What the nodes offer may be less than what an
// autoscaler of the cluster would make of it.
func (c *Cluster) facts() protocol.Facts {
	f := c.opts.Facts
	f.NoBuilds, f.OS = true, "linux"
	f.Shells = &protocol.ShellOffer{Why: "it is a Kubernetes cluster; kubectl exec opens a shell in a pod"}
	f.ContainerShells = f.Shells
	if f.Engine == nil {
		f.Engine = &protocol.Engine{Name: "kubernetes", Version: c.version}
	}
	cpu, memory := c.nodes.capacity()
	c.offered.Store(sumOf(cpu, memory))
	f.CPUMillis, f.MemoryMiB = max(f.CPUMillis, cpu), max(f.MemoryMiB, memory)
	return f
}

// sumOf returns a number by which two offers of nodes are compared.
func sumOf(cpuMillis, memoryMiB int) int64 { return int64(cpuMillis)<<32 | int64(memoryMiB) }

// slimNode keeps of a node what is read, since a cluster has many.
func slimNode(at any) (any, error) {
	n, ok := at.(*corev1.Node)
	if !ok {
		return at, nil
	}
	slim := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, Labels: n.Labels},
		Spec:       corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints},
		Status:     corev1.NodeStatus{Addresses: n.Status.Addresses, Allocatable: n.Status.Allocatable},
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			slim.Status.Conditions = append(slim.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status})
		}
	}
	return slim, nil
}

// slimPod keeps of a pod what is read.
func slimPod(at any) (any, error) {
	p, ok := at.(*corev1.Pod)
	if !ok {
		return at, nil
	}
	slim := &corev1.Pod{ObjectMeta: p.ObjectMeta, Spec: corev1.PodSpec{NodeName: p.Spec.NodeName}, Status: p.Status}
	slim.ManagedFields = nil
	for _, c := range p.Spec.Containers {
		slim.Spec.Containers = append(slim.Spec.Containers, corev1.Container{Name: c.Name})
	}
	return slim, nil
}
