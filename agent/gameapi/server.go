package gameapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/handover"
	"github.com/musterhq/muster/agent/ports"
)

// Limits of what programs make a server hold.
const (
	maxConnections = 4096     // of all programs
	maxStrangers   = 256      // connections without a token yet; beyond, the oldest is closed
	maxOpen        = 32       // connections of one program
	maxRequests    = 16       // of one program, waiting ones included
	maxHeader      = 16 << 10 // bytes
	reading        = 15 * time.Second
	writing        = 15 * time.Second
	idle           = 2 * time.Minute
)

// Options configure a Server.
type Options struct {
	// Address is where to listen, on loopback. With port 0, it is a port at which only root
	// may listen, if possible (ports.ListenReserved).
	Address string
	TLS     *tls.Config // for connections to Muster; default: the system's root certificates
	Log     *slog.Logger
	// Resuming says that processes of a former agent are admitted soon: until Resumed,
	// connections wait for it.
	Resuming bool
	// Sockets has those of a former agent, and gets them for the next one; nil: there is
	// neither.
	Sockets *handover.Sockets
}

// Server serves the interface to the processes that are admitted.
type Server struct {
	o       Options
	address netip.AddrPort
	http    *http.Server
	conns   *conns
	serving context.Context // ends when requests that wait for news are to be answered
	leave   context.CancelFunc

	mu        sync.Mutex
	open      []*handover.Listener
	waiting   []*handover.Listener // of open, that wait for Resumed
	hosts     map[string]bool      // values of the Host header
	processes map[string]*Process
	byDigest  map[[32]byte]*Process // by the digest of their tokens
}

// Listen opens the interface.
func Listen(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Log, o.Sockets = o.Log.With("component", "gameapi"), cmp.Or(o.Sockets, &handover.Sockets{})
	s := &Server{o: o, hosts: map[string]bool{}, processes: map[string]*Process{}, byDigest: map[[32]byte]*Process{}, conns: newConns()}
	s.serving, s.leave = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: reading, IdleTimeout: idle, MaxHeaderBytes: maxHeader, ConnContext: withConn, ConnState: handover.State,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	l, err := s.listen(o.Address)
	if err != nil {
		return nil, err
	}
	s.address = addressOf(l)
	s.hosts[fmt.Sprintf("localhost:%d", s.address.Port())] = true
	if o.Resuming {
		s.waiting = append(s.waiting, l)
	} else {
		s.serve(l)
	}
	return s, nil
}

// listen listens at an address too. Nothing is accepted before serve.
func (s *Server) listen(address string) (*handover.Listener, error) {
	wanted, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("interface for game servers: %w", err)
	}
	l, err := s.o.Sockets.Listen(wanted, func() (net.Listener, error) {
		if wanted.Port() == 0 {
			return ports.ListenReserved(wanted.Addr().String())
		}
		return ports.Listen(address)
	})
	if err != nil {
		return nil, fmt.Errorf("interface for game servers: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[addressOf(l).String()] = true
	s.open = append(s.open, l)
	return l, nil
}

func (s *Server) serve(l *handover.Listener) { go s.http.Serve(&listener{l, s.conns}) }

func addressOf(l *handover.Listener) netip.AddrPort { return l.Addr().(*net.TCPAddr).AddrPort() }

// Address returns where the interface is served on loopback.
func (s *Server) Address() netip.AddrPort { return s.address }

// Resumed says that the processes of a former agent are admitted.
func (s *Server) Resumed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.waiting {
		s.serve(l)
	}
	s.waiting = nil
}

// URL returns the address of the interface for programs.
func (s *Server) URL() string { return urlAt(s.address) }

func urlAt(at netip.AddrPort) string { return fmt.Sprintf("http://%s/v1", at) }

// Way is another address of a Server.
type Way struct {
	*Server
	at netip.AddrPort
}

// URL returns the address of the interface for programs that use this way.
func (w Way) URL() string { return urlAt(w.at) }

