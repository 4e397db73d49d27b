package gameserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/matchdata"
)

// Server is one game server process. Create one with New and Run it. It is safe for
// concurrent use.
type Server struct {
	opts     Options
	sdk      SDK
	handlers []Handler

	life    context.Context // of the handlers; ends when the end begins
	endLife context.CancelFunc
	turn    chan struct{} // holds a token while a handler runs
	ended   chan struct{} // closed when the state is Ended
	work    sync.WaitGroup
	filling filling

	mu      sync.Mutex // guards what follows
	state   State
	linked  bool // the SDK is connected
	begun   bool // OnCreateSession was called
	info    session.Info
	data    matchdata.Data
	reason  EndReason
	cause   error // the failure that ended it, if any
	players map[ConnectionID]string
	taken   map[string]bool // player sessions in players
	came    bool            // a player was accepted
	empty   *time.Timer     // running while empty, with EndWhenEmpty
}

// New returns a server for a game. Errors: ErrInvalid.
func New(o Options, h ...Handler) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(h) == 0 {
		return nil, fmt.Errorf("%w: a Handler is required", ErrInvalid)
	}
	s := &Server{
		opts: o, sdk: o.SDK, handlers: h, state: Created,
		turn: make(chan struct{}, 1), ended: make(chan struct{}),
		players: map[ConnectionID]string{}, taken: map[string]bool{},
	}
	s.filling.s = s
	s.life, s.endLife = context.WithCancel(context.Background())
	return s, nil
}

// State returns the state of the process.
func (s *Server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Session returns the game session; false before there is one. A backfill changes it.
func (s *Server) Session() (session.Info, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info, s.info.ID != ""
}

// Matchmaker returns the match of the game session; false if FlexMatch did not create
// it.
func (s *Server) Matchmaker() (matchdata.Data, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data, s.data.ConfigurationARN != ""
}

// TerminationTime returns when the service terminates the process, once it has
// announced that.
func (s *Server) TerminationTime() (time.Time, bool) {
	seconds, err := s.sdk.TerminationTime()
	if err != nil || seconds <= 0 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0), true
}

// Certificate returns the path of the TLS certificate, on a fleet that has one, and
// the name of the compute.
func (s *Server) Certificate(ctx context.Context) (path, computeName string, err error) {
	c, err := call(ctx, s.sdk.Certificate, nil)
	return c.CertificatePath, c.ComputeName, err
}

// move changes the state to to if it is from. It reports whether it did.
func (s *Server) move(from, to State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != from {
		return false
	}
	s.state = to
	return true
}

// spawn runs f on its own goroutine, unless the process has ended. Run waits for it.
func (s *Server) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Ended {
		s.work.Go(f)
	}
}

// handle calls f for each handler while no other handler runs. It gives up when ctx
// ends.
func (s *Server) handle(ctx context.Context, f func(Handler) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	for _, h := range s.handlers {
		if err := f(h); err != nil {
			return err
		}
	}
	return nil
}

// tell calls f for each handler that implements T, while no other handler runs.
func tell[T any](ctx context.Context, s *Server, f func(T)) {
	_ = s.handle(ctx, func(h Handler) error {
		if told, ok := h.(T); ok {
			f(told)
		}
		return nil
	})
}
