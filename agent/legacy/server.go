package legacy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/handover"
	"github.com/musterhq/muster/internal/wake"
)

// Ports are where the SDKs connect. 0 picks one.
type Ports struct{ SocketIO, HTTP, WebSocket int }

// Standard are the ports that are fixed in the SDKs.
var Standard = Ports{5757, 5758, 5759}

// Limits of what programs make a server hold.
const (
	maxConnections = 4096 // of all programs
	maxStrangers   = 16   // connections whose owner is being looked for
	maxHeader      = 16 << 10
	reading        = 15 * time.Second
	writing        = 10 * time.Second
	idle           = 2 * time.Minute
	appearing      = 3 * time.Second // until a process that has just been started is known
	retrying       = 5 * time.Second // until ports that are taken are tried again
)

// Options configure a Server.
type Options struct {
	Ports Ports
	TLS   *tls.Config // for connections to Muster; default: the system's root certificates
	// Contained returns the id of the game server in whose container a process of this machine
	// runs, or "". It may be nil: there are no containers.
	Contained func(pid int) (processID string)
	// Sockets has those of a former agent, and gets them for the next one; nil: there is
	// neither.
	Sockets *handover.Sockets
	// Resuming says that processes of a former agent are admitted soon: until Resumed,
	// connections wait for it.
	Resuming bool
	Log      *slog.Logger
}

// Server serves the processes that are admitted.
type Server struct {
	o        Options
	log      *slog.Logger
	upgrader websocket.Upgrader
	room     chan struct{} // holds a value for each connection
	looking  chan struct{} // holds a value for each owner that is being looked for
	life     context.Context
	end      context.CancelFunc
	work     sync.WaitGroup // counts requests, connections, and attempts to open the ports
	blocked  int            // the last port that was taken; only for setWhy

	mu        sync.Mutex
	doors     []door
	resuming  bool          // nothing is accepted yet
	at        Ports         // that are open
	why       string        // the ports are not open; "" once they are
	opened    chan struct{} // closed when they are open
	processes []*process
	admitted  chan struct{} // closed and replaced when a process is admitted
	closed    bool
}

// door is an open port.
type door struct {
	*http.Server
	listener *handover.Listener
}

// Open returns a server. If its ports are taken, it tries again until Close, and Why says
// so.
func Open(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Contained == nil {
		o.Contained = func(int) string { return "" }
	}
	o.Sockets = cmp.Or(o.Sockets, &handover.Sockets{})
	s := &Server{
		o: o, log: o.Log.With("component", "legacy"), admitted: make(chan struct{}), opened: make(chan struct{}),
		resuming: o.Resuming, room: make(chan struct{}, maxConnections), looking: make(chan struct{}, maxStrangers),
		upgrader: websocket.Upgrader{
			HandshakeTimeout: writing, ReadBufferSize: 1024, WriteBufferSize: 1024, WriteBufferPool: &sync.Pool{},
			CheckOrigin: func(*http.Request) bool { return true }, // fromHere has checked it
		},
	}
	s.life, s.end = context.WithCancel(context.Background())
	err := s.listen()
	if err == nil {
		return s
	}
	s.setWhy(err)
	s.log.Warn("game servers with Server SDK 3 and 4 cannot connect", "error", s.Why())
	s.work.Go(func() {
		for wake.Sleep(s.life, retrying) {
			if err = s.listen(); err == nil {
				s.log.Info("game servers with Server SDK 3 and 4 can connect now")
				return
			}
			s.setWhy(err)
		}
	})
	return s
}

// listen opens all the ports, or none.
func (s *Server) listen() (err error) {
	var open []*handover.Listener
	defer func() {
		if err != nil {
			for _, l := range open {
				l.Close()
			}
		}
	}()
	var at Ports
	for _, one := range []struct {
		port int
		to   *int
	}{{s.o.Ports.SocketIO, &at.SocketIO}, {s.o.Ports.HTTP, &at.HTTP}, {s.o.Ports.WebSocket, &at.WebSocket}} {
		l, err := s.listenAt(netip.AddrFrom4([4]byte{127, 0, 0, 1}), one.port)
		if err != nil {
			return &taken{port: one.port, err: err}
		}
		open = append(open, l)
		*one.to = l.Addr().(*net.TCPAddr).Port
	}
	handlers := []http.HandlerFunc{s.serveSocketIO, s.serveHTTP, s.serveWebSocket}
	// C# connects to the name localhost for HTTP.
	if l, err := s.listenAt(netip.IPv6Loopback(), at.HTTP); err == nil {
		open, handlers = append(open, l), append(handlers, s.serveHTTP)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the server is closed")
	}
	s.at, s.why = at, ""
	close(s.opened)
	for n, l := range open {
		d := door{&http.Server{
			ReadHeaderTimeout: reading, IdleTimeout: idle, MaxHeaderBytes: maxHeader, ConnContext: s.remember, ConnState: handover.State,
			ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), Handler: s.guard(handlers[n]),
		}, l}
		s.doors = append(s.doors, d)
		if !s.resuming {
			s.serve(d)
		}
	}
	return nil
}

// listenAt listens on a port. Nothing is accepted before serve.
func (s *Server) listenAt(host netip.Addr, port int) (*handover.Listener, error) {
	at := netip.AddrPortFrom(host, uint16(port))
	return s.o.Sockets.Listen(at, func() (net.Listener, error) { return net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at)) })
}

