package gameserver

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

// Run connects, reports the process ready and serves one game session to its end. It
// returns nil after an orderly end and the cause otherwise; the SDK is destroyed
// either way. When ctx ends, Run acts as if End(EndRequested) were called. It can be
// called once; then it returns ErrUsed.
func (s *Server) Run(ctx context.Context) error {
	if !s.move(Created, Initialised) {
		return ErrUsed
	}
	if err := s.init(ctx); err != nil {
		s.finish(EndReadyFailed, err, false)
		return err
	}
	defer s.sdk.Destroy()
	defer s.settle()
	stop := s.watchSignals(ctx)
	defer stop()
	if err := s.ready(ctx); err != nil && ctx.Err() == nil {
		s.begin(EndReadyFailed, fmt.Errorf("report the process ready: %w", err))
	}
	select {
	case <-ctx.Done():
		s.begin(EndRequested, nil)
		<-s.ended
	case <-s.ended:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// settle waits for running handlers, for at most DestroyGrace.
func (s *Server) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.DestroyGrace)
	defer cancel()
	if err := call0(ctx, func() error { s.work.Wait(); return nil }, nil); err != nil {
		s.opts.Logger.Error("a handler has not returned")
	}
}

// init connects within InitTimeout. A connection that comes later is closed.
func (s *Server) init(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.InitTimeout)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	err := call0(ctx, func() error { return s.sdk.Init(s.opts.Params) }, func() {
		if err := s.sdk.Destroy(); err != nil {
			s.opts.Logger.Warn("late connection not closed", "error", err)
		}
	})
	if err != nil {
		return fmt.Errorf("connect to the hosting service: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linked = true
	return nil
}

// ready reports the process ready. The state is Ready before the service knows: a
// game session may arrive before the call returns.
func (s *Server) ready(ctx context.Context) error {
	if !s.move(Initialised, Ready) {
		return ErrEnding
	}
	return call0(ctx, func() error {
		return s.sdk.Ready(server.ProcessParameters{
			OnStartGameSession:  func(g model.GameSession) { s.spawn(func() { s.start(g) }) },
			OnUpdateGameSession: func(u model.UpdateGameSession) { s.spawn(func() { s.update(u) }) },
			OnProcessTerminate:  func() { s.begin(EndTerminated, nil) },
			OnHealthCheck:       s.healthy,
			Port:                s.opts.Port,
			LogParameters:       server.LogParameters{LogPaths: s.opts.LogPaths},
		})
	}, nil)
}

// watchSignals ends the process on a signal, if Options.Signals is set.
func (s *Server) watchSignals(ctx context.Context) (stop func()) {
	if !s.opts.Signals {
		return func() {}
	}
	signalled, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(signalled, func() {
		if ctx.Err() == nil && s.State() != Ended {
			s.begin(EndSignal, nil)
		}
	})
	return stop
}

// start prepares the game session that the service assigned.
func (s *Server) start(g model.GameSession) {
	if !s.arrive(g) {
		s.opts.Logger.Error("game session ignored: the process has one or is ending", "game_session_id", g.GameSessionID)
		return
	}
	info, _ := s.Session()
	err := s.handle(s.life, func(h Handler) error { return h.OnCreateSession(s.life, info) })
	if err != nil {
		s.begin(EndCreateFailed, fmt.Errorf("create the game session: %w", err))
		return
	}
	if err := call0(s.life, s.sdk.Activate, nil); err != nil {
		s.begin(EndActivateFailed, fmt.Errorf("activate the game session: %w", err))
		return
	}
	if !s.move(Activating, Active) {
		return // it is ending
	}
	info, _ = s.Session()
	tell(s.life, s, func(h SessionCreated) { h.OnSessionCreated(s.life, info) })
	s.filling.begin()
}

// arrive records the game session; players can join from now on.
func (s *Server) arrive(g model.GameSession) bool {
	info, data, err := describe(g)
	if err != nil {
		s.opts.Logger.Warn("matchmaker data not read", "game_session_id", g.GameSessionID, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Ready {
		return false
	}
	s.state, s.begun, s.info, s.data = Activating, true, info, data
	return true
}

// update handles a change of the game session.
func (s *Server) update(m model.UpdateGameSession) {
	info, data, err := describe(m.GameSession)
	if err != nil {
		s.opts.Logger.Warn("matchmaker data not read", "game_session_id", info.ID, "error", err)
	}
	u := Update{Session: info, Reason: reasonOf(m), BackfillTicketID: m.BackfillTicketID, Match: data}
	tell(s.life, s, func(h SessionUpdater) { h.OnUpdateSession(s.life, u) })
	s.apply(u)
	tell(s.life, s, func(h SessionUpdated) { h.OnSessionUpdated(s.life, u) })
	if u.Reason == BackfillTimedOut && s.opts.Backfill.OnTimeout {
		s.filling.because("timed out", u.BackfillTicketID)
	}
}

// apply applies an update to the server's state. A backfill that found its players, or
// ended without, is over.
func (s *Server) apply(u Update) {
	switch u.Reason {
	case MatchmakingDataUpdated:
		s.mu.Lock()
		s.info, s.data = u.Session, u.Match
		s.mu.Unlock()
		s.filling.over(u.BackfillTicketID)
	case BackfillFailed, BackfillTimedOut, BackfillCancelled:
		s.filling.over(u.BackfillTicketID)
	}
}

// healthy answers the service's health check within HealthTimeout.
func (s *Server) healthy() bool {
	switch s.State() {
	case Ready, Activating, Active:
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.HealthTimeout)
	defer cancel()
	ok, err := call(ctx, func() (bool, error) {
		for _, h := range s.handlers {
			if checker, is := h.(HealthChecker); is && !checker.OnHealthCheck(ctx) {
				return false, nil
			}
		}
		return true, nil
	}, nil)
	if err != nil {
		s.opts.Logger.Error("the health check took too long: the process counts as unhealthy", "timeout", s.opts.HealthTimeout)
	}
	return ok
}
