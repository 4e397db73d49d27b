package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// gate is the way from the clients of one story to the server: a proxy that refuses, cuts
// and delays as the story says, and records what passed.
type gate struct {
	url    string
	proxy  *httputil.ReverseProxy
	server *http.Server

	mu     sync.Mutex // guards what follows
	faults []*fault
	seen   []*passed
	news   chan struct{}         // closed and replaced with each request
	conns  map[net.Conn]struct{} // of clients
	pushes []net.Conn            // those that became WebSockets

	secrets []string // of the logins that passed
	refresh string   // the first refresh token of those
	access  []string // their access tokens
	expired map[string]bool
	extends bool     // adds a member to each answer
	early   []string // requests that were made again before Retry-After had passed
}

type passed struct {
	method, path, query string
	status              int // of the answer; 0: none yet, or none that arrived
}

// fault is what happens to requests that match.
type fault struct {
	kind     string // refuse, cut, loseAnswer, hold, garble or expired
	method   string // any if ""
	path     *regexp.Regexp
	left     int // how often; -1: until admit
	status   int
	retry    int           // Retry-After, in seconds; below 0: none
	again    time.Time     // when a refused request may be made again
	admitted chan struct{} // closed by admit
}

// newGate opens a way to a server's base URL. If answers are to be lost, each request has a
// connection of its own: browsers repeat any request that finds a used one closed.
func newGate(t *testing.T, to string, loses bool) *gate {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{news: make(chan struct{}), conns: map[net.Conn]struct{}{}, expired: map[string]bool{}}
	g.proxy = &httputil.ReverseProxy{
		Transport: &http.Transport{DisableKeepAlives: true}, // the server may be killed, and a used connection with it
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = target.Host
		},
		ModifyResponse: func(answer *http.Response) error {
			if f, _ := answer.Request.Context().Value(metKey{}).(*fault); f != nil && f.kind == "loseAnswer" {
				return fmt.Errorf("the answer is lost")
			}
			if err := g.read(answer); err != nil {
				return err
			}
			if p, _ := answer.Request.Context().Value(passedKey{}).(*passed); p != nil {
				g.answered(p, answer.StatusCode)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { hangUp(w) }, // as if there were no proxy
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.url = "http://" + listener.Addr().String()
	g.server = &http.Server{Handler: g, ConnState: func(c net.Conn, s http.ConnState) {
		g.mu.Lock()
		defer g.mu.Unlock()
		switch s {
		case http.StateNew:
			g.conns[c] = struct{}{}
		case http.StateClosed:
			delete(g.conns, c)
		case http.StateHijacked: // a WebSocket, which the proxy closes with its other side
			g.pushes = append(g.pushes, c)
		}
	}}
	g.server.ErrorLog = log.New(io.Discard, "", 0) // of requests that it aborts
	g.server.SetKeepAlivesEnabled(!loses)
	go g.server.Serve(listener)
	t.Cleanup(func() { g.admit(); g.drop(); g.server.Close() })
	return g
}

// Keys of context values: a *fault and a *passed.
type (
	metKey    struct{}
	passedKey struct{}
)

// hangUp closes a connection without an answer.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
		return
	}
	panic(http.ErrAbortHandler)
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, p := g.note(r)
	r = r.WithContext(context.WithValue(context.WithValue(r.Context(), metKey{}, f), passedKey{}, p))
	if f == nil {
		g.proxy.ServeHTTP(w, r)
		return
	}
	switch f.kind {
	case "refuse", "expired":
		if origin := r.Header.Get("Origin"); origin != "" {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id")
		}
		if f.retry >= 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.retry))
		}
		g.answered(p, f.status)
		if f.kind == "expired" { // as the server answers
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(f.status)
			io.WriteString(w, `{"type":"urn:muster:problem:token-expired","title":"token expired","status":401,"detail":"the access token has expired","instance":"urn:uuid:0","code":"token-expired"}`)
			return
		}
		http.Error(w, "not now", f.status)
	case "garble":
		if origin := r.Header.Get("Origin"); origin != "" {
			w.Header().Set("Access-Control-Allow-Origin", origin)
		}
		g.answered(p, http.StatusOK)
		io.WriteString(w, "<!doctype html><title>Log in to the hotel's network</title>")
	case "cut":
		hangUp(w)
	case "loseAnswer":
		g.proxy.ServeHTTP(w, r)
	case "hold":
		select {
		case <-f.admitted:
			g.proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
}

var expired = &fault{kind: "expired", status: http.StatusUnauthorized, retry: -1}

