package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/handover"
	"github.com/musterhq/muster/agent/ports"
	"github.com/musterhq/muster/internal/sniff"
	"github.com/musterhq/muster/internal/wake"
)

// Options configure a Relay.
type Options struct {
	Dial func(ctx context.Context) (*websocket.Conn, error) // opens the WebSocket to Muster, with the subprotocol protocol.RelayInParts; required
	Dir  string                                             // for the certificate; required
	Port int                                                // on loopback; 0 picks one, by ports.ListenReserved
	// Sockets has those of a former agent, and gets them for the next one; nil: there is
	// neither.
	Sockets *handover.Sockets
	// Resuming says that processes of a former agent are admitted soon: until Resumed,
	// connections wait for it.
	Resuming bool
	Log      *slog.Logger // default slog.Default()
}

// Relay carries connections. Use Listen to create one; it listens immediately, and Run
// links it to Muster.
type Relay struct {
	opts     Options
	log      *slog.Logger
	at       *net.TCPAddr // on loopback
	server   *http.Server
	upgrader websocket.Upgrader

	waiting atomic.Int64 // bytes of requests that are not answered yet

	mu        sync.Mutex
	processes map[string]*process
	departed  departed
	open      []*handover.Listener
	unserved  []net.Listener // that wait for Resumed
	admitted  chan struct{}  // closed at the first Admit
	up        *uplink        // nil while there is none
	upChanged chan struct{}  // closed and replaced when up changes
}

// Listen opens the loopback port.
func Listen(o Options) (*Relay, error) {
	const host = "127.0.0.1"
	o.Sockets = cmp.Or(o.Sockets, &handover.Sockets{})
	at := netip.AddrPortFrom(netip.MustParseAddr(host), uint16(o.Port))
	l, err := o.Sockets.Listen(at, func() (net.Listener, error) {
		if o.Port == 0 {
			return ports.ListenReserved(host)
		}
		return net.Listen("tcp4", at.String())
	})
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r, err := listenOn(l, o)
	if err == nil {
		r.at, r.open = l.Addr().(*net.TCPAddr), append(r.open, l)
	}
	return r, err
}

// listenOn is like Listen, but takes over a listener of any kind.
func listenOn(inner net.Listener, o Options) (*Relay, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	certificate, err := sniff.SelfSigned(o.Dir, []string{"127.0.0.1", "localhost"}, time.Now())
	if err != nil {
		inner.Close()
		return nil, fmt.Errorf("relay: %w", err)
	}
	r := &Relay{
		opts: o, log: o.Log.With("component", "relay"),
		processes: map[string]*process{}, admitted: make(chan struct{}), upChanged: make(chan struct{}),
		upgrader: websocket.Upgrader{
			HandshakeTimeout: writing, ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: &sync.Pool{},
			CheckOrigin: func(*http.Request) bool { return true }, // processes are authenticated by their token
		},
	}
	r.departed.load(o.Dir)
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 30 * time.Second, MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug), ConnState: handover.State}
	r.serveOn(secured{inner, sniff.Options{Config: sniff.Config(certificate)}})
	return r, nil
}

// secured is a listener for plain and TLS connections.
type secured struct {
	net.Listener
	how sniff.Options
}

// serveOn accepts the connections of a listener, once processes are admitted if the relay
// resumes.
func (r *Relay) serveOn(l net.Listener) {
	if r.opts.Resuming {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unserved = append(r.unserved, l)
		return
	}
	r.accept(l)
}

func (r *Relay) accept(l net.Listener) {
	if s, ok := l.(secured); ok {
		l = sniff.Listen(s.Listener, s.how)
	}
	go r.server.Serve(l)
}

// Resumed says that the processes of a former agent are admitted.
func (r *Relay) Resumed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.unserved {
		r.accept(l)
	}
	r.unserved = nil
}

// Port returns the loopback port.
func (r *Relay) Port() int { return r.at.Port }

// URL returns what processes are given in place of the game server endpoint.
func (r *Relay) URL() string { return fmt.Sprintf("ws://127.0.0.1:%d/", r.Port()) }

// Way is another address of a Relay.
type Way struct {
	*Relay
	at net.Addr
}

// URL returns what processes are given in place of the game server endpoint.
func (w Way) URL() string { return fmt.Sprintf("ws://%s/", w.at) }