// Also serves the interface at another address of this machine too, for programs that have
// a loopback interface of their own. The port is the same unless it is taken there. If
// Options.Resuming is set, connections there wait for the next Resumed.
func (s *Server) Also(on netip.Addr) (Way, error) {
	if on == s.address.Addr() {
		return Way{s, s.address}, nil
	}
	l, err := s.listen(netip.AddrPortFrom(on, s.address.Port()).String())
	if err != nil {
		s.o.Log.Warn("the interface for game servers has another port at this address; those of a former agent may not come back", "address", on, "error", err)
		if l, err = s.listen(netip.AddrPortFrom(on, 0).String()); err != nil {
			return Way{}, err
		}
	}
	if s.o.Resuming {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = append(s.waiting, l)
	} else {
		s.serve(l)
	}
	return Way{s, addressOf(l)}, nil
}

// NewToken returns a token for one process.
func NewToken() string {
	b := make([]byte, 24)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func digestOf(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// Admit lets a process use the interface. For one that had called ready at a former agent,
// it continues what that agent did.
func (s *Server) Admit(a Admission) *Process { return s.admit(a, nil) }

// Wrap lets a program use the interface that package wrap has started.
func (s *Server) Wrap(a Admission, w Wrapping) *Process { return s.admit(a, &w) }

func (s *Server) admit(a Admission, w *Wrapping) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.processes[a.ProcessID]; p != nil {
		return p
	}
	p := newProcess(a, w, s.serving.Done(), s.o.TLS, s.o.Log)
	s.processes[a.ProcessID], s.byDigest[p.digest] = p, p
	return p
}

// Forget ends everything about a process that has exited; clean says that it did without an
// error. It reports whether the end counts as ProcessEnding: Muster may not have received
// that call, so the report of the process's end must say it.
func (s *Server) Forget(processID string, clean bool) (left bool) {
	s.mu.Lock()
	p := s.processes[processID]
	if p != nil {
		delete(s.processes, processID)
		delete(s.byDigest, p.digest)
	}
	s.mu.Unlock()
	if p == nil {
		return false
	}
	s.conns.forget(p)
	return p.finish(clean)
}

// closing is how long Close waits for Muster's answers to requests, and again until the
// requests without one are answered.
const closing = 3 * time.Second

// Close ends the interface, and the connections of all processes without an end of them:
// the next agent continues. Every request is answered, and if Options.Sockets are passed on,
// no connection is closed.
func (s *Server) Close() error {
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	for _, l := range open {
		l.Close()
	}
	s.leave()
	handover.Drain(closing, open...)
	s.mu.Lock()
	all := s.processes
	s.processes, s.byDigest = map[string]*Process{}, map[[32]byte]*Process{}
	s.mu.Unlock()
	for _, p := range all {
		p.close()
	}
	handover.Drain(closing, open...)
	return s.http.Close()
}

// caller returns the process whose token a request presents.
func (s *Server) caller(r *http.Request) (*Process, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, problem(http.StatusUnauthorized, "token-missing", "Authorization", "the header Authorization is missing, or has no token", "send Authorization: Bearer and the value of "+TokenVariable)
	}
	digest := digestOf(token)
	s.mu.Lock()
	p := s.byDigest[digest]
	s.mu.Unlock()
	if p == nil || subtle.ConstantTimeCompare(p.digest[:], digest[:]) != 1 {
		return nil, problem(http.StatusUnauthorized, "token-invalid", "Authorization", "the token is not that of a process that runs here", "use the value of "+TokenVariable+" that this process was started with; each process has its own")
	}
	return p, nil
}

// checkPage returns an error for requests of web pages.
func (s *Server) checkPage(r *http.Request) error {
	s.mu.Lock()
	known := s.hosts[r.Host]
	s.mu.Unlock()
	switch {
	case !known:
		return problem(http.StatusMisdirectedRequest, "wrong-host", "Host", "the header Host is not the address of this interface", "use the address in "+URLVariable+" as it is")
	case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
		return problem(http.StatusForbidden, "web-page", "Origin", "web pages are no game servers", "call the interface from the game server itself")
	}
	return nil
}
