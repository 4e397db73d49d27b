package supervise

import (
	"context"
	"fmt"
	"time"
)

// Stop ends the supervisor and its run. It launches no more runs and sends SIGTERM to the
// process group of the current one and, when grace is over or ctx is done, SIGKILL; with
// a grace of 0 only SIGKILL. It returns when the end has been reported and all
// goroutines of the supervisor have ended. If the run cannot be stopped, Stop returns an
// error and detaches from the run; a successor finds it. Stop may be called at any time
// after Start, also concurrently; before Start it does nothing.
func (s *Supervisor) Stop(ctx context.Context, grace time.Duration) error {
	if !s.close() {
		return nil
	}
	var err error
	if r := s.living(); r != nil {
		if err = r.stop(ctx, grace); err != nil {
			s.cancel()
		}
	}
	<-s.done
	return err
}

// Drain launches no more runs and returns when the current one has ended by itself and all
// goroutines of the supervisor have ended. If ctx is done first, it returns ctx's error,
// and the drain continues.
func (s *Supervisor) Drain(ctx context.Context) error {
	if !s.close() {
		return nil
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Detach lets go of the run: it continues, and a successor with the same StateDir
// takes it over. It returns when all goroutines of the supervisor have ended.
func (s *Supervisor) Detach() {
	if !s.close() {
		return
	}
	s.cancel()
	<-s.done
}

// StopRun stops the run with an id as Stop does; another one follows it. It returns
// ErrNotRunning if that run has ended.
func (s *Supervisor) StopRun(ctx context.Context, id string, grace time.Duration) error {
	r := s.living()
	if r == nil || r.ID != id {
		return fmt.Errorf("stop run %s: %w", id, ErrNotRunning)
	}
	return r.stop(ctx, grace)
}

// close makes sure that no more runs are launched. It returns false if the supervisor was
// never started.
func (s *Supervisor) close() bool {
	s.mu.Lock()
	started := s.started
	s.mu.Unlock()
	if !started {
		return false
	}
	s.launching.Lock()
	defer s.launching.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return true
}
