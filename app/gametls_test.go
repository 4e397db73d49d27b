package app_test

import (
	"bytes"
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
	f, err := a.MakeFleet(t, archiveOf(t, map[string]string{"server": arenaText(t)}), func(in *fleet.CreateInput) {
		in.Managed.CertificateType = "GENERATED"
	})
	if err != nil {
		t.Fatal(err)
	}
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
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "privateKey.pem"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
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
	answer, err := http.Get(a.URL() + protocol.PathCA)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	kept, _ := os.ReadFile(filepath.Join(dir, "rootCertificate.pem"))
	if err != nil || !bytes.Equal(text, kept) {
		t.Fatalf("the authority is %s, and the host has %s: %v", text, kept, err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
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
	credential, err := os.ReadFile(filepath.Join(other, "credential.json"))
	if err == nil {
		err = json.Unmarshal(credential, &me)
	}
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	in := protocol.CertificateRequest{Path: "/x"}
	if in.Request, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key); err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	for instance, want := range map[string]int{active.ComputeName: http.StatusNotFound, "i-none": http.StatusNotFound} {
		r, err := http.NewRequest(http.MethodPost, a.URL()+protocol.PathCertificates+instance, bytes.NewReader(request))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+me.HostID+"."+me.Secret)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("a foreign host is answered %s for %s, want %d", answer.Status, instance, want)
		}
	}
	if now := a.CertificatePath(f.ID, active.ComputeName); now != dir {
		t.Errorf("the certificate is at %q after a foreign host's request, want %q", now, dir)
	}
}
