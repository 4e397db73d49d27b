package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/wake"
)

// phase is the app's phase of life; it only moves forward.
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
	a.mu.Lock()
	if a.doors != nil { // a standby shows nothing yet
		a.local.start()
	}
	a.mu.Unlock()
	for waiting := true; waiting; {
		select {
		case <-o.Hangup:
			a.Reload(ctx)
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
	a.health.serves.Store(true)
	a.running.Go(func() { a.confirmed.keep(a.standing) })
	if a.doors == nil {
		a.log.Info("standing by", "url", a.site.base)
		return nil
	}
	a.log.Info("ready", "url", a.site.base, "store", a.opts.storeKind(), "operations", len(a.doors.api.Handled()))
	return nil
}

// start does each step of the start; tearDown undoes those of a failed start.
func (a *App) start(ctx context.Context) error {
	raiseFileLimit(a.log)
	if a.opts.MetricsListen != "" {
		if err := a.metrics.open(&a.opts); err != nil {
			return err
		}
		a.running.Go(func() { a.failIf(a.metrics.serve()) })
	}
	if a.opts.usesPostgres() {
		return a.join(ctx)
	}
	if err := a.openState(ctx); err != nil {
		return err
	}
	if err := a.site.open(a.member.forwarded, a.metrics.registry); err != nil {
		return err
	}
	if err := a.work(ctx); err != nil {
		return err
	}
	if err := a.domain.store.Raise(ctx, a.opts.level()); err != nil { // no other node shares the state
		return err
	}
	a.serve(a.routes())
	return nil
}

// work opens the doors of a node that has the state, and starts everything behind them.
func (a *App) work(ctx context.Context) error {
	a.site.openBeacon()
	doors, err := openDoors(a.domain, a.site, &a.opts, a.metrics.registry)
	if err != nil {
		return err
	}
	a.doors = doors
	a.serverRoutes(doors.admin)
	if err := a.domain.firstKey(ctx, &a.opts); err != nil {
		return err
	}
	if err := a.domain.notices.Open(ctx); err != nil {
		return err
	}
	if err := a.domain.identity.Open(ctx); err != nil {
		return err
	}
	a.local.open(a)
	a.runLoops()
	return nil
}

// openState opens the store and informs the domain that the sockets of the previous node
// are gone.
func (a *App) openState(ctx context.Context) error {
	if err := a.domain.store.Open(ctx); err != nil {
		return err
	}
	if err := adopt(ctx, a.domain, &a.masterKey); err != nil {
		return err
	}
	n, err := a.domain.computes.Restart(ctx)
	if err != nil {
		return fmt.Errorf("take over game server processes: %w", err)
	}
	if n > 0 {
		a.log.Info("game server processes have a grace to reconnect", "processes", n)
	}
	return nil
}

// warnOfDatabase logs the risks of the database, each time that this node begins to own
// the cell.
func (a *App) warnOfDatabase(ctx context.Context) {
	p, ok := a.opts.driver().(*postgres.Driver)
	if !ok {
		return
	}
	risks, err := p.Risks(ctx)
	if err != nil {
		a.log.Debug("the database was not looked at", "error", err)
	}
	for _, risk := range risks {
		a.log.Warn(risk)
	}
}

// runLoops starts the background work, which runs until tearDown.
func (a *App) runLoops() {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	reloaded := wake.NewNudge()
	a.domain.store.OnReload(reloaded.Send)
	for _, loop := range slices.Concat(a.domain.loops(), a.doors.loops()) {
		a.running.Go(func() { loop(ctx) })
	}
	if a.site.beacon != nil {
		a.running.Go(func() { _ = a.site.beacon.Serve(ctx) }) // a socket that fails is measured as loss
	}
	a.running.Go(func() { a.resync(ctx, reloaded) })
	a.running.Go(func() { a.endWhenLost(ctx, a.domain.store.Lost()) })
	a.running.Go(func() { a.warnOfDatabase(ctx) })
}

// resync makes the domain check its sockets after each reload of the store.
func (a *App) resync(ctx context.Context, reloaded <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-reloaded:
		}
		a.domain.matches.Resync()
		if err := a.domain.computes.Resync(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("connections not compared with the state read again", "error", err)
		}
	}
}

// endWhenLost ends the app when another node has taken the cell.
func (a *App) endWhenLost(ctx context.Context, lost <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-lost:
		a.fail(errOvertaken)
	}
}

var errOvertaken = errors.New("another node has taken the cell; this one can change nothing any more")

// failIf marks the app as one that has to be stopped, if there is an error.
func (a *App) failIf(err error) {
	if err != nil {
		a.fail(err)
	}
}

// fail marks the app as one that has to be stopped.
func (a *App) fail(err error) {
	a.health.serves.Store(false)
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
	a.local.stop()
	a.endStanding() // ends a takeover in progress, which holds the mutex
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
	a.health.serves.Store(false)
	a.endStanding()
	drained := a.drain(ctx)
	if a.cancel != nil {
		a.cancel()
	}
	a.metrics.close()
	a.running.Wait()
	var served error
	if a.doors != nil { // after the loops, which send game servers what only this node can
		served = a.doors.close(ctx)
		a.domain.flushAudit()
	}
	err := errors.Join(drained, served, a.domain.store.Close(), a.member.leave(ctx))
	if a.failed == nil {
		close(a.done)
	}
	a.log.Info("stopped")
	return err
}

// drain stops accepting and waits for the requests in flight, but not for streams, which
// end immediately.
func (a *App) drain(ctx context.Context) error {
	if a.doors != nil {
		a.doors.endStreams(ctx)
	}
	if a.member.joined() {
		a.member.gate.Close()
	}
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
