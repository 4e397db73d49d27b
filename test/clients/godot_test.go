package clients

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/node"
)

var godot = gdscript("")

// A game that knows the authority of the server's certificate logs in and receives pushes by TLS;
// one that does not is told why it cannot.
func TestGodot_TLS(t *testing.T) {
	godot.available(t)
	server := local(t)
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	pair, authority := localhostCertificate(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{Handler: httputil.NewSingleHostReverseProxy(to), ErrorLog: log.New(io.Discard, "", 0)} // of refused handshakes
	go proxy.Serve(listener)
	t.Cleanup(func() { proxy.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())

	stranger, err := runGodot(t, gameProject(t, nil), "test/tls.gd", "https://localhost:"+port)
	if err == nil || !strings.Contains(stranger, "network: POST /auth/guest: the server's certificate was refused") || scriptFailed(stranger) {
		t.Errorf("without the authority: %v\n%s", err, stranger)
	}
	text, err := runGodot(t, gameProject(t, authority), "test/tls.gd", "https://localhost:"+port)
	if err != nil || !strings.Contains(text, "push: connected") || scriptFailed(text) {
		t.Errorf("with the authority: %v\n%s", err, text)
	}
}

// What beacons sign for the library, by datagrams and by HTTP, is what the server accepts.
func TestGodot_Receipts(t *testing.T) {
	godot.available(t)
	server := localWithBeacon(t, "")
	out, err := runGodot(t, filepath.Join(top, "clients/godot"), "test/latency.gd", server.URL)
	if err != nil || scriptFailed(out) {
		t.Fatalf("%v\n%s", err, out)
	}
	var methods []string
	for line := range strings.Lines(out) {
		var measured struct {
			Samples []protocol.LatencySample
			Result  protocol.LatencyResult
		}
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &measured); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		if len(measured.Samples) != 1 || measured.Samples[0].Receipt == "" || measured.Result.Accepted[node.BeaconLocation] < 1 || len(measured.Result.Rejected) != 0 {
			t.Fatalf("measured and reported %s", line)
		}
		methods = append(methods, string(measured.Samples[0].Method))
	}
	if !slices.Equal(methods, []string{"udp", "https"}) {
		t.Errorf("measured by %q:\n%s", methods, out)
	}
}

// scriptFailed reports whether what Godot printed has an error of a script, after which it goes
// on with something else.
func scriptFailed(text string) bool { return strings.Contains(text, "SCRIPT ERROR") }

// runGodot runs a script of a project and returns what it prints.
func runGodot(t *testing.T, project, script string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "godot3-server", append([]string{"--path", project, "--script", script}, args...)...)
	cmd.Env = programEnv(t.TempDir())
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// gameProject makes a project with the add-on and its tests. authority is the
// certificate that it trusts, in PEM; nil for none.
func gameProject(t *testing.T, authority []byte) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"addons", "test"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(top, "clients/godot", name))); err != nil {
			t.Fatal(err)
		}
	}
	project, err := os.ReadFile(filepath.Join(top, "clients/godot/project.godot"))
	if err != nil {
		t.Fatal(err)
	}
	if authority != nil {
		if err := os.WriteFile(filepath.Join(folder, "authority.crt"), authority, 0o600); err != nil {
			t.Fatal(err)
		}
		project = append(project, "\n[network]\n\nssl/certificates=\"res://authority.crt\"\n"...)
	}
	if err := os.WriteFile(filepath.Join(folder, "project.godot"), project, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// localhostCertificate returns a certificate for localhost, and that of its authority in PEM.
func localhostCertificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
