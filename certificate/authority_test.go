package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"net/netip"
	"testing"
	"time"
)

func derive(purpose string) []byte {
	sum := sha256.Sum256([]byte(purpose))
	return sum[:]
}

func csr(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"other.example"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// A certificate is for the names that Muster decided, not for those of the request, and
// verifies with the root before and after its renewal.
func TestSign(t *testing.T) {
	t.Parallel()
	key, err := Key(derive)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	roots := make([]*x509.Certificate, 2)
	for i := range roots {
		der, err := NewRoot(key, now.Add(time.Duration(i)*(RootLife-Renewed)))
		if err == nil {
			roots[i], err = x509.ParseCertificate(der)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mine, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := Check(csr(t, mine))
	if err != nil {
		t.Fatal(err)
	}
	at := now.Add(RootLife - Renewed)
	der, err := Sign(roots[1], key, public, Names{"game.example", []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}, at)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	for i, root := range roots {
		pool := x509.NewCertPool()
		pool.AddCert(root)
		for name, want := range map[string]bool{"game.example": true, "192.0.2.1": true, "2001:db8::1": true, "other.example": false, "192.0.2.2": false} {
			_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: at.Add(Life - time.Minute)})
			if (err == nil) != want {
				t.Errorf("root %d: %s: %v, want %t", i, name, err, want)
			}
		}
	}
	if leaf.IsCA || leaf.NotAfter.Sub(at) != Life {
		t.Errorf("the certificate may sign (%t), or lives %v", leaf.IsCA, leaf.NotAfter.Sub(at))
	}
}

func FuzzCheck(f *testing.F) {
	good, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	large, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	request := csr(f, good)
	for _, key := range []crypto.Signer{large, edwards} {
		if _, err := Check(csr(f, key)); err == nil {
			f.Errorf("a key of type %T is accepted", key)
		}
	}
	f.Add(request)
	f.Fuzz(func(t *testing.T, changed []byte) {
		key, err := Check(changed)
		if err == nil && (key == nil || key.Curve != elliptic.P256()) {
			t.Errorf("%x is accepted without a key", changed)
		}
	})
}
