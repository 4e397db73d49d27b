package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/wake"
)

// replica is what a node has of one region: the state of its cell in memory, whether this
// node owns the cell or stands by, and what serves it. It is opened and settled once; leave
// ends it, and everything that it knows is forgotten with it.
type replica struct {
	opts      *Options
	node      *App
	log       *slog.Logger
	registry  *prometheus.Registry  // of this replica alone
	metrics   prometheus.Registerer // adds the region, where there are several
	domain    *domain
	member    *member
	health    *health
	local     local
	confirmed *confirmed
	requests  *requests
	handler   http.Handler // set by open or, if the state is not shared, by settle

	standing    context.Context // canceled when the replica shall end
	endStanding context.CancelFunc
	compare     chan struct{} // has the state of a standby compared with the database's
	over        chan struct{} // closed when the replica cannot go on, or shall make room for another
	overOnce    sync.Once
	failed      error        // why it cannot go on; may be read once over is closed
	served      atomic.Bool  // it had the state and answered with it
	copied      atomic.Int64 // when what is shared was last that of the home region, or was taken over: Unix ns, 0 before
	running     sync.WaitGroup

	mu     sync.Mutex // guards what follows: the lifecycle
	phase  phase
	doors  *doors // nil until this node has the state
	cancel context.CancelFunc
	ended  bool // end was called
}

// newReplica returns a replica for the options of a region; nothing runs yet and no database
// is used.
func newReplica(a *App, o *Options) (*replica, error) {
	r := &replica{opts: o, node: a, log: o.Logger, registry: prometheus.NewRegistry(), requests: newRequests(), compare: make(chan struct{}, 1), over: make(chan struct{})}
	r.metrics = r.registry
	if o.several() {
		r.metrics = prometheus.WrapRegistererWith(prometheus.Labels{"region": o.Region}, r.registry)
	}
	r.standing, r.endStanding = context.WithCancel(context.Background())
	r.confirmed = openConfirmed(o)
	r.member = &member{opts: o, name: a.name, confirmed: r.confirmed.here, secret: a.masterKey.NodeSecret()}
	var err error
	r.domain, err = newDomain(o, o.driver(), a.masterKey.Master, &front{a.site, r.metrics, a.telemetry.Tracer(o.Region), r.confirmed.last, &homeClient{a}})
	if err != nil {
		return nil, err
	}
	r.confirmed.store, r.confirmed.member = r.domain.store, r.member
	r.measureLevel(r.metrics)
	r.health = &health{member: r.member, store: r.domain.store, patience: o.LeaseTTL}
	if !o.isHome() {
		r.measureCopy(r.metrics)
	}
	return r, nil
}

// open opens the state or, where nodes share it, makes the replica a part of its cell: its
// handler then answers, if only by waiting for an owner. ctx applies only to the opening.
func (r *replica) open(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != phaseNew {
		return errors.New("open: the replica was opened or stopped before")
	}
	r.phase = phaseStarted
	if !r.opts.usesPostgres() {
		return r.openState(ctx)
	}
	r.member.spread = r.node.spread
	if err := r.member.open(ctx, r.node.site, r.metrics); err != nil {
		return err
	}
	r.handler = r.member.gate
	return nil
}

// settle makes the replica serve its state, or stand by if another node owns the cell. ctx
// applies only to the start.
func (r *replica) settle(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.phase != phaseStarted:
		return context.Canceled
	case r.member.joined():
		return r.join(ctx)
	}
	if err := r.work(ctx); err != nil {
		return err
	}
	r.handler = r.routes()
	return r.domain.store.Raise(ctx, r.opts.level()) // no other node shares the state
}

// serves begins what waits until the node is ready.
func (r *replica) serves() {
	r.health.serves.Store(true)
	r.running.Go(func() { r.confirmed.keep(r.standing) })
}

// work opens the doors of a node that has the state, and starts everything behind them. r.mu
// must be held.
func (r *replica) work(ctx context.Context) error {
	at := r.node.site
	if r.opts.Beacon {
		at.openBeacon()
	}
	doors, err := openDoors(r.domain, at, r.opts, r.metrics)
	if err != nil {
		return err
	}
	r.doors = doors
	r.serverRoutes(doors.admin)
	if err := r.domain.firstKey(ctx, r.opts); err != nil {
		return err
	}
	if err := r.domain.notices.Open(ctx); err != nil {
		return err
	}
	if err := r.domain.identity.Open(ctx); err != nil {
		return err
	}
	r.local.open(r)
	digest := ""
	if !r.opts.isHome() {
		digest = r.copyAtTakeover(ctx)
	}
	r.running.Go(r.warnOfMissingBuilds) // a takeover does not wait for it
	r.runLoops(digest)
	r.served.Store(true)
	return nil
}

