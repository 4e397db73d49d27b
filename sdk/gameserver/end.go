package gameserver

import (
	"context"
	"time"
)

// End ends the process in order: no more players are admitted, this server's own
// backfill is stopped, OnDestroySession is called, and the service is notified,
// whatever the handlers return. End waits until that is done or ctx ends; in the
// latter case the process still ends. A second call waits for the same end.
func (s *Server) End(ctx context.Context, r EndReason) error {
	s.begin(r, nil)
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin starts the end, once.
func (s *Server) begin(r EndReason, cause error) {
	s.mu.Lock()
	if s.state == Ending || s.state == Ended {
		s.mu.Unlock()
		return
	}
	connected, begun := s.linked, s.begun // without a connection there is nobody to notify
	s.state, s.reason, s.cause = Ending, r, cause
	if s.empty != nil {
		s.empty.Stop()
	}
	s.mu.Unlock()
	s.opts.Logger.Info("the game server ends", "reason", r, "cause", cause)
	s.endLife()
	if !connected {
		s.finish(r, cause, false)
		return
	}
	s.work.Go(func() {
		until, cancel := context.WithTimeout(context.Background(), s.grace(r))
		defer cancel()
		s.filling.stop(until)
		if begun {
			s.destroy(until, r)
		}
		s.finish(r, cause, true)
	})
}

// grace returns how long the game may take to end.
func (s *Server) grace(r EndReason) time.Duration {
	at, ok := s.TerminationTime()
	if r != EndTerminated || !ok {
		return s.opts.DestroyGrace
	}
	return max(min(s.opts.DestroyGrace, time.Until(at)-spare), 0)
}

// destroy calls the handlers' OnDestroySession. It does not wait for one that exceeds
// its time.
func (s *Server) destroy(ctx context.Context, r EndReason) {
	err := call0(ctx, func() error {
		return s.handle(ctx, func(h Handler) error {
			if destroyer, ok := h.(SessionDestroyer); ok {
				if err := destroyer.OnDestroySession(ctx, r); err != nil {
					s.opts.Logger.Error("the game session was not ended in order", "error", err)
				}
			}
			return nil
		})
	}, nil)
	if err != nil {
		s.opts.Logger.Error("the game session took too long to end", "error", err)
	}
}

// finish notifies the service and all waiting callers of the end.
func (s *Server) finish(r EndReason, cause error, connected bool) {
	if connected {
		if err := s.sdk.Ending(); err != nil {
			s.opts.Logger.Error("the service was not told of the end", "error", err)
		} else if s.hosted() {
			s.tellDestroyed()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Ended {
		return
	}
	s.state, s.reason, s.cause = Ended, r, cause
	close(s.ended)
}

func (s *Server) tellDestroyed() {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.DestroyGrace)
	defer cancel()
	tell(ctx, s, func(h SessionDestroyed) { h.OnSessionDestroyed(ctx) })
}

func (s *Server) hosted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// EndReason returns why the process is ending or has ended; "" before.
func (s *Server) EndReason() EndReason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}
