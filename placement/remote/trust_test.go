package remote

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/placement"
)

// signed returns a certificate for 127.0.0.1 that signs itself, as a Muster's does, and a file
// with it.
func signed(t *testing.T, until time.Time) (*tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// checked returns the configuration of a remote with an endpoint and a ca, as Check leaves it.
func checked(t *testing.T, endpoint, ca string) (Config, error) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "secret"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []Config{{Name: "there", Region: "eu-west-1", Account: "222222222222", Endpoint: endpoint, AccessKeyID: "AKIDANY", SecretFile: "secret", CA: ca}}
	Within(folder, all)
	err := Check(all, arn.Home{Region: "us-east-1", Account: "000000000000"})
	return all[0], err
}

// A ca that cannot be used is refused at the start, with what is wrong with it. Its path is
// relative to the file that names it.
func TestCheck_CA(t *testing.T) {
	t.Parallel()
	_, file := signed(t, time.Now().Add(time.Hour))
	none := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(none, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ endpoint, ca, want string }{
		{"https://there.example", file, ""},
		{"https://there.example", "", ""},
		{"", file, ""},
		{"https://there.example", none, `remotes: "there": ca: ` + none + " has no certificate in PEM"},
		{"https://there.example", "missing.pem", "missing.pem: no such file"},
		{"http://there.example", file, "ca: http://there.example is not https://"},
	} {
		got, err := checked(t, c.endpoint, c.ca)
		if c.want == "" && (err != nil || (got.roots != nil) != (c.ca != "")) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("ca %q of %q: %v, want %q", c.ca, c.endpoint, err, c.want)
		}
	}
	all := []Config{{SecretFile: "secret", CA: "certs/there.pem"}, {SecretFile: file}}
	Within("/etc/muster", all)
	if all[0].SecretFile != "/etc/muster/secret" || all[0].CA != "/etc/muster/certs/there.pem" || all[1].SecretFile != file || all[1].CA != "" {
		t.Errorf("relative to /etc/muster: %+v", all)
	}
}

// showing starts a server that refuses each request, on a connection of its own, and counts them.
func showing(t *testing.T, shown *atomic.Pointer[tls.Certificate]) (*httptest.Server, *atomic.Int32) {
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Connection", "close")
		in(w, 400, map[string]string{"__type": "com.amazonaws.gamelift#FleetCapacityExceededException", "Message": "no"})
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*shown.Load()}}, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, &requests
}

// A remote is trusted by its ca. When its certificate is not trusted, the log says so once,
// with the remedy, nothing is sent, and the refusal says the same; the log says when it is trusted
// again.
func TestTrust(t *testing.T) {
	t.Parallel()
	good, ca := signed(t, time.Now().Add(24*time.Hour))
	other, _ := signed(t, time.Now().Add(24*time.Hour))
	old, oldCA := signed(t, time.Now().Add(-time.Hour))
	var shown atomic.Pointer[tls.Certificate]
	server, requests := showing(t, &shown)
	for _, c := range []struct {
		name, ca, endpoint string
		shows              []*tls.Certificate
		warns              []string // parts of the only warning
		again              int      // how often it is trusted again
		reached            int32
	}{
		{"its ca", ca, server.URL, []*tls.Certificate{good, good}, nil, 0, 2},
		{"no ca", "", server.URL, []*tls.Certificate{good, good, good}, []string{"remote=there", "unknown authority", "have ca of the remote name a file", "server-cert.pem"}, 0, 0},
		{"changed and back", ca, server.URL, []*tls.Certificate{good, other, other, good}, []string{"unknown authority", "write the certificate that it has now to " + ca}, 1, 2},
		{"another name", ca, strings.Replace(server.URL, "127.0.0.1", "localhost", 1), []*tls.Certificate{good}, []string{"in endpoint, name the remote as its certificate does"}, 0, 0},
		{"expired", oldCA, server.URL, []*tls.Certificate{old}, []string{"expired", "renew the certificate"}, 0, 0},
	} {
		config, err := checked(t, c.endpoint, c.ca)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		r := open(config, slog.New(slog.NewTextHandler(&text, nil)))
		requests.Store(0)
		for _, cert := range c.shows {
			shown.Store(cert)
			before := requests.Load()
			_, err := r.Create(t.Context(), somewhere, "t", &placement.Request{MaxPlayers: 2})
			no, reached := placement.RefusalOf(err), requests.Load() > before
			switch {
			case no == nil, reached != (no.Kind == placement.Full):
				t.Errorf("%s: reached %v: %v", c.name, reached, err)
			case !reached && (no.Kind != placement.Unreachable || !strings.HasPrefix(no.Message, "its certificate is not trusted: ") || len(c.warns) > 0 && !strings.Contains(no.Message, c.warns[len(c.warns)-1])):
				t.Errorf("%s: refused as %s: %s", c.name, no.Kind, no.Message)
			}
		}
		said := text.String()
		warnings := strings.Count(said, "level=WARN")
		if (warnings == 1) != (c.warns != nil) || warnings > 1 || strings.Count(said, "is trusted again") != c.again || requests.Load() != c.reached {
			t.Errorf("%s: %d requests, and the log says %s", c.name, requests.Load(), said)
		}
		for _, part := range c.warns {
			if !strings.Contains(said, part) {
				t.Errorf("%s: the log does not say %q: %s", c.name, part, said)
			}
		}
	}
}

// A remote that has another certificate is trusted again once the file of its ca has that; a
// file that has none in between changes nothing.
func TestTrust_Renewed(t *testing.T) {
	t.Parallel()
	first, ca := signed(t, time.Now().Add(24*time.Hour))
	second, secondFile := signed(t, time.Now().Add(24*time.Hour))
	var shown atomic.Pointer[tls.Certificate]
	server, _ := showing(t, &shown)
	config, err := checked(t, server.URL, ca)
	if err != nil {
		t.Fatal(err)
	}
	r := open(config, slog.New(slog.DiscardHandler))
	create := func(cert *tls.Certificate) placement.RefusalKind {
		shown.Store(cert)
		_, err := r.Create(t.Context(), somewhere, "t", &placement.Request{MaxPlayers: 2})
		no := placement.RefusalOf(err)
		if no == nil {
			t.Fatal(err)
		}
		return no.Kind
	}
	renewed, err := os.ReadFile(secondFile)
	if err != nil {
		t.Fatal(err)
	}
	for n, step := range []struct {
		file  []byte // written before; nil: the file stays
		shows *tls.Certificate
		want  placement.RefusalKind
	}{
		{nil, first, placement.Full},
		{nil, second, placement.Unreachable},
		{[]byte("half a file"), second, placement.Unreachable},
		{renewed, second, placement.Unreachable}, // it makes the file be read
		{nil, second, placement.Full},
		{nil, first, placement.Unreachable}, // it is trusted no longer
	} {
		if step.file != nil {
			if err := os.WriteFile(ca, step.file, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := create(step.shows); got != step.want {
			t.Errorf("step %d: refused as %s, want %s", n, got, step.want)
		}
	}
}
