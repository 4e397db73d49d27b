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

// readBuffer and writeBuffer are in bytes. Every idle connection holds one read buffer, and
// what does not fit into it is read without it; write buffers are pooled.
const (
	readBuffer  = 272
	writeBuffer = 4096
)

// Server answers game server processes. Its ServeHTTP accepts the upgrades that Match
// recognizes.
type Server struct {
	opts     Options
	log      *slog.Logger
	metrics  *metrics
	upgrader websocket.Upgrader
	buffers  sync.Pool // of *bytes.Buffer, for frames being handled
	poller   poller
	refused  refusals
	warnings *limit.Warnings
	notices  notices
	handlers map[protocol.Action]handler

	ctx    context.Context // of requests; canceled by Stop
	cancel context.CancelFunc

	mu       sync.Mutex
	peers    map[string]*peer // by process key
	sockets  map[string]int   // open connections by compute
	stopping bool
	requests sync.WaitGroup // running requests; Add only through begin
	readers  sync.WaitGroup // read loops; Add only through admit
}

// New returns a server. Run must be called while it serves, and Stop at the end.
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
		WriteBufferSize:  writeBuffer,
		WriteBufferPool:  &sync.Pool{},
		CheckOrigin:      door.SameOrigin,
	}
	s.warnings = limit.NewWarnings(s.log)
	s.handlers = handlers()
	s.ctx, s.cancel = context.WithCancel(opts.Tracer.With(context.Background()))
	return s
}

// begin counts a request as running, and reports false if the server is stopping.
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

// Stop lets running requests finish and their answers be written, as long as ctx allows,
// and then drops every connection. Requests that come in the meantime are not begun, and
// do not end the connection on which others are answered. The processes are not marked
// as lost: the node that serves next gives them the grace that follows a restart.
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
	s.poller.close()
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

// each calls do for every open connection.
func (s *Server) each(do func(*conn)) {
	for _, p := range s.all() {
		p.each(do)
	}
}

// Refresh tells every connected process to connect anew to an endpoint, before a planned
// move; token returns the auth token for it to use there. asked is how many processes
// were told. Those that do not come are to be told again.
func (s *Server) Refresh(endpoint string, token func(compute.Ref) (string, error)) (asked int, err error) {
	for _, p := range s.all() {
		t, err := token(p.ref())
		if err != nil {
			return asked, err
		}
		if p.refresh(endpoint, t) {
			asked++
		}
	}
	return asked, nil
}

// Connections returns how many sockets are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, open := range s.sockets {
		n += open
	}
	return n
}

// all returns the current peers.
func (s *Server) all() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*peer, 0, len(s.peers))
	for _, p := range s.peers {
		list = append(list, p)
	}
	return list
}

// peer returns the peer of a process. It exists from the process's first connection
// until the process has ended.
func (s *Server) peer(ref compute.Ref) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ref.Key()
	p := s.peers[key]
	if p == nil {
		p = &peer{s: s, key: key}
		s.peers[key] = p
	}
	return p
}

// forget deletes a peer. It must have no connections, and its presence must be held.
func (s *Server) forget(p *peer) {
	p.gone = true
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.peers, p.key)
}
