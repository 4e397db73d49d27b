package cell

import (
	"context"
	"errors"
	"fmt"
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

// raising is a call of Raise. done gets its outcome.
type raising struct {
	level feature.Level
	done  chan error
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

// Raise makes programs that do not know a level stand aside. The owner calls it before it
// raises the level of its state, which it must not if there is an error: another node has the
// cell, or one does not know the level. A level that is not higher changes nothing.
func (k *Keeper) Raise(ctx context.Context, level feature.Level) error {
	if level <= k.Level() {
		return nil
	}
	r := raising{level, make(chan error, 1)}
	select {
	case k.raises <- r:
		return <-r.done
	case <-k.lost:
		return errTaken
	case <-k.done:
		return errors.New("this node has left the cell")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// raise is Raise in the loop of the owner, which alone uses the lease.
func (k *Keeper) raise(ctx context.Context, level feature.Level) error {
	if agreed, _ := k.Agreed(); level > agreed {
		return fmt.Errorf("a node of the cell knows only feature levels up to %d", agreed)
	}
	ctx, cancel := context.WithTimeout(ctx, k.interval())
	defer cancel()
	if err := k.lease.raise(ctx, k.opts.Node, k.epoch, level); err != nil {
		return err
	}
	k.weigh(level, level.Release())
	return nil
}

// register stores that this node is there, and what it is, if it has not for a while, and
// reads the same of the others. The owner learns the level that all nodes know.
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
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.levels.agreed != lowest {
		k.levels.agreed = lowest
		close(k.levels.raised)
		k.levels.raised = make(chan struct{})
	}
	return nil
}

// raise stores the cell's feature level for nodes that do not know it. It returns errTaken if
// another node has taken the lease.
func (l *lease) raise(ctx context.Context, n Node, epoch uint64, level feature.Level) error {
	conn, err := l.commands(ctx)
	if err != nil {
		return err
	}
	done, err := conn.Exec(ctx, `UPDATE "muster"."lease" SET "level" = greatest("level", $4), "release" = CASE WHEN "level" < $4 THEN $5 ELSE "release" END
		WHERE "cell" = $1 AND "node" = $2 AND "epoch" = $3`, l.cell, n.Name, int64(epoch), int64(level), level.Release())
	if err == nil && done.RowsAffected() == 0 {
		return errTaken
	}
	return err
}