// note records a request and returns the fault that it meets, or nil. Preflights of browsers
// are not recorded and meet none.
func (g *gate) note(r *http.Request) (*fault, *passed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Method == http.MethodOptions {
		return nil, nil
	}
	p := &passed{method: r.Method, path: strings.TrimPrefix(r.URL.Path, protocol.Base), query: r.URL.RawQuery}
	g.seen = append(g.seen, p)
	g.announce()
	if g.expired[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
		return expired, p
	}
	for _, f := range g.faults {
		if f.method != "" && f.method != r.Method || !f.path.MatchString(p.path) {
			continue
		}
		if time.Now().Before(f.again) {
			g.early = append(g.early, p.method+" "+p.path)
		}
		if f.left != 0 {
			f.left--
			if f.retry > 0 { // clocks of runtimes are not exact
				f.again = time.Now().Add(time.Duration(f.retry) * 950 * time.Millisecond)
			}
			return f, p
		}
	}
	return nil, p
}

// announce wakes those who wait for requests. The caller must hold mu.
func (g *gate) announce() {
	close(g.news)
	g.news = make(chan struct{})
}

func (g *gate) answered(p *passed, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.status = status
	g.announce()
}

// arm adds a fault.
func (g *gate) arm(kind string, with map[string]any) error {
	path, err := regexp.Compile(text(with, "path", "."))
	if err != nil {
		return err
	}
	f := &fault{
		kind: kind, method: text(with, "method", ""), path: path, left: number(with, "times", -1),
		status: number(with, "status", http.StatusServiceUnavailable), retry: number(with, "retry_after", -1), admitted: make(chan struct{}),
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, f)
	return nil
}

// admit ends all faults.
func (g *gate) admit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.faults {
		close(f.admitted)
	}
	g.faults, g.extends = nil, false
}

// drop closes all connections of clients.
func (g *gate) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.Close()
	}
	clear(g.conns)
}

// breakPush closes the WebSockets without a close frame.
func (g *gate) breakPush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.pushes {
		c.Close()
	}
	g.pushes = nil
}

// expire lets the access tokens of all logins so far expire, as seen by requests.
func (g *gate) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, token := range g.access {
		g.expired[token] = true
	}
}

// steal uses the first refresh token that passed, as somebody who stole it does.
func (g *gate) steal(ctx context.Context, server string) (any, error) {
	g.mu.Lock()
	body, err := json.Marshal(protocol.RefreshRequest{RefreshToken: g.refresh})
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server+protocol.Base+"/auth/refresh", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var out any
	err = json.NewDecoder(answer.Body).Decode(&out)
	return out, err
}

// count returns how many requests with a method, a path and a status have arrived.
func (g *gate) count(with map[string]any) (int, error) {
	path, err := regexp.Compile(text(with, "path", "."))
	if err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, p := range g.seen {
		if m, status := text(with, "method", p.method), number(with, "status", p.status); m == p.method && status == p.status && path.MatchString(p.path) {
			n++
		}
	}
	return n, nil
}

// await waits until as many requests have arrived.
func (g *gate) await(ctx context.Context, with map[string]any) (int, error) {
	for {
		g.mu.Lock()
		news := g.news
		g.mu.Unlock()
		n, err := g.count(with)
		if err != nil || n >= number(with, "count", 1) {
			return n, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return n, fmt.Errorf("%d such requests have arrived: %w", n, ctx.Err())
		}
	}
}

// read reads an answer: it records the secrets of one that logs in, and extends it.
func (g *gate) read(answer *http.Response) error {
	if kind := answer.Header.Get("Content-Type"); kind != "application/json" && kind != "application/problem+json" {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if body, err = g.learn(body); err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.ContentLength = int64(len(body))
	answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func (g *gate) learn(body []byte) ([]byte, error) {
	var members map[string]any
	if json.Unmarshal(body, &members) != nil {
		return body, nil // data, for example, or no content
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	access, refresh, guest := text(members, "access_token", ""), text(members, "refresh_token", ""), text(members, "guest_secret", "")
	if g.refresh == "" {
		g.refresh = refresh
	}
	if access != "" {
		g.access = append(g.access, access)
	}
	for _, s := range []string{access, refresh, guest} {
		if s != "" {
			g.secrets = append(g.secrets, s)
		}
	}
	if !g.extends {
		return body, nil
	}
	members["x_later"] = map[string]any{"list": []any{1, nil, map[string]any{"deep": "x"}}}
	return json.Marshal(members)
}

// leaked returns requests whose URL has a secret.
func (g *gate) leaked() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []string
	for _, p := range g.seen {
		whole := p.method + " " + p.path + "?" + p.query
		if slices.ContainsFunc(g.secrets, func(s string) bool { return strings.Contains(whole, s) || strings.Contains(whole, url.QueryEscape(s)) }) {
			all = append(all, whole)
		}
	}
	return all
}

func text(with map[string]any, name, otherwise string) string {
	if s, ok := with[name].(string); ok {
		return s
	}
	return otherwise
}

func number(with map[string]any, name string, otherwise int) int {
	if n, ok := with[name].(float64); ok {
		return int(n)
	}
	return otherwise
}
