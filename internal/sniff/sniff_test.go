package sniff_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/sniff"
)

// serve answers on one loopback port, plain and TLS, with the request's scheme.
func serve(t *testing.T, opts sniff.Options) string {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := sniff.Listen(inner, opts)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		how := "plain"
		if r.TLS != nil {
			how = "tls"
		}
		io.WriteString(w, how+" "+r.URL.Path)
	})}
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-done })
	return l.Addr().String()
}

func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestListener_TLSAndPlainOnOnePort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, err := sniff.SelfSigned(dir, []string{"localhost", "127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	at := serve(t, sniff.Options{Config: sniff.Config(cert)})
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(filepath.Join(dir, sniff.CertificateFile))
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("certificate for clients cannot be used: %v", err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	if got := get(t, client, "http://"+at+"/a"); got != "plain /a" {
		t.Errorf("plain request: got %q", got)
	}
	if got := get(t, client, "https://"+at+"/b"); got != "tls /b" {
		t.Errorf("TLS request: got %q", got)
	}
	if _, err := tls.Dial("tcp", at, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
}

// TestListener_SilentConnection: a silent client delays no other, and is
// disconnected.
func TestListener_SilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newPipes()
		l := sniff.Listen(inner, sniff.Options{Config: &tls.Config{}, Timeout: time.Minute})
		silent, speaking := inner.dial(), inner.dial()
		go speaking.Write([]byte("GET"))
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 3)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "GET" {
			t.Errorf("read %q, %v", got, err)
		}
		start := time.Now()
		if _, err := silent.Read(got); !errors.Is(err, io.EOF) {
			t.Errorf("silent connection: %v", err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("silent connection was closed after %s", d)
		}
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
	})
}

// TestListener_TooManySilent: past the limit a connection is closed immediately.
func TestListener_TooManySilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newPipes()
		l := sniff.Listen(inner, sniff.Options{Config: &tls.Config{}, Peeking: 1})
		first, second := inner.dial(), inner.dial()
		if _, err := second.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("second silent connection: %v", err)
		}
		go first.Write([]byte("x"))
		if _, err := l.Accept(); err != nil {
			t.Error(err)
		}
		l.Close()
	})
}

func TestSelfSigned_KeptUntilItDoesNotServe(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	serial := func(now time.Time, hosts ...string) string {
		t.Helper()
		c, err := sniff.SelfSigned(dir, hosts, now)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber.String()
	}
	first := serial(now, "localhost")
	if serial(now.Add(24*time.Hour), "localhost") != first {
		t.Error("a certificate that serves was replaced")
	}
	other := serial(now, "localhost", "10.0.0.1")
	if other == first {
		t.Error("the certificate was kept for a host that it does not name")
	}
	if serial(now.Add(2*365*24*time.Hour-24*time.Hour), "localhost") == other {
		t.Error("a certificate that ends tomorrow was kept")
	}
	info, err := os.Stat(filepath.Join(dir, sniff.PairFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the key has mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, sniff.PairFile), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sniff.SelfSigned(dir, []string{"localhost"}, now); err == nil {
		t.Error("a file that is no certificate was overwritten")
	}
}

// pipes is an in-memory listener.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	a, b := net.Pipe()
	p.conns <- b
	return a
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }
