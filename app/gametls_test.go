package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts/protocol"
)

// A game server of a fleet with CertificateType GENERATED is known to a client that trusts
// Muster's authority only, by the address to which players are sent. Another host gets no
// certificate for its instance.
func TestGameTLS(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	join(t, a, filepath.Join(t.TempDir(), "agent"), 24000, nil)
	f := a.MakeFleet(t, arenaBuild(t), func(in *fleet.CreateInput) {
		in.Managed.CertificateType = "GENERATED"
	})
	active := events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, 0)
	dir := a.CertificatePath(f.ID, active.ComputeName)
	if !filepath.IsAbs(dir) {
		t.Fatalf("the certificate is at %q", dir)
	}
	for _, name := range []string{"certificate.pem", "certificateChain.pem", "privateKey.pem", "rootCertificate.pem"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm()&0o037 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	pair := must(tls.LoadX509KeyPair(filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "privateKey.pem")))(t)
	l := must(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}}))(t)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	_, text := send(t, direct, http.MethodGet, a.URL()+protocol.PathCA, "", nil)
	if kept := must(os.ReadFile(filepath.Join(dir, "rootCertificate.pem")))(t); text != string(kept) {
		t.Fatalf("the authority is %s, and the host has %s", text, kept)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(text))
	for name, want := range map[string]bool{"127.0.0.1": true, "127.0.0.2": false, "localhost": false} {
		c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: name})
		if (err == nil) != want {
			t.Errorf("a player who wants %s: %v", name, err)
		}
		if err == nil {
			c.Close()
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	join(t, a, other, 24400, nil)
	events(t, a.URL(), "HOST_CONNECTED", 2, 0)
	var me protocol.JoinResponse
	check(t, json.Unmarshal(must(os.ReadFile(filepath.Join(other, "credential.json")))(t), &me))
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	request := must(json.Marshal(protocol.CertificateRequest{
		Path: "/x", Request: must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key))(t),
	}))(t)
	bearer := map[string]string{"Authorization": "Bearer " + me.HostID + "." + me.Secret}
	for _, instance := range []string{active.ComputeName, "i-none"} {
		answer, _ := send(t, direct, http.MethodPost, a.URL()+protocol.PathCertificates+instance, string(request), bearer)
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("a foreign host is answered %s for %s", answer.Status, instance)
		}
	}
	if now := a.CertificatePath(f.ID, active.ComputeName); now != dir {
		t.Errorf("the certificate is at %q after a foreign host's request, want %q", now, dir)
	}
}
