package cell

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/feature"
)

const (
	// registrations is how many leases pass between two registrations of a node.
	registrations = 4

	// gone is how long a node has to be silent, by the database's clock, until the feature
	// level no longer waits for it. One that is back later, and older, stands aside.
	gone = time.Hour
)

// levels is what this node knows about feature levels.
type levels struct {
	cell   feature.Level // of the cell, as the lease has it
	aside  error         // this node does not know that level; nil: it does
	agreed feature.Level // this node is the owner, and all nodes of the cell know it; 0: unknown
	raised chan struct{} // closed at the next change of agreed
}

// weigh records the cell's feature level. A node that does not know it stands aside.
func (k *Keeper) weigh(level feature.Level, release string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.levels.aside
	k.levels.cell, k.levels.aside = level, feature.Check(level, release)
	switch aside := k.levels.aside; {
	case aside != nil && was == nil:
		k.log.Error("this node stands aside: it forwards requests, and does not take the cell", "reason", aside)
	case aside == nil && was != nil:
		k.log.Info("this node no longer stands aside")
	}
}

// Aside returns why this node must not own the cell: its program does not know the cell's
// feature level. It returns nil if it does.
func (k *Keeper) Aside() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.levels.aside
}

// Level returns the cell's feature level as other nodes see it.
func (k *Keeper) Level() feature.Level {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.levels.cell
}

// Agreed returns the feature level that all nodes of the cell know, once this node owns the
// cell, and a channel that is closed when that changes. Before, it is 0.
func (k *Keeper) Agreed() (feature.Level, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.levels.agreed, k.levels.raised
}

// register stores that this node is there, and what it is, if it has not for a while, and
// reads the same of the others. The owner learns the level that all nodes know, and
// makes older programs stand aside before Agreed returns that level.
func (k *Keeper) register(ctx context.Context) error {
	if time.Since(k.registered) < registrations*k.opts.TTL {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.interval()) // a silent connection must not outlast the lease
	defer cancel()
	members, err := k.lease.register(ctx, k.opts.Node, k.opts.Level, k.opts.Release)
	if err != nil {
		return err
	}
	k.registered = time.Now()
	for i := range members {
		members[i].Away = members[i].Silent > 2*registrations*k.opts.TTL
	}
	k.meet(members)
	if !k.isOwner() {
		return nil
	}
	lowest := Lowest(members)
	if lowest > k.Level() {
		if err := k.lease.raise(ctx, lowest); err != nil {
			return err
		}
		k.weigh(lowest, lowest.Release())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.levels.agreed != lowest {
		k.levels.agreed = lowest
		close(k.levels.raised)
		k.levels.raised = make(chan struct{})
	}
	return nil
}

// raise stores the cell's feature level for nodes that do not know it.
func (l *lease) raise(ctx context.Context, level feature.Level) error {
	conn, err := l.commands(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `UPDATE "muster"."lease" SET "level" = $2, "release" = $3 WHERE "cell" = $1 AND "level" < $2`,
		l.cell, int64(level), level.Release())
	return err
}
