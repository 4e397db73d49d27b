package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/cell"
)

// certificateLook is how often the files of a certificate are checked, at connections
// and requests for metrics.
const certificateLook = time.Minute

// certificate is the certificate of the listener. It is read again when its files have
// changed; if it cannot be used, the old one remains.
type certificate struct {
	read  func() (tls.Certificate, error)
	files []string
	first *tls.Certificate // as read at the start: presented to other nodes, which know its fingerprint
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
	seen    []stamp // of the files when they were last read
}

// stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

func newCertificate(read func() (tls.Certificate, error), files []string, log *slog.Logger) (*certificate, error) {
	c := &certificate{read: read, files: files, log: log}
	c.seen, c.looked = c.stamps(), time.Now()
	first, err := read()
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	c.first, c.current = &first, &first
	return c, nil
}

func (c *certificate) stamps() []stamp {
	all := make([]stamp, len(c.files))
	for n, file := range c.files {
		if info, err := os.Stat(file); err == nil {
			all[n] = stamp{info.ModTime(), info.Size()}
		}
	}
	return all
}

// get returns the certificate for a connection (tls.Config.GetCertificate).
func (c *certificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == cell.ServerName {
		return c.first, nil
	}
	return c.watch(time.Now()), nil
}

// watch returns the certificate, and first reads it again if its files have changed and
// have not been checked for certificateLook.
func (c *certificate) watch(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < certificateLook {
		return c.current
	}
	c.looked = now
	if stamps := c.stamps(); !slices.Equal(stamps, c.seen) {
		c.seen = stamps
		if err := c.renew(); err != nil {
			c.log.Error("a changed certificate is not used; the one before stays", "error", err)
		}
	}
	return c.current
}

// reload reads the certificate again.
func (c *certificate) reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked, c.seen = time.Now(), c.stamps()
	return c.renew()
}

// renew reads the certificate. c.mu must be held.
func (c *certificate) renew() error {
	next, err := c.read()
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	if end := next.Leaf.NotAfter; !time.Now().Before(end) {
		return fmt.Errorf("read certificate: it ended on %s", end.UTC().Format(time.RFC3339))
	}
	if !slices.EqualFunc(next.Certificate, c.current.Certificate, slices.Equal) {
		c.log.Info("the certificate was replaced", "subject", next.Leaf.Subject, "expires", next.Leaf.NotAfter.UTC())
	}
	c.current = &next
	return nil
}

// register adds a metric for the end of the certificate.
func (c *certificate) register(r prometheus.Registerer) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate that the listener shows ends, as seconds since 1970.",
	}, func() float64 { return float64(c.watch(time.Now()).Leaf.NotAfter.Unix()) }))
}
