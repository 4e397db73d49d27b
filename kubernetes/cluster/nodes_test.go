package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// Nodes count that pods of groups can be scheduled on.
func TestCapacity(t *testing.T) {
	t.Parallel()
	all := cache.NewStore(cache.MetaNamespaceKeyFunc)
	add := func(name string, change func(*corev1.Node)) {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"games": "yes"}},
			Status: corev1.NodeStatus{
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")},
			},
		}
		if change != nil {
			change(n)
		}
		if err := all.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
	}
	add("plain", nil)
	add("preferred elsewhere", taint("other", corev1.TaintEffectPreferNoSchedule))
	add("tolerated", taint("games", corev1.TaintEffectNoSchedule))
	add("control plane", taint("node-role.kubernetes.io/control-plane", corev1.TaintEffectNoSchedule))
	add("evicting", taint("other", corev1.TaintEffectNoExecute))
	add("cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	add("not ready", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })
	add("others' node", func(n *corev1.Node) { n.Labels = nil })
	n := &nodes{
		cache: all, offers: labels.SelectorFromSet(labels.Set{"games": "yes"}),
		bears: []corev1.Toleration{{Key: "games", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
	}
	if cpu, memory := n.capacity(); cpu != 6000 || memory != 3*1024 {
		t.Errorf("the nodes offer %d millis and %d MiB, want those of three nodes", cpu, memory)
	}
}
