package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	firstTimeout  = 5 * time.Second // for one attempt at a commit; doubles
	commitTimeout = 30 * time.Second
	firstPause    = 10 * time.Millisecond // between attempts; doubles
	longPause     = 250 * time.Millisecond
	maxLosses     = 10 // of one batch, with a database that answers in between
)

// journal makes groups durable, one after another, under the store's fence. Once it runs,
// its goroutine alone uses it, except for stopping.
type journal struct {
	db        DB
	fence     Fence
	confirmed uint64 // the last sequence that was confirmed, by this owner or another
	builder   batchBuilder
	recorder  *recorder
	metrics   *metrics
	outage    *outage
	log       *slog.Logger
	stop      <-chan struct{} // closed by Close
}

// commit makes a group durable; durable is the state before it.
func (j *journal) commit(g *group, durable *Snapshot) error {
	if !g.changed {
		return nil
	}
	defer j.builder.reset()
	batch, err := j.build(g, durable)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := j.commitBatch(batch); err != nil {
		return err
	}
	j.fence = batch.Fence
	j.fence.Seq, j.confirmed = batch.Seq, batch.Seq
	j.metrics.committed(len(g.commands), time.Since(started))
	j.recorder.write(g)
	return nil
}

// build returns the group's batch. If a table's own function panics, the group fails
// instead of the program.
func (j *journal) build(g *group, durable *Snapshot) (batch *Batch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: stack()}
		}
		if p, ok := err.(*PanicError); ok {
			j.log.Error("a row could not be written out", "panic", p.Value, "stack", string(p.Stack))
		}
	}()
	return j.builder.build(g, j.fence, durable)
}

// commitBatch makes the batch durable. While the database is unavailable, it retries
// until the batch is committed, another owner has taken the cell, or the store stops;
// callers wait in the meantime, each for as long as it chooses. On success the batch
// has the fence under which it was committed.
func (j *journal) commitBatch(batch *Batch) error {
	timeout, pause := firstTimeout, firstPause
	for doubt, losses := false, 0; ; {
		stopping := j.stopping()
		err := j.tryBatch(batch, doubt, timeout)
		switch {
		case err == nil:
			j.outage.end()
			return nil
		case errors.Is(err, errNotIn):
			if doubt, losses = false, losses+1; losses < maxLosses {
				continue
			}
		case errors.Is(err, ErrInDoubt):
			doubt = true
		}
		if !away(err) || stopping {
			return err
		}
		j.outage.begin(err)
		if errors.Is(err, context.DeadlineExceeded) {
			timeout = min(2*timeout, commitTimeout)
		}
		j.rest(pause)
		pause = min(2*pause, longPause)
	}
}

// tryBatch makes one attempt to commit the batch or, in doubt, to learn the outcome
// of the last attempt.
func (j *journal) tryBatch(batch *Batch, doubt bool, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if doubt {
		return j.resolve(ctx, batch)
	}
	return j.db.Commit(ctx, batch)
}

// errNotIn reports that a batch in doubt was not committed and can no longer be under
// its previous fence; the batch now has the next one.
var errNotIn = errors.New("the batch was not committed")

// resolve settles a batch in doubt by its fence alone; nil means that it was
// committed.
func (j *journal) resolve(ctx context.Context, batch *Batch) error {
	fence, err := j.db.Renew(ctx, batch.Fence.Owner)
	if err != nil {
		return err
	}
	before := batch.Fence.Seq
	batch.Fence = fence
	switch fence.Seq {
	case batch.Seq:
		return nil
	case before:
		return errNotIn
	}
	return fmt.Errorf("the cell is at sequence %d, which is neither before (%d) nor after (%d) the commit", fence.Seq, before, batch.Seq)
}

// rest waits for the pause or until the store stops.
func (j *journal) rest(pause time.Duration) {
	select {
	case <-j.stop:
	case <-time.After(pause):
	}
}

// reload renews the fence and reads the state again.
func (j *journal) reload(c *catalog) (*Snapshot, error) {
	ctx, cancel := context.WithTimeout(context.Background(), reloadTimeout)
	defer cancel()
	fence, err := j.db.Renew(ctx, j.fence.Owner)
	if err != nil {
		return nil, err
	}
	sn, state, err := c.load(ctx, j.db)
	if err != nil {
		return nil, err
	}
	if state.Fence != fence {
		return nil, ErrFenced
	}
	j.fence = fence
	j.recorder.resume(sn)
	j.outage.end()
	return sn, nil
}

func (j *journal) stopping() bool {
	select {
	case <-j.stop:
		return true
	default:
		return false
	}
}
