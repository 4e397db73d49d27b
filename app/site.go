package app

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/sniff"
)

// gameServerPath is where game server processes connect.
const gameServerPath = "/gameserver/v5"

// site is where others reach a node. Its members are set before anything is served; they do
// not change afterwards.
type site struct {
	opts        *Options
	proxies     door.Proxies
	base        string // base URL
	listener    net.Listener
	door        *door.Door // that every connection and request passes first
	certificate *certificate
	origins     func() []string // sites whose pages may use the player API now
	beacon      *beacon.Server  // nil: none
}

func newSite(o *Options) (*site, error) {
	proxies, err := door.ParseProxies(slices.Concat(o.TrustedProxies, o.Players.TrustedProxies))
	if err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	return &site{opts: o, proxies: proxies}, nil
}

// URL returns the base URL: "" until the site is open.
func (s *site) URL() string { return s.base }

// gameServers returns the WebSocket endpoint for game servers of a region.
func (s *site) gameServers(o *Options) string {
	return "ws" + strings.TrimPrefix(o.endpoint(s.base), "http") + gameServerPath
}

// open opens the listener, and with it the outer door. forwarded returns the client's
// address of a request that another node of the cell has forwarded.
func (s *site) open(forwarded func(*http.Request) (string, bool), metrics prometheus.Registerer) error {
	l, err := net.Listen("tcp", s.opts.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: end the program that listens there, which may be another muster, or choose another address with --listen", err)
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.base = s.opts.baseURL(l.Addr().(*net.TCPAddr))
	var pages *door.Pages
	if s.opts.AcceptAny {
		pages = &door.Pages{Base: s.URL, Origins: s.origins, RefusePlayers: backend.RefusePage}
	}
	s.door = door.New(door.Options{
		Pages:       pages,
		BodyTimeout: s.opts.BodyTimeout, Connections: s.opts.connections(), Strangers: s.opts.MaxStrangers,
		Proxies: s.proxies, Forwarded: forwarded, Registerer: metrics,
	})
	if s.listener, err = s.secured(s.door.Listen(l), metrics); err != nil {
		l.Close()
		return err
	}
	return nil
}

// openBeacon opens the latency beacon on the UDP port with the listener's number. If it is
// taken, there is no beacon.
func (s *site) openBeacon() {
	if !s.opts.Beacon {
		return
	}
	server, err := beacon.Listen(beacon.Options{Location: host.Location, UDP: s.listener.Addr().String()})
	if err != nil {
		s.opts.Logger.Warn("no latency beacon; players measure by HTTP", "error", err)
		return
	}
	s.beacon = server
}

// beaconAddress returns the beacon's address for players; "" if there is none.
func (s *site) beaconAddress() string {
	if s.beacon == nil {
		return ""
	}
	base, err := url.Parse(s.base)
	_, port, err2 := net.SplitHostPort(s.beacon.UDP())
	if err != nil || err2 != nil {
		return ""
	}
	return net.JoinHostPort(base.Hostname(), port)
}

// server returns an HTTP server behind the outer door.
func (s *site) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           s.door.Handler(s.strict(h)),
		ConnContext:       s.door.ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          connectionLog(s.opts.Logger),
	}
}

// maxConnections is the default of Options.MaxConnections if the process may open enough
// files.
const maxConnections = 65_536

// connections returns the limit of open connections: some files are needed for the
// database, builds and logs.
func (o *Options) connections() int {
	if o.MaxConnections > 0 {
		return o.MaxConnections
	}
	if files := fileLimit(); files > 0 {
		return min(maxConnections, max(64, files/4*3))
	}
	return maxConnections
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
func (s *site) secured(l net.Listener, metrics prometheus.Registerer) (net.Listener, error) {
	read := func() (tls.Certificate, error) { return sniff.SelfSigned(s.opts.DataDir, s.opts.hosts(), time.Now()) }
	var files []string
	if s.opts.TLSCert != "" {
		read = func() (tls.Certificate, error) { return tls.LoadX509KeyPair(s.opts.TLSCert, s.opts.TLSKey) }
		files = []string{s.opts.TLSCert, s.opts.TLSKey}
	}
	c, err := newCertificate(read, files, s.opts.Logger)
	if err != nil {
		return nil, err
	}
	s.certificate = c
	c.register(metrics)
	config := s.opts.tlsConfig(*c.first)
	config.Certificates, config.GetCertificate = nil, c.get
	if s.opts.hasTLS() {
		return tls.NewListener(l, config), nil
	}
	return sniff.Listen(l, sniff.Options{Config: config}), nil
}

// ownTLS returns the configuration with which this process's own agent connects where the
// listener speaks TLS alone: it accepts the listener's certificate and no other. Elsewhere it is
// nil.
func (s *site) ownTLS() *tls.Config {
	if !s.opts.hasTLS() {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection checks more: issuer and names do not matter
		VerifyConnection: func(state tls.ConnectionState) error {
			own := s.certificate.watch(time.Now())
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, own.Certificate[0]) {
				return errors.New("the certificate is not this server's own")
			}
			return nil
		},
	}
}

func (o *Options) tlsConfig(certificate tls.Certificate) *tls.Config {
	config := sniff.Config(certificate)
	if o.TLSMinVersion == "1.3" {
		config.MinVersion = tls.VersionTLS13
	}
	return config
}

// strict makes browsers that connect with TLS and the operator's certificate use only TLS
// from then on (HSTS). It does nothing with a self-signed certificate, since browsers would
// no longer let users bypass the warning.
func (s *site) strict(next http.Handler) http.Handler {
	if s.opts.TLSCert == "" {
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

// ownAddress returns an address of this machine that others can probably reach, or else
// loopback.
func ownAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// connectionLog logs net/http's messages about single connections as information, since
// peers cause most of them.
func connectionLog(l *slog.Logger) *log.Logger {
	return slog.NewLogLogger(l.With("component", "http").Handler(), slog.LevelInfo)
}
