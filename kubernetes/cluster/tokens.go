package cluster

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/kubernetes/pod"
)

// tokens keep the Secrets of instances: what their game servers connect with, one key a
// group. Pods refer to a key, so tokens are in no pod's description.
type tokens struct {
	secrets typed.SecretInterface
	agent   string

	mu   sync.Mutex
	kept map[string]*secret // by instance
}

// secret is what an instance's Secret holds.
type secret struct {
	mu   sync.Mutex // held while it is written
	data map[string]string
}

// of returns the tokens of an instance's groups.
func tokensOf(d *protocol.Desired) map[string]string {
	data := map[string]string{}
	for _, g := range d.Groups {
		if g.AuthToken != "" {
			data[pod.SecretKey(g.Name)] = g.AuthToken
		}
	}
	return data
}

// ensure writes the Secret of an instance, unless it holds the tokens already.
func (t *tokens) ensure(ctx context.Context, d *protocol.Desired) error {
	t.mu.Lock()
	s := t.kept[d.InstanceID]
	if s == nil {
		s = &secret{}
		t.kept[d.InstanceID] = s
	}
	t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	data := tokensOf(d)
	if s.data != nil && maps.Equal(s.data, data) {
		return nil
	}
	object := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: pod.SecretName(d.InstanceID), Labels: map[string]string{
			pod.LabelManager: pod.Manager, pod.LabelAgent: t.agent, pod.LabelInstance: d.InstanceID,
		}},
		StringData: data,
	}
	_, err := t.secrets.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = t.secrets.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", object.Name, err)
	}
	s.data = data
	return nil
}

// doubt has the next ensure write the Secret of an instance again: a pod lacks it.
func (t *tokens) doubt(instanceID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kept, instanceID)
}

// remove deletes the Secret of an instance.
func (t *tokens) remove(ctx context.Context, instanceID string) error {
	err := t.secrets.Delete(ctx, pod.SecretName(instanceID), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	t.mu.Lock()
	delete(t.kept, instanceID)
	t.mu.Unlock()
	return nil
}

// left returns the instances that have a Secret.
func (t *tokens) left(ctx context.Context) ([]string, error) {
	list, err := t.secrets.List(ctx, metav1.ListOptions{LabelSelector: pod.LabelAgent + "=" + t.agent + "," + pod.LabelInstance})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range list.Items {
		ids = append(ids, s.Labels[pod.LabelInstance])
	}
	return ids, nil
}
