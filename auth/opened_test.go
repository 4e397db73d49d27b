package auth

import (
	"testing"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// withKey returns a service with one key.
func withKey(t testing.TB) (*Service, Credentials) {
	t.Helper()
	st := store.New(store.Options{Driver: store.NewMemory()})
	s := New(st, event.New(st, event.Options{}), master(t), nil)
	if err := st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	c, err := s.Create(t.Context(), Spec{Name: "a", Role: Operator})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// A secret that was decrypted before is found only with the key's current row, and is
// dropped with the key.
func TestSecret_Opened(t *testing.T) {
	t.Parallel()
	s, c := withKey(t)
	want := func(secret string) {
		t.Helper()
		for range 2 { // the second time it is open
			if got, ok := s.Secret(c.AccessKeyID); got != secret || ok != (secret != "") {
				t.Errorf("the secret is %q, %t, want %q", got, ok, secret)
			}
		}
	}
	want(c.SecretAccessKey)
	replace := func(sealed []byte) {
		t.Helper()
		if err := s.st.Update(t.Context(), func(tx *store.Tx) error {
			k := *s.keys.Get(tx, c.AccessKeyID)
			k.Sealed = sealed
			s.keys.Put(tx, &k)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	replace(s.master.seal("another", c.AccessKeyID))
	want("another")
	replace(s.master.seal("another", "of another key"))
	want("")
	replace(s.master.seal("third", c.AccessKeyID))
	want("third")
	if err := s.Delete.Do(t.Context(), c.AccessKeyID); err != nil {
		t.Fatal(err)
	}
	want("")
	if n := len(s.opened.secrets); n != 0 {
		t.Errorf("%d secrets are kept of no keys", n)
	}
}

func BenchmarkSecret(b *testing.B) {
	s, c := withKey(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := s.Secret(c.AccessKeyID); !ok {
			b.Fatal("unknown")
		}
	}
}