func (s *Server) serve(d door) { go d.Serve(&bounded{Listener: d.listener, room: s.room}) }

// Resumed says that the processes of a former agent are admitted.
func (s *Server) Resumed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resuming {
		s.resuming = false
		for _, d := range s.doors {
			s.serve(d)
		}
	}
}

// guard returns a handler that refuses requests from other machines, and all once the server
// is closed.
func (s *Server) guard(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			http.Error(w, "the agent ends", http.StatusServiceUnavailable)
			return
		}
		defer s.work.Done()
		if !fromHere(r) {
			http.Error(w, "only game servers of this machine connect here", http.StatusForbidden)
			return
		}
		handler(w, r)
	}
}

// taken is the error of a port that another program has.
type taken struct {
	port   int
	holder string // the program, for people; "" if it is not known
	err    error
}

func (t *taken) Error() string {
	holder := t.holder
	if holder == "" {
		holder = "another program, such as an agent of another user or GameLift Local"
	}
	return fmt.Sprintf("port %d of this machine, which is fixed in these SDKs, is taken by %s. Only one agent of a machine serves these game servers: "+
		"host them with that one, or end it, or run them in containers with muster wrap --legacy-sdk; --no-legacy-sdk leaves the ports alone (%v)", t.port, holder, t.err)
}

func (t *taken) Unwrap() error { return t.err }

// begin counts a request, unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// fromHere reports whether a request is from a program of this machine, and not from a web
// page. The SDKs for C# send the address of the endpoint as Origin.
func fromHere(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	addr, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return false // a name that leads here
	}
	origin := r.Header.Get("Origin")
	return (origin == "" || origin == "ws://"+r.Host) && r.Header.Get("Sec-Fetch-Site") == ""
}

// setWhy records why the ports are not open. The program that has a port is looked up once,
// since that reads about all processes of the machine.
func (s *Server) setWhy(err error) {
	var t *taken
	if errors.As(err, &t) {
		if t.port == s.blocked && s.Why() != "" {
			return
		}
		s.blocked, t.holder = t.port, listenerOf(t.port)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = err.Error()
}

// Why returns why no process can connect, or "".
func (s *Server) Why() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// At returns the open ports; zero if there are none.
func (s *Server) At() Ports {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// Admission is a process that may connect.
type Admission struct {
	FleetID, HostID, ProcessID string
	PID                        int    // of the process that was started; its descendants speak for it too. 0: it runs in a container
	State                      string // file that keeps what the next agent must know; "": nothing is kept
	// Endpoint returns where the process is connected to Muster (gamelink.Options).
	Endpoint func() (url, token string, err error)
}

// Admit lets a process connect. For one that had connected to a former agent, it continues
// what that agent did.
func (s *Server) Admit(a Admission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.find(a.ProcessID) != nil {
		return
	}
	s.processes = append(s.processes, newProcess(a, s.o.TLS, s.log))
	close(s.admitted)
	s.admitted = make(chan struct{})
}

// find returns an admitted process, or nil. The caller must hold mu.
func (s *Server) find(processID string) *process {
	for _, p := range s.processes {
		if p.a.ProcessID == processID {
			return p
		}
	}
	return nil
}

// HasConnected reports whether an admitted process has ever connected.
func (s *Server) HasConnected(processID string) bool {
	s.mu.Lock()
	p := s.find(processID)
	s.mu.Unlock()
	return p != nil && p.known()
}

// Forget ends everything about a process that has exited, and reports whether it had called
// ProcessEnding: Muster may not have received that call, so the report of the process's end
// must say it.
func (s *Server) Forget(processID string) (left bool) {
	s.mu.Lock()
	p := s.find(processID)
	for n, one := range s.processes {
		if one == p {
			s.processes = append(s.processes[:n:n], s.processes[n+1:]...)
			break
		}
	}
	s.mu.Unlock()
	if p == nil {
		return false
	}
	left = p.hasLeft()
	p.close()
	return left
}

// closing is how long Close waits for requests to be answered.
const closing = 5 * time.Second

// Close ends the server. Open requests are answered, since C++ waits for ever for an
// answer; then connections are dropped without a close frame, so that SDKs reconnect to the
// next agent.
func (s *Server) Close() {
	s.mu.Lock()
	doors := s.doors
	s.mu.Unlock()
	var open []*handover.Listener
	for _, d := range doors {
		open = append(open, d.listener)
	}
	handover.Drain(closing, open...)
	s.mu.Lock()
	s.closed = true
	all := s.processes
	s.processes = nil
	s.mu.Unlock()
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	for _, p := range all {
		p.stop(ctx)
	}
	for _, d := range doors {
		d.listener.Drain(ctx) // what is not answered by then is cut off
		d.Close()
	}
	s.work.Wait()
}

// bounded is a listener with a limited number of open connections.
type bounded struct {
	net.Listener
	room chan struct{}
}

// Accept accepts a connection, and closes those beyond the limit.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.room <- struct{}{}:
			return &held{Conn: c, leave: sync.OnceFunc(func() { <-b.room })}, nil
		default:
			c.Close()
		}
	}
}

// held is a connection that takes room until it is closed.
type held struct {
	net.Conn
	leave func()
}

// NetConn returns the connection below.
func (h *held) NetConn() net.Conn { return h.Conn }

// Close closes the connection.
func (h *held) Close() error {
	defer h.leave()
	return h.Conn.Close()
}
