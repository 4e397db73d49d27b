package auth_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

type house struct {
	*testing.T
	*auth.Service
	st     *store.Store
	events *event.Log
}

func newHouse(t *testing.T) *house {
	t.Helper()
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{T: t, st: store.New(store.Options{Driver: store.NewMemory()})}
	h.events = event.New(h.st, event.Options{})
	h.Service = auth.New(h.st, h.events, master, nil)
	if err := h.st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.st.Close() })
	return h
}

// create creates a key.
func (h *house) create(spec auth.Spec) auth.Credentials {
	h.Helper()
	c, err := h.Create(h.Context(), spec)
	if err != nil {
		h.Fatal(err)
	}
	return c
}

func (h *house) make(spec auth.Spec) string {
	h.Helper()
	c := h.create(spec)
	if secret, ok := h.Secret(c.AccessKeyID); !ok || secret != c.SecretAccessKey {
		h.Fatalf("the secret of a new key is %q, %t", secret, ok)
	}
	return c.AccessKeyID
}

func (h *house) refused(what string, err error, kind fault.Kind, says string) {
	h.Helper()
	if !fault.Is(err, kind) || !strings.Contains(err.Error(), says) {
		h.Errorf("%s: %v, want %s about %q", what, err, kind, says)
	}
}

func TestCreate_Refuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for what, spec := range map[string]auth.Spec{
		"name":       {Role: auth.Operator},
		"printable":  {Name: "a\x1b[2J", Role: auth.Operator},
		"role":       {Name: "a", Role: "emperor"},
		"expires":    {Name: "a", Role: auth.Operator, Expires: time.Now().Add(-time.Second)},
		"role admin": {Name: "a", Role: auth.Admin, Scope: auth.Scope{Tags: map[string]string{"a": "b"}}},
		"no pattern": {Name: "a", Role: auth.Operator, Scope: auth.Scope{Resources: []string{"fleet/x"}}},
		"the kind":   {Name: "a", Role: auth.Operator, Scope: auth.Scope{Resources: []string{"arn:aws:gamelift:*:*:*"}}},
		"tags":       {Name: "a", Role: auth.Operator, Scope: auth.Scope{Tags: map[string]string{"": "b"}}},
	} {
		_, err := h.Create(t.Context(), spec)
		h.refused(what, err, fault.InvalidRequest, what)
	}
}

// A key that is disabled, expired or deleted is refused; a disabled one is valid again
// once it is enabled.
func TestCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer h.st.Close()
		id := h.make(auth.Spec{Name: "a", Role: auth.Operator, Expires: time.Now().Add(time.Hour)})
		if c, err := h.Caller(id); err != nil || c.KeyID != id || c.Role != auth.Operator || c.Actor() != id {
			t.Errorf("caller %+v, %v", c, err)
		}
		if _, err := h.SetEnabled(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		_, err := h.Caller(id)
		h.refused("disabled", err, fault.UnrecognizedClient, "disabled")
		if _, err := h.SetEnabled(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Caller(id); err != nil {
			t.Errorf("enabled again: %v", err)
		}
		wait.Pass(time.Hour)
		_, err = h.Caller(id)
		h.refused("expired", err, fault.UnrecognizedClient, "expired")
		if err := h.Delete.Do(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		_, err = h.Caller(id)
		h.refused("deleted", err, fault.UnrecognizedClient, "deleted")
		h.refused("delete again", h.Delete.Do(t.Context(), id), fault.NotFound, id)
	})
}

// The last key that can manage keys and never expires cannot be removed in any way.
func TestLastAdmin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer h.st.Close()
		admin := h.make(auth.Spec{Name: "first", Role: auth.Admin})
		h.make(auth.Spec{Name: "short", Role: auth.Admin, Expires: time.Now().Add(time.Hour)})
		h.make(auth.Spec{Name: "other", Role: auth.Operator})
		until := time.Now().Add(time.Hour)
		h.refused("delete", h.Delete.Do(t.Context(), admin), fault.Conflict, "last")
		_, err := h.SetEnabled(t.Context(), admin, false)
		h.refused("disable", err, fault.Conflict, "last")
		_, err = h.Rotate(t.Context(), auth.Rotation{ID: admin, Expires: until, OldUntil: until})
		h.refused("rotate for an hour", err, fault.Conflict, "last")
		made, err := h.Rotate(t.Context(), auth.Rotation{ID: admin, OldUntil: until})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Delete.Do(t.Context(), admin); err != nil {
			t.Errorf("delete of a key that was replaced: %v", err)
		}
		h.refused("delete of the new key", h.Delete.Do(t.Context(), made.AccessKeyID), fault.Conflict, "last")
	})
}

// A rotated key and its replacement are both valid until the old key ends.
func TestRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer h.st.Close()
		scope := auth.Scope{Resources: []string{"arn:aws:gamelift:*:*:fleet/*"}}
		old := h.make(auth.Spec{Name: "ci", Role: auth.Operator, Scope: scope, Expires: time.Now().Add(48 * time.Hour)})
		wait.Pass(24 * time.Hour)
		made, err := h.Rotate(t.Context(), auth.Rotation{ID: old, OldUntil: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		k, err := h.Key(h.st.View(), made.AccessKeyID)
		if err != nil || k.Name != "ci" || k.Role != auth.Operator || k.Scope.String() != scope.String() || time.Until(k.Expires) != 48*time.Hour {
			t.Errorf("the new key is %+v, %v", k, err)
		}
		good := func(want ...bool) {
			t.Helper()
			for i, id := range []string{old, made.AccessKeyID} {
				if _, err := h.Caller(id); (err == nil) != want[i] {
					t.Errorf("key %d: %v, want good %t", i, err, want[i])
				}
			}
		}
		good(true, true)
		wait.Pass(time.Hour)
		good(false, true)
	})
}

// Uses are visible immediately, written periodically, and removed with the key.
func TestLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer h.st.Close()
		id := h.make(auth.Spec{Name: "a", Role: auth.Operator})
		if last := h.LastUse(h.st.View(), id); !last.IsZero() {
			t.Errorf("a key that was never used was used at %s", last)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go h.Service.Run(ctx)
		wait.Pass(time.Second)
		h.Used(id)
		used, seq := time.Now(), h.st.View().Seq()
		if last := h.LastUse(h.st.View(), id); !last.Equal(used) || h.st.View().Seq() != seq {
			t.Errorf("last use is %s, want %s without a write", last, used)
		}
		wait.Pass(time.Hour)
		synctest.Wait()
		if writes := h.st.View().Seq() - seq; writes != 1 {
			t.Errorf("one use made %d writes", writes)
		}
	})
}
