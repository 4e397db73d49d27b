package backend

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Parameters of the reconciler.
const (
	reconcileEvery = 15 * time.Second // since events may be lost
	lookAtOnce     = 200              // rows that one transaction updates
)

// runReconciler looks at all open rows immediately, for what happened while no watcher
// ran, and then at intervals; it also stops what expel marked. Rounds never overlap: a
// long one delays the next.
func (b *Backend) runReconciler(ctx context.Context) {
	every := time.NewTicker(reconcileEvery)
	defer every.Stop()
	b.reconcile(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.expelled:
			b.stopExpelled(ctx)
		case <-every.C:
			b.reconcile(ctx)
		}
	}
}

// reconcile looks at all open rows, and deletes what has expired.
func (b *Backend) reconcile(ctx context.Context) {
	inBatches(ctx, b, b.t.tickets, b.t.openTickets, func(t *Ticket) string { return t.ID },
		func(open []*Ticket) int { return b.observe(ctx, open, nil) })
	inBatches(ctx, b, b.t.placings, b.t.openPlacings, func(p *Placing) string { return p.ID },
		func(open []*Placing) int { return b.observe(ctx, nil, open) })
	b.stopExpelled(ctx)
	b.forgetExpired(ctx)
}

// inBatches calls observe for the open rows of a table, a few at a time.
func inBatches[V any](ctx context.Context, b *Backend, rows *store.Table[V], open *store.Index[V], id func(*V) string, observe func([]*V) (changed int)) {
	var ids []string
	for row := range open.Equal(b.st.View(), "") {
		ids = append(ids, id(row))
	}
	for batch := range slices.Chunk(ids, lookAtOnce) {
		if b.interrupted(ctx) {
			return
		}
		b.metrics.reconciled(observe(present(b.st.View(), rows, batch)))
	}
}

// interrupted does, between batches, what cannot wait for the end of the round. It
// reports whether the round must end now.
func (b *Backend) interrupted(ctx context.Context) bool {
	select {
	case <-b.expelled:
		b.stopExpelled(ctx)
	default:
	}
	return ctx.Err() != nil
}

// present returns rows in their current state: events may have changed them since the
// round began.
func present[V any](view *store.Snapshot, from *store.Table[V], keys []string) []*V {
	rows := make([]*V, 0, len(keys))
	for _, key := range keys {
		if row := from.Get(view, key); row != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// forgetExpired deletes what has expired, in transactions of limited size.
func (b *Backend) forgetExpired(ctx context.Context) {
	for more := b.anyExpired(b.st.View(), time.Now()); more; {
		var err error
		if more, err = b.cmd.sweep.Do(ctx, struct{}{}); err != nil && ctx.Err() == nil {
			b.log.Error("what expired is not forgotten", "error", err)
		}
	}
}