// warnOfMissingBuilds warns if files of builds are not there, which hosts would find out one by one.
func (r *replica) warnOfMissingBuilds() {
	if missing := r.domain.missingBuilds(); missing != nil {
		r.log.Warn("files of builds are not on this machine, so hosts cannot fetch them; copy them from where the server was before", "builds", missing, "to", r.opts.blobDir())
	}
}

// openState opens the store and informs the domain that the sockets of the previous node
// are gone.
func (r *replica) openState(ctx context.Context) error {
	if err := r.domain.store.Open(ctx); err != nil {
		return err
	}
	if err := adopt(ctx, r.domain, r.node.masterKey); err != nil {
		return err
	}
	if err := r.domain.origins.check(ctx, r.opts.Region, r.opts.several()); err != nil {
		return err
	}
	n, err := r.domain.computes.Restart(ctx)
	if err != nil {
		return fmt.Errorf("take over game server processes: %w", err)
	}
	if n > 0 {
		r.log.Info("game server processes have a grace to reconnect", "processes", n)
	}
	return nil
}

// warnOfDatabase logs the risks of the database, each time that this node begins to own
// the cell.
func (r *replica) warnOfDatabase(ctx context.Context) {
	p, ok := r.opts.driver().(*postgres.Driver)
	if !ok || !r.opts.isHome() {
		return
	}
	risks, err := p.Risks(ctx)
	if err != nil {
		r.log.Debug("the database was not looked at", "error", err)
	}
	for _, risk := range risks {
		r.log.Warn(risk)
	}
}

// runLoops starts the background work, which runs until leave. digest is that of what was
// copied from the home region.
func (r *replica) runLoops(digest string) {
	ctx, cancel := context.WithCancel(r.domain.tracer.With(context.Background()))
	r.cancel = cancel
	reloaded := wake.NewNudge()
	r.domain.store.OnReload(reloaded.Send)
	for _, loop := range slices.Concat(r.domain.loops(), r.doors.loops()) {
		r.running.Go(func() { loop(ctx) })
	}
	if beacon := r.node.site.beacon; beacon != nil && r.opts.Beacon {
		r.running.Go(func() { _ = beacon.Serve(ctx) }) // a socket that fails is measured as loss
	}
	if !r.opts.isHome() {
		r.running.Go(func() { r.keepCopying(ctx, digest) })
	}
	r.running.Go(func() { r.resync(ctx, reloaded) })
	r.running.Go(func() { r.endWhenLost(ctx, r.domain.store.Lost()) })
	r.running.Go(func() { r.warnOfDatabase(ctx) })
}

// resync makes the domain check its sockets after each reload of the store.
func (r *replica) resync(ctx context.Context, reloaded <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-reloaded:
		}
		r.domain.matches.Resync()
		if err := r.domain.computes.Resync(ctx); err != nil && ctx.Err() == nil {
			r.log.Error("connections not compared with the state read again", "error", err)
		}
	}
}

// endWhenLost ends the replica when another node has taken the cell.
func (r *replica) endWhenLost(ctx context.Context, lost <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-lost:
		r.fail(errOvertaken)
	}
}

var errOvertaken = errors.New("another node has taken the cell; this one can change nothing any more")

// fail marks the replica as one that cannot go on.
func (r *replica) fail(err error) {
	r.health.serves.Store(false)
	r.overOnce.Do(func() {
		r.failed = err
		close(r.over)
	})
}

// giveWay marks the replica as one that shall make room for another node's.
func (r *replica) giveWay() {
	r.overOnce.Do(func() { close(r.over) })
}

// owns reports whether this node has the state, and started to serve it.
func (r *replica) owns() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doors != nil
}

// leave ends the replica while the node serves others: requests in flight finish first.
func (r *replica) leave(ctx context.Context) error {
	r.halt()
	r.requests.close()
	r.shed(ctx)
	draining, cancel := context.WithTimeout(ctx, r.opts.DrainTimeout)
	defer cancel()
	drained := r.requests.wait(draining)
	return errors.Join(drained, r.end(ctx))
}

// halt ends a takeover in progress, and what could run beside the server.
func (r *replica) halt() {
	r.local.stop()
	r.endStanding() // ends a takeover in progress, which holds the mutex
	r.health.serves.Store(false)
}

// shed ends what would never end by itself: answers that are streams, and requests that wait
// for an owner.
func (r *replica) shed(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == phaseStopped {
		return
	}
	r.phase = phaseStopped
	if r.doors != nil {
		r.doors.endStreams(ctx)
	}
	if r.member.joined() {
		r.member.gate.Close()
	}
}

// end ends everything in the reverse order of the start, once no requests are in flight, and
// makes what was accepted durable. Game server processes keep running; they reconnect to the
// next owner.
func (r *replica) end(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.ended = true
	if r.cancel != nil {
		r.cancel()
	}
	r.running.Wait()
	var served error
	if r.doors != nil { // after the loops, which send game servers what only this node can
		served = r.doors.close(ctx)
		r.domain.flush()
	}
	return errors.Join(served, r.domain.store.Close(), r.member.leave(ctx))
}
