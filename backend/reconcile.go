package backend

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// How the reconciler works.
const (
	reconcileEvery = 15 * time.Second // since events may be lost
	lookAtOnce     = 200              // rows that one transaction brings up to date
)

// runReconciler looks at everything that is open, at once, for what happened while
// nobody watched, and then again and again; and it stops what expel marked. Rounds
// never overlap: one that takes long puts off the next.
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

// reconcile looks at everything that is open, and forgets what has expired.
func (b *Backend) reconcile(ctx context.Context) {
	b.reconcileTickets(ctx)
	b.reconcilePlacings(ctx)
	b.stopExpelled(ctx)
	b.forgetExpired(ctx)
}

func (b *Backend) reconcileTickets(ctx context.Context) {
	var open []string
	for t := range b.t.openTickets.Equal(b.st.View(), "") {
		open = append(open, t.ID)
	}
	for ids := range slices.Chunk(open, lookAtOnce) {
		if b.interrupted(ctx) {
			return
		}
		b.metrics.reconciled(b.observe(ctx, present(b.st.View(), b.t.tickets, ids), nil))
	}
}

func (b *Backend) reconcilePlacings(ctx context.Context) {
	var open []string
	for p := range b.t.openPlacings.Equal(b.st.View(), "") {
		open = append(open, p.ID)
	}
	for ids := range slices.Chunk(open, lookAtOnce) {
		if b.interrupted(ctx) {
			return
		}
		b.metrics.reconciled(b.observe(ctx, nil, present(b.st.View(), b.t.placings, ids)))
	}
}

// interrupted sees, between batches, to what cannot wait for the round's end; it
// tells whether that is now.
func (b *Backend) interrupted(ctx context.Context) bool {
	select {
	case <-b.expelled:
		b.stopExpelled(ctx)
	default:
	}
	return ctx.Err() != nil
}

// present gives rows as they are now: events may have told of them since the round
// began.
func present[V any](view *store.Snapshot, from *store.Table[V], keys []string) []*V {
	rows := make([]*V, 0, len(keys))
	for _, key := range keys {
		if row := from.Get(view, key); row != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// forgetExpired removes what has expired, in transactions that are bounded.
func (b *Backend) forgetExpired(ctx context.Context) {
	for more := b.anyExpired(time.Now()); more; {
		var err error
		if more, err = b.cmd.sweep.Do(ctx, struct{}{}); err != nil && ctx.Err() == nil {
			b.log.Error("what expired is not forgotten", "error", err)
		}
	}
}