// Also makes the relay listen on another address of this machine too, for processes that
// have a loopback interface of their own. The port is the same unless it is taken there. If
// Options.Resuming is set, connections there wait for the next Resumed.
func (r *Relay) Also(on netip.Addr) (Way, error) {
	if on == r.at.AddrPort().Addr() {
		return Way{r, r.at}, nil // containers use the machine's network
	}
	listen := func(at netip.AddrPort) (*handover.Listener, error) {
		return r.opts.Sockets.Listen(at, func() (net.Listener, error) { return ports.Listen(at.String()) })
	}
	l, err := listen(netip.AddrPortFrom(on, uint16(r.Port())))
	if err != nil {
		r.log.Warn("the relay has another port at this address; game servers of a former agent may not come back", "address", on, "error", err)
		if l, err = listen(netip.AddrPortFrom(on, 0)); err != nil {
			return Way{}, fmt.Errorf("relay: %w", err)
		}
	}
	r.mu.Lock()
	r.open = append(r.open, l)
	r.mu.Unlock()
	r.serveOn(l)
	return Way{r, l.Addr()}, nil
}

// NewToken returns a token for one process.
func NewToken() string {
	b := make([]byte, 24)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// Admit lets a process connect with the token. upstream returns the token that replaces
// it whenever the process is connected to Muster; while that is "", the process is told
// to try again.
func (r *Relay) Admit(processID, token string, upstream func() string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.processes[processID]; p != nil && p.token == token {
		return
	}
	select {
	case <-r.admitted:
	default:
		close(r.admitted)
	}
	r.processes[processID] = &process{r: r, id: processID, token: token, upstream: upstream}
}

// Admitted returns a channel that is closed when the first process is admitted. Until
// then, no link to Muster is needed.
func (r *Relay) Admitted() <-chan struct{} { return r.admitted }

// Forget deletes a process that has ended, and reports whether it had called
// ProcessEnding, also at a former agent. Muster may not have received that call: the report
// of the process's end must say it.
func (r *Relay) Forget(processID string) (left bool) {
	r.mu.Lock()
	p := r.processes[processID]
	delete(r.processes, processID)
	r.mu.Unlock()
	if p != nil {
		p.end()
	}
	left, err := r.departed.remove(processID)
	if err != nil {
		r.log.Warn("the ProcessEnding of a process stays noted after its end", "process_id", processID, "error", err)
	}
	return left
}

// Run keeps the link to Muster until ctx ends. Then it drops every connection without a
// close frame, so that the SDKs reconnect to a successor.
func (r *Relay) Run(ctx context.Context) {
	wait := 250 * time.Millisecond
	for ctx.Err() == nil {
		ws, err := r.opts.Dial(ctx)
		if err == nil {
			wait = 250 * time.Millisecond
			err = r.serve(ctx, ws)
		}
		if ctx.Err() != nil {
			break
		}
		r.log.Warn("no link for game servers; they are answered here", "error", err)
		wake.Sleep(ctx, wait)
		wait = min(2*wait, 5*time.Second)
	}
	r.mu.Lock()
	open := r.open
	r.mu.Unlock()
	handover.Drain(closing, open...)
	r.server.Close()
	for _, p := range r.all() {
		p.dropDown()
	}
}

// closing is how long processes that connect are waited for when the relay ends.
const closing = time.Second

// serve uses one link until it ends.
func (r *Relay) serve(ctx context.Context, ws *websocket.Conn) error {
	u := newUplink(r, ws)
	stop := context.AfterFunc(ctx, func() { ws.Close() })
	defer stop()
	r.set(u)
	for _, p := range r.all() {
		go p.reconnect(u)
	}
	err := u.read()
	r.set(nil)
	ws.Close()
	u.end()
	return err
}

func (r *Relay) set(u *uplink) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = u
	close(r.upChanged)
	r.upChanged = make(chan struct{})
}

func (r *Relay) uplink() *uplink {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up
}

func (r *Relay) all() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*process, 0, len(r.processes))
	for _, p := range r.processes {
		list = append(list, p)
	}
	return list
}

// ServeHTTP accepts a process's connection.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	r.mu.Lock()
	p := r.processes[q.Get("pID")]
	r.mu.Unlock()
	if p == nil || subtle.ConstantTimeCompare([]byte(p.token), []byte(q.Get("Authorization"))) != 1 {
		http.Error(w, `{"message":"Forbidden"}`, http.StatusForbidden)
		return
	}
	err := p.arrive(req.Context(), q)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		r.log.Warn("Muster refuses a process", "process_id", p.id, "reason", refused.reason)
		http.Error(w, `{"message":"Forbidden"}`, http.StatusForbidden)
		return
	case err != nil:
		http.Error(w, `{"message":"Service Unavailable"}`, http.StatusServiceUnavailable)
		return
	}
	ws, err := r.upgrader.Upgrade(w, req, nil)
	if err != nil {
		return // the upgrader has answered already
	}
	p.serve(ws)
}
