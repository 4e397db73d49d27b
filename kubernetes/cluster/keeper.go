package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/kubernetes/pod"
)

// credentialKey is the key of the credential in its Secret.
const credentialKey = "credential.json"

// keeper keeps the credential in a Secret.
type keeper struct {
	secrets typed.SecretInterface
	name    string
}

func (k keeper) Place() string { return "the Secret " + k.name }

func (k keeper) Load(ctx context.Context) (c link.Credential, err error) {
	s, err := k.secrets.Get(ctx, k.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return c, nil
	case err != nil:
		return c, fmt.Errorf("read credential: %w", err)
	case len(s.Data[credentialKey]) == 0:
		return c, nil
	}
	if err := json.Unmarshal(s.Data[credentialKey], &c); err != nil {
		return c, fmt.Errorf("read credential in Secret %s: %w", k.name, err)
	}
	return c, nil
}

// Store replaces the Secret, or creates it.
func (k keeper) Store(ctx context.Context, c link.Credential) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: k.name, Labels: map[string]string{pod.LabelManager: pod.Manager}},
		Data:       map[string][]byte{credentialKey: text},
	}
	_, err = k.secrets.Update(ctx, s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = k.secrets.Create(ctx, s, metav1.CreateOptions{})
	}
	return err
}

func (k keeper) Remove(ctx context.Context) error {
	err := k.secrets.Delete(ctx, k.name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
