package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Stop ends the group and its runs: no more are launched, each living one is sent
// SIGTERM to its process group and, once grace is over or ctx is done, SIGKILL;
// with a grace of 0 SIGKILL alone.
// It returns when all ends were reported and nothing of the group works any more.
// The error names runs that could not be stopped; they are let go, and a
// successor finds them. Stop may be called at any time after Start, by several
// callers, and does nothing before it.
func (g *Group) Stop(ctx context.Context, grace time.Duration) error {
	if !g.close() {
		return nil
	}
	var mu sync.Mutex
	var errs []error
	var stops sync.WaitGroup
	for _, r := range g.living() {
		stops.Go(func() {
			if err := r.stop(ctx, grace); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	stops.Wait()
	if len(errs) > 0 {
		g.cancel()
	}
	<-g.done
	return errors.Join(errs...)
}

// Drain launches no more runs and returns when the living ones have ended by
// themselves and nothing of the group works any more. If ctx is done first it
// gives ctx's error; the draining goes on.
func (g *Group) Drain(ctx context.Context) error {
	if !g.close() {
		return nil
	}
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Detach lets go of the runs: they go on, and a successor on the same StateDir
// takes them over. It returns when nothing of the group works any more.
func (g *Group) Detach() {
	if !g.close() {
		return
	}
	g.cancel()
	<-g.done
}

// StopRun stops one run as Stop does; its slot is filled again. It gives
// ErrNotRunning if no run has the id.
func (g *Group) StopRun(ctx context.Context, id string, grace time.Duration) error {
	g.mu.Lock()
	r := g.runs[id]
	g.mu.Unlock()
	if r == nil {
		return fmt.Errorf("stop run %s: %w", id, ErrNotRunning)
	}
	return r.stop(ctx, grace)
}

// close ends the launching; false if the group was never started.
func (g *Group) close() bool {
	g.mu.Lock()
	started := g.started
	g.mu.Unlock()
	if !started {
		return false
	}
	g.gate.Lock()
	defer g.gate.Unlock()
	select {
	case <-g.closed:
	default:
		close(g.closed)
	}
	return true
}
