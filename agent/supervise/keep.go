package supervise

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// former is the run that a former supervisor left, and whether it is still running.
type former struct {
	run   *run
	lives bool
}

// keep keeps the program running until the supervisor is closed or ctx ends, which
// detaches the run.
func (s *Supervisor) keep(ctx context.Context, before *former) {
	var wait time.Duration
	ok := true
	if before != nil {
		wait, ok = s.inherit(ctx, before)
	}
	for ok && s.pause(ctx, wait) && s.allowed(ctx) {
		wait, ok = s.fill(ctx)
	}
}

// pause waits. It returns false if no run is to follow.
func (s *Supervisor) pause(ctx context.Context, wait time.Duration) bool {
	if s.opts.Last {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.again:
		s.crashes = 0
		return true
	case <-s.closed:
	case <-ctx.Done():
	}
	return false
}

// askAgain is the time between checks whether a run may start.
const askAgain = time.Second

// allowed waits until a run may start. It returns false if none is to follow.
func (s *Supervisor) allowed(ctx context.Context) bool {
	for may := s.opts.May; may != nil && !may(); {
		if !s.pause(ctx, askAgain) {
			return false
		}
	}
	return true
}

// inherit watches the run of a former supervisor, or reports its end.
func (s *Supervisor) inherit(ctx context.Context, before *former) (time.Duration, bool) {
	if !before.lives {
		return s.ended(before.run, unknown()), true
	}
	s.begun(before.run)
	return s.watch(ctx, before.run)
}

// fill runs the program once. It returns the delay until the next run, or false if
// there is to be none.
func (s *Supervisor) fill(ctx context.Context) (time.Duration, bool) {
	select {
	case <-s.again: // that is now
	default:
	}
	id := s.opts.NewID()
	r, err := s.launch(id)
	switch {
	case errors.Is(err, errClosed):
		return 0, false
	case err != nil:
		s.opts.Log.Error("launch", "run_id", id, "error", err)
		if failed := s.opts.Events.Failed; failed != nil {
			failed(id, err)
		}
		return s.decide(0, false), true
	}
	s.begun(r)
	return s.watch(ctx, r)
}

func (s *Supervisor) begun(r *run) {
	s.opts.Log.Info("run started", "run_id", r.ID, "pid", r.PID, "attached", r.Attached)
	if started := s.opts.Events.Started; started != nil {
		started(r.Run)
	}
}

// watch waits for a run's end. It returns false if ctx ends first.
func (s *Supervisor) watch(ctx context.Context, r *run) (time.Duration, bool) {
	defer r.watch.close()
	end, err := r.watch.wait(ctx, r.last)
	if err != nil {
		if ctx.Err() != nil {
			s.set(nil)
			close(r.freed)
			return 0, false
		}
		s.opts.Log.Error("watch; the run is killed", "run_id", r.ID, "error", err)
		r.last()
		end = unknown()
	}
	return s.ended(r, end), true
}

// ended reports a run's end and returns the delay until the next run. The record is
// removed last, so that a successor repeats what was not reported.
func (s *Supervisor) ended(r *run, end status) time.Duration {
	exit := Exit{Known: end.known, Code: end.code, Signal: end.signal,
		Lived: time.Since(r.Started), Tail: tail(r.Stderr), Said: tail(r.Stdout)}
	s.opts.Log.Info("run ended", "run_id", r.ID, "exit", exit, "lived", exit.Lived)
	if exited := s.opts.Events.Exited; exited != nil {
		exited(r.Run, exit)
	}
	if err := s.records.remove(); err != nil {
		s.opts.Log.Error("forget run", "run_id", r.ID, "error", err)
	}
	s.set(nil)
	close(r.ended)
	if r.wasAsked() {
		s.crashes = 0
		return 0
	}
	return s.decide(exit.Lived, exit.Clean())
}

// decide returns the delay until the next run and reports the beginning of a crash
// loop.
func (s *Supervisor) decide(lived time.Duration, clean bool) time.Duration {
	next := s.opts.Restart.Next(s.crashes, lived, clean, rand.Float64())
	begins := next.Loop && next.Crashes == s.opts.Restart.withDefaults().LoopAfter
	s.crashes = next.Crashes
	if begins {
		s.opts.Log.Error("crash loop", "crashes", s.crashes)
		if looping := s.opts.Events.CrashLooping; looping != nil {
			looping(s.crashes)
		}
	}
	return next.Wait
}

// Again begins the next run at once, if the supervisor pauses after crashes, and forgets these:
// what runs has changed.
func (s *Supervisor) Again() {
	select {
	case s.again <- struct{}{}:
	default: // it is going to begin anyway
	}
}
