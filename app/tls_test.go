package app_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/sniff"
)

func TestTLS_BesidePlain(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	c := trusting(t, filepath.Join(a.DataDir(), sniff.CertificateFile))
	for _, scheme := range []string{"http", "https"} {
		answer, err := c.Get(scheme + "://" + a.Addr().String() + "/readyz")
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != 200 || (answer.TLS != nil) != (scheme == "https") {
			t.Errorf("%s: status %d", scheme, answer.StatusCode)
		}
	}
}

func TestTLS_OwnCertificateAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := sniff.SelfSigned(dir, []string{"127.0.0.1"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	pair := filepath.Join(dir, sniff.PairFile)
	a := start(t, func(o *app.Options) { o.TLSCert, o.TLSKey = pair, pair })
	if !strings.HasPrefix(a.URL(), "https://127.0.0.1:") {
		t.Errorf("the base URL is %s", a.URL())
	}
	answer, err := trusting(t, filepath.Join(dir, sniff.CertificateFile)).Get(a.URL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := answer.Header.Get("Strict-Transport-Security"); got == "" {
		t.Error("browsers are not told to come back by TLS alone")
	}
	if answer, err := http.Get("http://" + a.Addr().String() + "/readyz"); err == nil {
		answer.Body.Close()
		if answer.StatusCode == 200 {
			t.Error("plain connections are answered")
		}
	}
}

// trusting returns a client that trusts one certificate.
func trusting(t *testing.T, file string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("%s holds no certificate", file)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	return &http.Client{Transport: transport}
}

// With self-signed TLS, plain HTTP is not answered; TLS is, from the configured version
// on.
func TestTLS_SelfSignedAlone(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.TLSSelfSigned, o.TLSMinVersion = true, "1.3" })
	if !strings.HasPrefix(a.URL(), "https://127.0.0.1:") {
		t.Errorf("the base URL is %s", a.URL())
	}
	c := trusting(t, filepath.Join(a.DataDir(), sniff.CertificateFile))
	answer, err := c.Get(a.URL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.TLS.Version != tls.VersionTLS13 || answer.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("answered by TLS version %x with headers %v", answer.TLS.Version, answer.Header)
	}
	c.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS12
	if answer, err := c.Get(a.URL() + "/readyz"); err == nil {
		answer.Body.Close()
		t.Error("TLS 1.2 is accepted where 1.3 is the oldest")
	}
	if answer, err := http.Get("http://" + a.Addr().String() + "/readyz"); err == nil {
		answer.Body.Close()
		if answer.StatusCode == 200 {
			t.Error("plain connections are answered")
		}
	}
}
