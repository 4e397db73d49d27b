package agent

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/ports"
)

// forwards pass the connections of game servers in containers on to Muster's endpoint for
// them, where that has an address that only this machine reaches. It is for own images,
// which the relay does not carry: their computes are no instances. Nothing but that one
// endpoint can be reached through it.
type forwards struct {
	at  netip.Addr
	tls *tls.Config
	log *slog.Logger

	mu   sync.Mutex
	open map[string]*http.Server // by the URL of the endpoint
	urls map[string]string
}

// URL returns the URL at which containers reach the endpoint of a URL.
func (f *forwards) URL(endpoint string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found := f.urls[endpoint]; found != "" {
		return found, nil
	}
	target, err := url.Parse(strings.Replace(endpoint, "ws", "http", 1))
	if err != nil {
		return "", fmt.Errorf("forward game servers: %w", err)
	}
	l, err := ports.Listen(netip.AddrPortFrom(f.at, 0).String())
	if err != nil {
		return "", fmt.Errorf("forward game servers: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: f.tls},
		ErrorLog:  slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			query := r.In.URL.RawQuery
			r.Out.URL = &url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path, RawQuery: query}
			r.Out.Host = target.Host
		},
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, ErrorLog: proxy.ErrorLog, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			http.Error(w, "only game servers connect here", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(l)
	f.open[endpoint], f.urls[endpoint] = server, fmt.Sprintf("ws://%s/", l.Addr())
	return f.urls[endpoint], nil
}

// close closes everything; connections end with it.
func (f *forwards) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.open {
		s.Close()
	}
}
