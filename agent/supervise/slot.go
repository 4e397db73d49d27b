package supervise

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// slotKeeper keeps one slot filled. Only its goroutine uses it.
type slotKeeper struct {
	group   *Group
	slot    int
	crashes int // consecutive ones
}

// former is a run that a former supervisor left in a slot, and whether it still
// lives.
type former struct {
	run   *run
	lives bool
}

// keep fills the slot until the group is closed or ctx ends, which detaches the run.
func (s *slotKeeper) keep(ctx context.Context, before *former) {
	wait := time.Duration(s.slot) * s.group.opts.Stagger
	if before != nil {
		next, ok := s.inherit(ctx, before)
		if !ok {
			return
		}
		wait = next
	}
	for s.pause(ctx, wait) && s.allowed(ctx) {
		next, ok := s.fill(ctx)
		if !ok {
			return
		}
		wait = next
	}
}

// pause waits. It returns false if the slot is not to be filled any more.
func (s *slotKeeper) pause(ctx context.Context, wait time.Duration) bool {
	if s.slot >= s.group.opts.Count {
		return false // a former supervisor had more slots
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.group.closed:
	case <-ctx.Done():
	}
	return false
}

// askAgain is the time between checks whether a run may start.
const askAgain = time.Second

// allowed waits until a run may start. It returns false if the slot is not to be
// filled any more.
func (s *slotKeeper) allowed(ctx context.Context) bool {
	for may := s.group.opts.May; may != nil && !may(); {
		if !s.pause(ctx, askAgain) {
			return false
		}
	}
	return true
}

// inherit watches a run of a former supervisor, or reports its end.
func (s *slotKeeper) inherit(ctx context.Context, before *former) (time.Duration, bool) {
	if !before.lives {
		return s.ended(before.run, unknown()), true
	}
	s.started(before.run)
	return s.watch(ctx, before.run)
}

// fill runs the program once. It returns the delay until the next run, or false if
// there is to be none.
func (s *slotKeeper) fill(ctx context.Context) (time.Duration, bool) {
	id := s.group.opts.NewID()
	r, err := s.group.launch(s.slot, id)
	switch {
	case errors.Is(err, errClosed):
		return 0, false
	case err != nil:
		s.group.opts.Log.Error("launch", "slot", s.slot, "run_id", id, "error", err)
		if failed := s.group.opts.Events.Failed; failed != nil {
			failed(s.slot, id, err)
		}
		return s.decide(0, false), true
	}
	s.started(r)
	return s.watch(ctx, r)
}

func (s *slotKeeper) started(r *run) {
	s.group.opts.Log.Info("run started", "slot", r.Slot, "run_id", r.ID, "pid", r.PID, "attached", r.Attached)
	if started := s.group.opts.Events.Started; started != nil {
		started(r.Run)
	}
}

// watch waits for a run's end. It returns false if ctx ends first.
func (s *slotKeeper) watch(ctx context.Context, r *run) (time.Duration, bool) {
	defer r.watch.close()
	end, err := r.watch.wait(ctx, r.last)
	if err != nil {
		if ctx.Err() != nil {
			s.group.forget(r.ID)
			close(r.freed)
			return 0, false
		}
		s.group.opts.Log.Error("watch; the run is killed", "run_id", r.ID, "error", err)
		r.last()
		end = unknown()
	}
	return s.ended(r, end), true
}

// ended reports a run's end and returns the delay until the next run. The record is
// removed last, so that a successor repeats what was not reported.
func (s *slotKeeper) ended(r *run, end status) time.Duration {
	exit := Exit{Known: end.known, Code: end.code, Signal: end.signal,
		Lived: time.Since(r.Started), Tail: tail(r.Stderr)}
	s.group.opts.Log.Info("run ended", "slot", r.Slot, "run_id", r.ID, "exit", exit, "lived", exit.Lived)
	if exited := s.group.opts.Events.Exited; exited != nil {
		exited(r.Run, exit)
	}
	if err := s.group.records.remove(r.Slot); err != nil {
		s.group.opts.Log.Error("forget run", "run_id", r.ID, "error", err)
	}
	s.group.forget(r.ID)
	close(r.ended)
	if r.wasAsked() {
		s.crashes = 0
		return 0
	}
	return s.decide(exit.Lived, exit.Clean())
}

// decide returns the delay until the next run and reports the beginning of a crash
// loop.
func (s *slotKeeper) decide(lived time.Duration, clean bool) time.Duration {
	next := s.group.opts.Restart.Next(s.crashes, lived, clean, rand.Float64())
	begins := next.Loop && next.Crashes == s.group.opts.Restart.withDefaults().LoopAfter
	s.crashes = next.Crashes
	if begins {
		s.group.opts.Log.Error("crash loop", "slot", s.slot, "crashes", s.crashes)
		if looping := s.group.opts.Events.CrashLooping; looping != nil {
			looping(s.slot, s.crashes)
		}
	}
	return next.Wait
}
