package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// authority opens an Authority on a driver, whose key comes from secret.
func authority(t *testing.T, driver store.Driver, secret string) (*Authority, func()) {
	t.Helper()
	st := store.New(store.Options{Driver: driver})
	a := New(st, func(purpose string) []byte { return derive(secret + purpose) })
	if err := st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// All who request the first root get the same one, also after a restart.
func TestAuthority_OneRoot(t *testing.T) {
	t.Parallel()
	driver := store.NewMemory()
	a, stop := authority(t, driver, "one")
	roots := make([]*x509.Certificate, 16)
	var all sync.WaitGroup
	for i := range roots {
		all.Go(func() {
			var err error
			if roots[i], err = a.Root(t.Context(), time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stop()
	again, stop := authority(t, driver, "one")
	defer stop()
	kept, err := again.Root(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range roots {
		if c == nil || !bytes.Equal(c.Raw, kept.Raw) {
			t.Fatalf("request %d has another root", i)
		}
	}
}

// A year before its end the root is replaced by one with the same key; after a change of the
// master key, by one with another key, which does not vouch for certificates of the former.
func TestAuthority_Renewal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	driver := store.NewMemory()
	mine, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := csr(t, mine)
	issue := func(a *Authority) (leaf, root *x509.Certificate) {
		t.Helper()
		texts := make([][]byte, 2)
		if texts[0], texts[1], err = a.Issue(t.Context(), request, Names{IPs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}, now); err != nil {
			t.Fatal(err)
		}
		both := make([]*x509.Certificate, 2)
		for i, text := range texts {
			block, _ := pem.Decode(text)
			if both[i], err = x509.ParseCertificate(block.Bytes); err != nil {
				t.Fatal(err)
			}
		}
		return both[0], both[1]
	}
	trusts := func(root, leaf *x509.Certificate) bool {
		pool := x509.NewCertPool()
		pool.AddCert(root)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now})
		return err == nil
	}
	a, stop := authority(t, driver, "one")
	_, first := issue(a)
	now = now.Add(RootLife - Renewed - time.Minute)
	if _, same := issue(a); !bytes.Equal(same.Raw, first.Raw) {
		t.Error("the root is renewed too soon")
	}
	now = now.Add(time.Minute)
	leaf, second := issue(a)
	if bytes.Equal(second.Raw, first.Raw) || !trusts(first, leaf) || !trusts(second, leaf) {
		t.Errorf("renewed: %t; the first trusts the certificate: %t, the second: %t", !bytes.Equal(second.Raw, first.Raw), trusts(first, leaf), trusts(second, leaf))
	}
	stop()
	b, stop := authority(t, driver, "another")
	defer stop()
	other, third := issue(b)
	if bytes.Equal(third.Raw, second.Raw) || trusts(third, leaf) || trusts(second, other) || !trusts(third, other) {
		t.Error("the root of another master key is not another authority")
	}
	if _, same := issue(b); !bytes.Equal(same.Raw, third.Raw) {
		t.Error("each request makes another root")
	}
}
