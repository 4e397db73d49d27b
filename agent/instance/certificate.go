package instance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Certify requests a certificate of Muster for an instance. An error that wraps
// ErrNoCertificate says that another attempt would fail too.
type Certify func(ctx context.Context, instanceID string, in protocol.CertificateRequest) (protocol.CertificateResponse, error)

// ErrNoCertificate means that Muster signs no certificate for an instance.
var ErrNoCertificate = errors.New("there is no certificate for this instance")

// The files of a certificate, named as on AWS's hosts.
const (
	leafFile  = "certificate.pem"
	chainFile = "certificateChain.pem"
	rootFile  = "rootCertificate.pem"
	keyFile   = "privateKey.pem"
)

// certificates keeps the certificate of an instance's game servers in files that they may
// read, and renews it. All certificates of an instance have the same key, so that its
// files fit each other at any time.
type certificates struct {
	id      string // the instance's
	dir     string
	jail    *jail.Jail
	certify Certify
	view    func() protocol.Desired
	changed wake.Nudge // the names, or the files
	log     *slog.Logger

	mu sync.Mutex // guards the files
}

// Times between attempts to get a certificate.
const (
	firstCertify = time.Second
	lastCertify  = 10 * time.Minute
	lookCertify  = time.Hour // for machines whose clock is changed
)

// ensure returns once the files are there and valid. It tries until ctx ends while Muster
// cannot be reached.
func (c *certificates) ensure(ctx context.Context) error {
	for wait := firstCertify; ; wait = min(2*wait, lastCertify) {
		want := c.view().Certificate
		if want == nil {
			return nil
		}
		if now := time.Now(); c.isUsable(now) {
			c.changed.Send()
			return nil
		}
		err := c.obtain(ctx)
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrNoCertificate):
			return err
		}
		c.log.Warn("there is no certificate for game servers yet, so none is launched", "error", err, "again_in", wait)
		if !wake.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// keep renews the certificate until ctx ends: when two thirds of its life have passed, and
// when the names change. What it cannot renew stays.
func (c *certificates) keep(ctx context.Context) {
	wait := firstCertify
	for ctx.Err() == nil {
		now := time.Now()
		pause := lookCertify
		if due := c.due(); !due.IsZero() && !now.Before(due) {
			err := c.obtain(ctx)
			if err == nil {
				wait = firstCertify
				continue
			}
			if ctx.Err() != nil {
				return
			}
			c.log.Warn("the certificate of game servers is not renewed; they keep the one they have", "error", err, "again_in", wait)
			pause, wait = wait, min(2*wait, lastCertify)
		} else if !due.IsZero() {
			pause = min(pause, due.Sub(now))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.changed:
		}
		timer.Stop()
	}
}

// due returns when the certificate is to be renewed; zero: not while nothing changes.
func (c *certificates) due() time.Time {
	d := c.view()
	if d.Certificate == nil || d.Stop == protocol.End {
		return time.Time{}
	}
	leaf := c.stored()
	switch {
	case leaf == nil:
		return time.Time{} // ensure obtains the first
	case !hasNames(leaf, *d.Certificate):
		return leaf.NotBefore
	}
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)
}

func hasNames(leaf *x509.Certificate, want protocol.Certificate) bool {
	var dns string
	if len(leaf.DNSNames) > 0 {
		dns = leaf.DNSNames[0]
	}
	var wanted []string
	for _, text := range []string{want.IPAddress, want.IPv6} {
		if a, err := netip.ParseAddr(text); err == nil {
			wanted = append(wanted, a.Unmap().String())
		}
	}
	return dns == want.DNSName && slices.EqualFunc(leaf.IPAddresses, wanted, func(ip net.IP, text string) bool { return ip.String() == text })
}

// stored returns the stored certificate, or nil if the files are not complete.
func (c *certificates) stored() *x509.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, leafFile), filepath.Join(c.dir, keyFile))
	if err != nil {
		return nil
	}
	for _, name := range []string{chainFile, rootFile} {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err != nil {
			return nil
		}
	}
	return pair.Leaf
}

func (c *certificates) isUsable(now time.Time) bool {
	leaf := c.stored()
	return leaf != nil && now.Before(leaf.NotAfter)
}

// obtain requests a certificate and writes the files. The certificate itself is the last:
// without it, they are not complete.
func (c *certificates) obtain(ctx context.Context) error {
	if c.certify == nil {
		return fmt.Errorf("%w: this agent works for no Muster", ErrNoCertificate)
	}
	c.mu.Lock()
	key, err := c.key()
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("prepare the key of a certificate: %w", err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return fmt.Errorf("request a certificate: %w", err)
	}
	got, err := c.certify(ctx, c.id, protocol.CertificateRequest{Request: request, Path: c.dir})
	if err != nil {
		return err
	}
	text, err := encodeKey(key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(got.Certificate, text)
	if err != nil {
		return fmt.Errorf("use the certificate from Muster: %w", err)
	}
	if !time.Now().Before(pair.Leaf.NotAfter) {
		return errors.New("the certificate from Muster has ended: the clock of this machine or of Muster is wrong")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(c.write(rootFile, got.Root), c.write(chainFile, got.Chain)); err != nil {
		return fmt.Errorf("store a certificate: %w", err)
	}
	if err := c.write(leafFile, got.Certificate); err != nil {
		return fmt.Errorf("store a certificate: %w", err)
	}
	c.log.Info("game servers have a certificate", "dns_names", pair.Leaf.DNSNames, "addresses", pair.Leaf.IPAddresses, "ends", pair.Leaf.NotAfter)
	return nil
}

// key returns the instance's private key. The first call creates it. The caller must hold mu.
func (c *certificates) key() (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, keyFile))
	if err == nil {
		if block, _ := pem.Decode(text); block != nil {
			if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
				if key, ok := key.(*ecdsa.PrivateKey); ok && key.Curve == elliptic.P256() {
					return key, nil
				}
			}
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if text, err = encodeKey(key); err != nil {
		return nil, err
	}
	gid, err := c.jail.Group()
	if err != nil {
		return nil, err
	}
	if err := disk.MakeFolderFor(c.dir, gid); err != nil {
		return nil, err
	}
	return key, c.write(keyFile, text)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// write replaces a file, which the instance's user may read. The caller must hold mu.
func (c *certificates) write(name string, text []byte) error {
	gid, err := c.jail.Group()
	if err != nil {
		return err
	}
	return disk.WriteFor(filepath.Join(c.dir, name), text, gid)
}
