package instance

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/agent/link/linktest"
	"github.com/musterhq/muster/certificate"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/internal/wake"
)

// authority signs as Muster does, unless it is away.
type authority struct {
	mu     sync.Mutex
	err    error
	want   protocol.Desired
	signed int
}

func (a *authority) certify(_ context.Context, _ string, in protocol.CertificateRequest) (out protocol.CertificateResponse, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return out, a.err
	}
	names := certificate.Names{DNS: a.want.Certificate.DNSName}
	for _, text := range []string{a.want.Certificate.IPAddress, a.want.Certificate.IPv6} {
		if ip, err := netip.ParseAddr(text); err == nil {
			names.IPs = append(names.IPs, ip)
		}
	}
	a.signed++
	return linktest.Certify(in, names)
}

func (a *authority) set(err error, c *protocol.Certificate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err, a.want.Certificate = err, c
}

func (a *authority) desired() protocol.Desired {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.want
}

func (a *authority) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.signed
}

// The first certificate is waited for; the others come after two thirds of a life, and
// with other names. Without Muster the files stay as they are.
func TestCertificates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &authority{}
		a.set(errors.New("away"), &protocol.Certificate{IPAddress: "192.0.2.1"})
		c := &certificates{
			id: "i-1", dir: filepath.Join(t.TempDir(), "certificates"), certify: a.certify, view: a.desired, changed: wake.NewNudge(), log: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- c.ensure(ctx) }()
		go c.keep(ctx)
		wait.Pass(time.Minute)
		synctest.Wait()
		if len(ended) > 0 || c.stored() != nil {
			t.Fatal("there is a certificate without Muster")
		}
		a.set(nil, a.desired().Certificate)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(filepath.Join(c.dir, keyFile))
		if err != nil {
			t.Fatal(err)
		}
		expect := func(what string, signed int) *x509.Certificate {
			t.Helper()
			synctest.Wait()
			now, err := os.ReadFile(filepath.Join(c.dir, keyFile))
			leaf := c.stored()
			if leaf == nil || a.count() != signed || !bytes.Equal(now, key) || err != nil {
				t.Fatalf("%s: %d certificates, want %d; %v, the key is the same: %t, %v", what, a.count(), signed, leaf, bytes.Equal(now, key), err)
			}
			return leaf
		}
		first := expect("at first", 1)
		wait.Pass(certificate.Life*2/3 - time.Hour)
		expect("before two thirds", 1)
		wait.Pass(time.Hour)
		if second := expect("after two thirds", 2); !second.NotAfter.After(first.NotAfter) {
			t.Errorf("the second ends at %v, the first at %v", second.NotAfter, first.NotAfter)
		}
		a.set(nil, &protocol.Certificate{IPAddress: "192.0.2.2", IPv6: "2001:db8::2", DNSName: "game.example"})
		c.changed.Send()
		if leaf := expect("other names", 3); leaf.DNSNames[0] != "game.example" || fmt.Sprint(leaf.IPAddresses) != "[192.0.2.2 2001:db8::2]" {
			t.Errorf("the names are %v and %v", leaf.DNSNames, leaf.IPAddresses)
		}
		a.set(errors.New("away"), a.desired().Certificate)
		wait.Pass(certificate.Life * 3 / 4)
		last := expect("Muster is away", 3)
		a.set(nil, a.desired().Certificate)
		wait.Pass(lastCertify)
		if again := expect("Muster is back", 4); !again.NotAfter.After(last.NotAfter) {
			t.Error("it is not renewed after Muster has come back")
		}
		cancel()
		synctest.Wait()
	})
}

// An agent that starts again uses the files that it finds, without Muster. Where one of them
// is missing, or the certificate has ended, it obtains another for the same key.
func TestCertificates_Restart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &authority{}
		a.set(nil, &protocol.Certificate{IPAddress: "192.0.2.1"})
		dir := filepath.Join(t.TempDir(), "certificates")
		start := func() *certificates {
			return &certificates{id: "i-1", dir: dir, certify: a.certify, view: a.desired, changed: wake.NewNudge(), log: slog.New(slog.DiscardHandler)}
		}
		ensure := func(what string, signed int) {
			t.Helper()
			c := start()
			if err := c.ensure(t.Context()); err != nil || a.count() != signed || c.stored() == nil {
				t.Fatalf("%s: %v, %d certificates, want %d", what, err, a.count(), signed)
			}
		}
		ensure("at first", 1)
		key, err := os.ReadFile(filepath.Join(dir, keyFile))
		if err != nil {
			t.Fatal(err)
		}
		away := errors.New("away")
		a.set(away, a.desired().Certificate)
		ensure("without Muster", 1)
		a.set(nil, a.desired().Certificate)
		for i, name := range []string{leafFile, chainFile, rootFile} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			ensure("without "+name, 2+i)
		}
		wait.Pass(certificate.Life)
		ensure("after the end", 5)
		if now, err := os.ReadFile(filepath.Join(dir, keyFile)); err != nil || !bytes.Equal(now, key) {
			t.Errorf("the key is another one: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, keyFile), []byte("half a k"), 0o600); err != nil {
			t.Fatal(err)
		}
		ensure("with a broken key", 6)
	})
}

// A certificate that Muster will never sign is not waited for.
func TestCertificates_Refused(t *testing.T) {
	t.Parallel()
	a := &authority{}
	a.set(ErrNoCertificate, &protocol.Certificate{})
	c := &certificates{dir: filepath.Join(t.TempDir(), rand.Text()), certify: a.certify, view: a.desired, changed: wake.NewNudge(), log: slog.New(slog.DiscardHandler)}
	if err := c.ensure(t.Context()); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("it ends with %v", err)
	}
}
