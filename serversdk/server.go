package serversdk

import (
	"context"
	"log/slog"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/serversdk/protocol"
)

// readBuffer and writeBuffer are bytes; every idle connection holds one of the
// former, and the latter are pooled.
const (
	readBuffer  = 512
	writeBuffer = 4096
)

// Server answers game server processes. Its ServeHTTP takes the upgrades that
// Match tells apart.
type Server struct {
	opts     Options
	log      *slog.Logger
	metrics  *metrics
	upgrader websocket.Upgrader
	buffers  sync.Pool // of *bytes.Buffer, for frames being handled
	refused  refusals
	warnings *limit.Warnings
	notices  notices
	handlers map[protocol.Action]handler

	ctx    context.Context // of requests; ends with Stop
	cancel context.CancelFunc

	mu       sync.Mutex
	peers    map[string]*peer // by process key
	sockets  map[string]int   // open connections by compute
	stopping bool
	requests sync.WaitGroup // requests that run; Add only through begin
	readers  sync.WaitGroup // read loops; Add only through admit
}

// New makes a server. Call Run for as long as it serves, and Stop at the end.
func New(opts Options) *Server {
	opts = opts.withDefaults()
	s := &Server{
		opts:    opts,
		log:     opts.Logger.With("component", "serversdk"),
		metrics: newMetrics(opts.Registerer),
		refused: newRefusals(opts.refusals()),
		peers:   map[string]*peer{},
		sockets: map[string]int{},
		notices: notices{byFleet: map[string]*notice{}},
	}
	s.upgrader = websocket.Upgrader{
		HandshakeTimeout: opts.WriteTimeout,
		ReadBufferSize:   readBuffer,
		WriteBufferSize:  writeBuffer,
		WriteBufferPool:  &sync.Pool{},
		CheckOrigin:      door.SameOrigin,
	}
	s.warnings = limit.NewWarnings(s.log)
	s.handlers = handlers()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// begin counts a request in, unless the server stops.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.requests.Add(1)
	return true
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// Stop lets the requests that run finish and their answers be written, as long
// as ctx allows, and then drops every connection. Requests that come meanwhile
// are not begun, and do not end the connection others are answered on. The processes are not marked as lost: the node that serves
// next gives them the grace that follows a restart.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	err := within(ctx, &s.requests)
	s.cancel()
	if err == nil {
		s.each((*conn).finish)
		err = within(ctx, &s.readers)
	}
	s.each((*conn).drop)
	s.readers.Wait()
	return err
}

// within waits for a group as long as ctx allows.
func within(ctx context.Context, group *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// each does something with every open connection.
func (s *Server) each(do func(*conn)) {
	for _, p := range s.all() {
		p.each(do)
	}
}

// Refresh asks every connected process to connect anew to an endpoint, before a
// planned move; token makes the auth token it shall show there. It tells how
// many were asked. Processes that do not come are to be asked again.
func (s *Server) Refresh(endpoint string, token func(compute.Ref) (string, error)) (asked int, err error) {
	for _, p := range s.all() {
		t, err := token(p.ref)
		if err != nil {
			return asked, err
		}
		if p.refresh(endpoint, t) {
			asked++
		}
	}
	return asked, nil
}

// Connections tells how many sockets are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, open := range s.sockets {
		n += open
	}
	return n
}

// all gives the peers that are known now.
func (s *Server) all() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*peer, 0, len(s.peers))
	for _, p := range s.peers {
		list = append(list, p)
	}
	return list
}

// peer gives the peer of a process; there is one from its first connection
// until the process is over.
func (s *Server) peer(ref compute.Ref) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[ref.Key()]
	if p == nil {
		p = newPeer(s, ref)
		s.peers[p.key] = p
	}
	return p
}

// forget lets go of a peer. The caller holds its presence and it has no connections.
func (s *Server) forget(p *peer) {
	p.gone = true
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.peers, p.key)
}
