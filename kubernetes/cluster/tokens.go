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
	lost bool // somebody else has changed or deleted it
}

// labels returns the labels of an instance's Secret.
func (t *tokens) labels(instanceID string) map[string]string {
	return map[string]string{pod.LabelManager: pod.Manager, pod.LabelAgent: t.agent, pod.LabelInstance: instanceID}
}

// seen compares a Secret, as the watch shows it, with what was written, and reports whether it
// has to be looked at. It may: the watch may also show a state before the last write. exists
// says that the Secret was not deleted.
func (t *tokens) seen(s *corev1.Secret, exists bool) bool {
	t.mu.Lock()
	kept := t.kept[s.Labels[pod.LabelInstance]]
	t.mu.Unlock()
	if kept == nil {
		return false
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.data == nil || exists && holds(s, kept.data) {
		return false
	}
	kept.lost = true
	return true
}

// holds reports whether a Secret holds exactly some data.
func holds(s *corev1.Secret, data map[string]string) bool {
	return maps.EqualFunc(s.Data, data, func(a []byte, b string) bool { return string(a) == b })
}

// tokensOf returns the tokens of an instance's groups.
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
	object := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: pod.SecretName(d.InstanceID), Labels: t.labels(d.InstanceID)},
		StringData: data,
	}
	if s.data != nil && maps.Equal(s.data, data) && (!s.lost || t.has(ctx, object)) {
		s.lost = false
		return nil
	}
	if err := t.write(ctx, object); err != nil {
		return fmt.Errorf("write Secret %s: %w", object.Name, err)
	}
	s.data, s.lost = data, false
	return nil
}

// has reports whether the API server has a Secret as it should be.
func (t *tokens) has(ctx context.Context, want *corev1.Secret) bool {
	got, err := t.secrets.Get(ctx, want.Name, metav1.GetOptions{})
	return err == nil && got.DeletionTimestamp == nil && holds(got, want.StringData) && maps.Equal(got.Labels, want.Labels)
}

// write creates or replaces a Secret.
func (t *tokens) write(ctx context.Context, s *corev1.Secret) error {
	_, err := t.secrets.Create(ctx, s, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = t.secrets.Update(ctx, s, metav1.UpdateOptions{})
	if !apierrors.IsInvalid(err) {
		return err
	}
	// Somebody has made it immutable, or one of another type.
	if err := t.secrets.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err = t.secrets.Create(ctx, s, metav1.CreateOptions{})
	return err
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
