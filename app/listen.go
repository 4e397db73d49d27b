package app

import (
	"crypto/tls"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/sniff"
)

// gameServerPath is where game server processes connect.
const gameServerPath = "/gameserver/v5"

// listen opens the listener and determines the base URL.
func (a *App) listen() error {
	l, err := net.Listen("tcp", a.opts.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	a.listener = l
	a.base = a.opts.baseURL(l.Addr().(*net.TCPAddr))
	if a.listener, err = a.secured(a.door.Listen(l)); err != nil {
		l.Close()
		return err
	}
	return nil
}

// baseURL returns the URL at which others reach a listener.
func (o *Options) baseURL(addr *net.TCPAddr) string {
	if o.PublicURL != "" {
		return o.PublicURL
	}
	scheme := "http"
	if o.hasTLS() {
		scheme = "https"
	}
	return scheme + "://" + o.reachable(addr)
}

// reachable returns HOST:PORT of a listener, with this machine's own address.
func (o *Options) reachable(addr *net.TCPAddr) string {
	host, _, _ := net.SplitHostPort(o.Listen)
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = ownAddress()
	}
	return net.JoinHostPort(host, fmt.Sprint(addr.Port))
}

// secured makes a listener use TLS: only TLS with the operator's certificate, or TLS and
// plain connections with a self-signed one.
func (a *App) secured(l net.Listener) (net.Listener, error) {
	read := func() (tls.Certificate, error) { return sniff.SelfSigned(a.opts.DataDir, a.opts.hosts(), time.Now()) }
	var files []string
	if a.opts.TLSCert != "" {
		read = func() (tls.Certificate, error) { return tls.LoadX509KeyPair(a.opts.TLSCert, a.opts.TLSKey) }
		files = []string{a.opts.TLSCert, a.opts.TLSKey}
	}
	c, err := newCertificate(read, files, a.log)
	if err != nil {
		return nil, err
	}
	a.certificate, a.leaf = c, c.first.Certificate[0]
	c.register(a.registry)
	config := a.opts.tlsConfig(*c.first)
	config.Certificates, config.GetCertificate = nil, c.get
	if a.opts.hasTLS() {
		return tls.NewListener(l, config), nil
	}
	return sniff.Listen(l, sniff.Options{Config: config}), nil
}

func (o *Options) tlsConfig(certificate tls.Certificate) *tls.Config {
	config := sniff.Config(certificate)
	if o.TLSMinVersion == "1.3" {
		config.MinVersion = tls.VersionTLS13
	}
	return config
}

// strict has browsers that connect with TLS and the operator's certificate use only TLS
// from then on (HSTS). Not with a self-signed certificate: browsers would not let
// users bypass its warning any more.
func (a *App) strict(next http.Handler) http.Handler {
	if a.opts.TLSCert == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		next.ServeHTTP(w, r)
	})
}

// hosts returns the names for the self-signed certificate.
func (o *Options) hosts() []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	for _, base := range []string{o.PublicURL, o.baseURL(&net.TCPAddr{})} {
		if u, err := url.Parse(base); err == nil && u.Host != "" && !slices.Contains(hosts, u.Hostname()) {
			hosts = append(hosts, u.Hostname())
		}
	}
	return hosts
}

// ownAddress returns an address of this machine that others can reach, as far as the
// machine knows, or else loopback.
func ownAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// gameServerURL returns the WebSocket endpoint for game servers at a base URL.
func gameServerURL(base string) string {
	return "ws" + strings.TrimPrefix(base, "http") + gameServerPath
}

// connectionLog logs net/http's messages about single connections as information, since
// peers cause most of them.
func (a *App) connectionLog() *log.Logger {
	return slog.NewLogLogger(a.log.With("component", "http").Handler(), slog.LevelInfo)
}
