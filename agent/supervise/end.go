package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Stop ends the group and its runs: no more are launched, each living one is sent
// SIGTERM to its process group and, when grace is over or ctx is done, SIGKILL; with
// a grace of 0 only SIGKILL. It returns when all ends have been reported and all
// goroutines of the group have ended. The error names runs that could not be stopped;
// they are let go, and a successor finds them. Stop may be called at any time after
// Start, by several callers, and does nothing before it.
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
// themselves and all goroutines of the group have ended. If ctx is done first, it
// returns ctx's error; the draining continues.
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

// Detach lets go of the runs: they continue, and a successor with the same StateDir
// takes them over. It returns when all goroutines of the group have ended.
func (g *Group) Detach() {
	if !g.close() {
		return
	}
	g.cancel()
	<-g.done
}

// StopRun stops one run as Stop does; its slot is filled again. It returns
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

// close ends the launching. It returns false if the group was never started.
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
