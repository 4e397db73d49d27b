package link

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Options configure a Server.
type Options struct {
	Servers []string    // base URLs of the same Muster, tried in turn
	TLS     *tls.Config // for https; default: the system's root certificates
	Token   string      // to join with, if there is no credential yet
	// NewToken creates a token if the host has not joined, or if Muster no longer accepts
	// it; nil if only Token is available.
	NewToken func() (string, error)
	Facts    func() protocol.Facts // sent by Join and on each connection
	Keeper   Keeper
	Log      *slog.Logger
}

// Keeper stores the credential of a host durably.
type Keeper interface {
	// Load returns the credential, or the zero value if none is stored.
	Load(context.Context) (Credential, error)
	Store(context.Context, Credential) error
	Remove(context.Context) error
	// Place names where the credential is, for people: "credential.json in the agent's
	// folder".
	Place() string
}

// Server is the Muster that an agent works for: its base URLs, and the credential for
// it.
type Server struct {
	opts       Options
	log        *slog.Logger
	http       *http.Client
	at         atomic.Uint32 // index of the base URL in use
	secretKept wake.Nudge    // a new secret is stored

	mu sync.Mutex
	me Credential
}

// NewServer returns a Server. It connects to nothing yet.
func NewServer(o Options) *Server {
	transport := &http.Transport{TLSClientConfig: o.TLS, Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 30 * time.Second}
	return &Server{opts: o, log: o.Log, http: &http.Client{Transport: transport}, secretKept: wake.NewNudge()}
}

// url returns the base URL of Muster in use.
func (s *Server) url() string {
	if len(s.opts.Servers) == 0 {
		return ""
	}
	return s.opts.Servers[int(s.at.Load())%len(s.opts.Servers)]
}

// next switches to the next base URL, if there are several.
func (s *Server) next() { s.at.Add(1) }

// FirstWait is the wait before Muster is tried again after one failure. Longer returns
// the one after further failures, and Jitter the one to use, so that many hosts do not
// connect at the same time.
const (
	FirstWait = 250 * time.Millisecond
	lastWait  = 15 * time.Second
)

// Longer returns the wait that follows another, which is twice as long up to 15 s.
func Longer(wait time.Duration) time.Duration { return min(2*wait, lastWait) }

// Jitter returns a wait with a random deviation of up to a quarter.
func Jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.75 + rand.Float64()/2))
}

// shaking limits the time of a WebSocket's handshake.
const shaking = 20 * time.Second

// Dial opens a WebSocket to a path; subprotocols are those that this side knows. On refusal
// it returns the response too.
func (s *Server) Dial(ctx context.Context, path string, subprotocols ...string) (*websocket.Conn, *http.Response, error) {
	dialer := websocket.Dialer{HandshakeTimeout: shaking, TLSClientConfig: s.opts.TLS, Proxy: http.ProxyFromEnvironment, Subprotocols: subprotocols}
	url := "ws" + strings.TrimPrefix(s.url(), "http") + path
	return dialer.DialContext(ctx, url, http.Header{"Authorization": {s.Credential().bearer()}})
}

// Request returns a request with the credential.
func (s *Server) Request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url()+path, body)
	if err == nil {
		req.Header.Set("Authorization", s.Credential().bearer())
	}
	return req, err
}

// Do sends a request.
func (s *Server) Do(req *http.Request) (*http.Response, error) { return s.http.Do(req) }

// RefusalOf returns the error that an unsuccessful response describes.
func RefusalOf(res *http.Response) error {
	var refusal protocol.Refusal
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	if json.Unmarshal(text, &refusal) == nil && refusal.Message != "" {
		return fmt.Errorf("refused by Muster: %s (HTTP %d)", refusal.Message, res.StatusCode)
	}
	return fmt.Errorf("answered by Muster with HTTP %s", res.Status)
}
