package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store"
)

// standby is the state that a node keeps in memory while another one owns the cell.
type standby struct {
	store   *store.Store
	log     *slog.Logger
	differs atomic.Bool // from the database's, when they were last compared
}

// follow keeps the state in memory until this node owns the cell or stops.
func (r *replica) follow() {
	if r.opts.ColdStandby {
		return
	}
	b := &standby{store: r.domain.store, log: r.log}
	r.health.follows.Store(true)
	b.measure(r.metrics)
	r.running.Go(func() { r.domain.store.Follow(r.standing) })
	r.running.Go(func() { b.keepChecking(r.standing, r.opts.StandbyCheck, r.compare) })
}

// CheckStandbys has the state that this node keeps in memory for each region that another one
// owns compared with the database's, and the outcome logged.
func (a *App) CheckStandbys() {
	for _, g := range a.regions {
		r := g.now.Load()
		if r.owns() || !r.health.follows.Load() {
			r.log.Info("no state to compare with the database's: this server owns it, or keeps none in memory", "region", g.name)
			continue
		}
		select {
		case r.compare <- struct{}{}:
		default: // it is about to be compared
		}
	}
}

// measure registers the gauges of the standby.
func (b *standby) measure(metrics prometheus.Registerer) {
	gauge := func(name, help string, value func(store.Standby) float64) {
		metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(b.store.Standby()) }))
	}
	gauge("muster_cell_standby_warm", "Whether this standby has the state in memory: 1, or reads it when it takes over: 0.", func(s store.Standby) float64 { return either(s.Warm) })
	gauge("muster_cell_standby_behind_seconds", "How long ago the state in this standby's memory was the database's.", func(s store.Standby) float64 { return s.Behind.Seconds() })
	gauge("muster_cell_standby_differs", "Whether the state in this standby's memory differed from the database's when they were last compared: 1, which is a fault of Muster, or not: 0.",
		func(store.Standby) float64 { return either(b.differs.Load()) })
}

// keepChecking compares the state with the database's as often as every, which may be 0, and
// whenever it is asked to, until ctx ends or the node takes over.
func (b *standby) keepChecking(ctx context.Context, every time.Duration, asked <-chan struct{}) {
	var due <-chan time.Time
	if every > 0 {
		tick := time.NewTicker(every)
		defer tick.Stop()
		due = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
		case <-asked:
		}
		if b.store.View() != nil { // it is the owner's
			return
		}
		b.check(ctx)
	}
}

func (b *standby) check(ctx context.Context) {
	err := b.store.CheckFollowed(ctx)
	var differs *store.DiffersError
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, store.ErrCold):
		b.log.Info("the state is not in memory yet, and was not compared with the database's")
	case errors.As(err, &differs):
		b.differs.Store(true)
		b.log.Error("the state in memory is not the database's, and is read again; please report this", "difference", err)
	case err != nil:
		b.log.Warn("the state in memory was not compared with the database's", "error", err)
	default:
		b.differs.Store(false)
		b.log.Info("the state in memory is the database's")
	}
}
