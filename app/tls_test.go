package app_test

import (
	"cmp"
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

// A server without keys speaks TLS and plain HTTP on one port. With TLS of its own plain HTTP is not
// answered; TLS is, from the configured version on. Browsers are told to come back by TLS alone if
// they can trust it.
func TestTLS(t *testing.T) {
	t.Parallel()
	own := t.TempDir()
	must(sniff.SelfSigned(own, []string{"127.0.0.1"}, time.Now()))(t)
	pair := filepath.Join(own, sniff.PairFile)
	for name, c := range map[string]struct {
		change      func(*app.Options)
		certificate string // "" for the server's data directory
		plain, hsts bool
		newest      bool // TLS 1.3 alone
	}{
		"beside plain":    {change: nil, plain: true},
		"own certificate": {change: func(o *app.Options) { o.TLSCert, o.TLSKey = pair, pair }, certificate: own, hsts: true},
		"self-signed":     {change: func(o *app.Options) { o.TLSSelfSigned, o.TLSMinVersion = true, "1.3" }, newest: true},
	} {
		a := start(t, c.change)
		if got, want := strings.HasPrefix(a.URL(), "https://127.0.0.1:"), !c.plain; got != want {
			t.Errorf("%s: the base URL is %s", name, a.URL())
		}
		by := trusting(t, filepath.Join(cmp.Or(c.certificate, a.DataDir()), sniff.CertificateFile))
		secure := "https://" + a.Addr().String() + "/readyz"
		answer, text := send(t, by, http.MethodGet, secure, "", nil)
		if hsts := answer.Header.Get("Strict-Transport-Security") != ""; answer.StatusCode != 200 || answer.TLS.Version != tls.VersionTLS13 || hsts != c.hsts {
			t.Errorf("%s: answered by TLS version %x with %d %s and headers %v", name, answer.TLS.Version, answer.StatusCode, text, answer.Header)
		}
		by.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS12
		if older, err := by.Get(secure); (err == nil) == c.newest {
			t.Errorf("%s: TLS 1.2 gives %v, %v", name, older, err)
		}
		plain, err := http.Get("http://" + a.Addr().String() + "/readyz")
		if ok := err == nil && plain.StatusCode == 200; ok != c.plain {
			t.Errorf("%s: plain HTTP gives %v, %v", name, plain, err)
		}
	}
}

// trusting returns a client that trusts one certificate.
func trusting(t *testing.T, file string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(must(os.ReadFile(file))(t)) {
		t.Fatalf("%s holds no certificate", file)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	return &http.Client{Transport: transport}
}
