package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// phase is the phase of life of an app or a replica; it only moves forward.
type phase int

const (
	phaseNew phase = iota
	phaseStarted
	phaseStopped
)

// Run starts an app, prints the ready line, and stops when ctx ends or the app cannot go
// on. It returns nil after a requested stop.
func Run(ctx context.Context, o Options) error {
	a, err := New(o)
	if err != nil {
		return err
	}
	if err := a.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it was ready
		}
		return err
	}
	fmt.Fprintf(a.opts.Out, "ready %s\n", a.URL())
	for _, g := range a.regions {
		if r := g.now.Load(); r.owns() { // a standby shows nothing yet
			r.local.start()
		}
	}
	for waiting := true; waiting; {
		select {
		case <-o.Hangup:
			a.Reload(ctx)
		case <-o.Compare:
			a.CheckStandbys()
		case <-ctx.Done():
			waiting = false
		case <-a.Done():
			waiting = false
		}
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.DrainTimeout+stopMargin)
	defer cancel()
	return errors.Join(a.Err(), a.Stop(stopping))
}

// stopMargin is the time for the rest of a stop, in addition to draining.
const stopMargin = 20 * time.Second

// Start opens the state, begins to listen and serves. When it returns nil the app is
// ready. After an error, or once stopped, it cannot be started again. ctx applies only to
// the start.
func (a *App) Start(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase != phaseNew {
		return fmt.Errorf("start: the app was started or stopped before")
	}
	a.phase = phaseStarted
	if err := a.start(ctx); err != nil {
		return errors.Join(err, a.tearDown(ctx))
	}
	for _, g := range a.regions {
		r := g.now.Load()
		r.serves()
		if r.owns() {
			r.log.Info("ready", "url", a.site.base, "region", g.name, "store", a.opts.storeKind(), "operations", len(r.doors.api.Handled()))
		} else {
			r.log.Info("standing by", "url", a.site.base, "region", g.name)
		}
		a.keeping.Go(func() { a.keep(g) })
	}
	if a.spread != nil {
		a.keeping.Go(func() { a.spread.Run(a.standing) })
	}
	return nil
}

// keep looks after a region until the app stops. The app cannot go on without its only
// region: its supervisor starts it again.
func (a *App) keep(g *region) {
	if a.opts.several() {
		g.keep(a.standing)
		return
	}
	r := g.now.Load()
	select {
	case <-a.standing.Done():
	case <-r.over:
		a.fail(r.failed)
	}
}

// start does each step of the start; tearDown undoes those of a failed start.
func (a *App) start(ctx context.Context) error {
	raiseFileLimit(a.log)
	if err := a.telemetry.Start(ctx); err != nil {
		return err
	}
	if a.opts.MetricsListen != "" {
		if err := a.metrics.open(&a.opts); err != nil {
			return err
		}
		a.running.Go(func() { a.failIf(a.metrics.serve()) })
	}
	if a.opts.usesPostgres() {
		return a.startShared(ctx)
	}
	if err := a.each(func(r *replica) error { return r.open(ctx) }); err != nil {
		return err
	}
	if err := a.site.open(a.forwarded, a.metrics.registry); err != nil {
		return err
	}
	if err := a.each(func(r *replica) error { return r.settle(ctx) }); err != nil {
		return err
	}
	a.answer()
	a.serve(a.front())
	return nil
}

// answer lets the regions answer what this node itself asks them.
func (a *App) answer() {
	for _, g := range a.regions {
		close(g.answers)
	}
}

// startShared starts a node of a cell, which serves immediately: by itself what it owns, and
// the rest by forwarding to the owners as a standby.
func (a *App) startShared(ctx context.Context) error {
	if err := a.site.open(a.forwarded, a.metrics.registry); err != nil {
		return err
	}
	a.warnOfNodeAddress()
	if err := a.name.take(); err != nil {
		return err
	}
	if a.opts.several() {
		a.spread = a.newSpread()
	}
	if err := a.each(func(r *replica) error { return r.open(ctx) }); err != nil {
		return err
	}
	a.answer()
	a.serve(a.front())
	member := a.home().member
	if err := member.gate.ReachesItself(ctx); err != nil {
		a.log.Warn("this node does not reach itself at its node address, so other nodes may not either; they forward to it there when it owns the cell", "address", member.address, "error", err)
	}
	return a.each(func(r *replica) error {
		err := r.settle(ctx)
		if a.opts.several() && errors.Is(err, errOvertaken) {
			r.fail(err) // keep replaces it, as it does after the start
			return nil
		}
		return err
	})
}

// each calls f for the replica of each region, until one fails.
func (a *App) each(f func(*replica) error) error {
	for _, g := range a.regions {
		err := f(g.now.Load())
		switch {
		case err == nil:
		case a.opts.several():
			return fmt.Errorf("region %s: %w", g.name, err)
		default:
			return err
		}
	}
	return nil
}

// failIf marks the app as one that has to be stopped, if there is an error.
func (a *App) failIf(err error) {
	if err != nil {
		a.fail(err)
	}
}

// fail marks the app as one that has to be stopped.
func (a *App) fail(err error) {
	a.failOnce.Do(func() {
		a.log.Error("stopping", "error", err)
		go func() { // Start or Stop may hold the mutex
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.phase == phaseStarted {
				a.failed = err
				close(a.done)
			}
		}()
	})
}

// serve begins to serve on the listener.
func (a *App) serve(h http.Handler) {
	server := a.site.server(h)
	a.server = server
	a.running.Go(func() {
		if err := server.Serve(a.site.listener); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("listen on %s: %w", a.opts.Listen, err))
		}
	})
}

// Stop lets requests in flight finish, ends everything in the reverse order of the start
// and makes what was accepted durable. ctx limits the waiting. Game server processes keep
// running; they reconnect to the next start. Stopping a second time does nothing.
func (a *App) Stop(ctx context.Context) error {
	for _, g := range a.regions {
		g.now.Load().halt()
	}
	a.endStanding()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase == phaseStopped {
		return nil
	}
	return a.tearDown(ctx)
}

// tearDown ends whatever runs. a.mu must be held.
func (a *App) tearDown(ctx context.Context) error {
	a.phase = phaseStopped
	a.endStanding()
	a.keeping.Wait()
	errs := make([]error, len(a.regions)+1)
	replicas := make([]*replica, len(a.regions))
	for i, g := range a.regions {
		replicas[i] = g.now.Load()
		replicas[i].halt()
		replicas[i].shed(ctx)
	}
	errs[len(a.regions)] = a.drain(ctx)
	a.telemetry.CloseMetrics(ctx)
	a.metrics.close()
	var ending sync.WaitGroup
	for i, r := range replicas {
		ending.Go(func() { errs[i] = r.end(ctx) })
	}
	ending.Wait()
	a.telemetry.CloseTraces(ctx)
	a.running.Wait()
	a.name.release()
	if a.failed == nil {
		close(a.done)
	}
	a.log.Info("stopped")
	return errors.Join(errs...)
}

// drain stops accepting and waits for the requests in flight.
func (a *App) drain(ctx context.Context) error {
	if a.server == nil {
		if a.site.listener != nil {
			return a.site.listener.Close()
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.opts.DrainTimeout)
	defer cancel()
	if err := a.server.Shutdown(ctx); err != nil {
		a.server.Close()
		return fmt.Errorf("requests were cut off after %s: %w", a.opts.DrainTimeout, err)
	}
	return nil
}
