package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	firstTimeout  = 5 * time.Second // for one attempt at a commit; doubles
	commitTimeout = 30 * time.Second
	firstPause    = 10 * time.Millisecond // between attempts; doubles
	longPause     = 250 * time.Millisecond
	maxLosses     = 10 // of one batch, with a database that answers in between
)

// keepJournal makes one group after another durable until the store is closed and
// nothing is left.
func (s *Store) keepJournal() {
	defer s.running.Done()
	for {
		g := s.nextGroup()
		if g == nil {
			return
		}
		if err := s.commit(g); err != nil {
			s.startOver(g, err)
			continue
		}
		s.publish(g)
		s.settle(g, nil)
	}
}

// nextGroup waits for a group and takes it; nil means that the store is closed and
// nothing is left.
func (s *Store) nextGroup() *group {
	for {
		g, closed := s.takeGroup()
		if g != nil || closed {
			return g
		}
		<-s.wake
	}
}

func (s *Store) takeGroup() (g *group, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 && s.filling != nil {
		s.sealFilling()
	}
	if len(s.queue) == 0 {
		return nil, s.phase == phaseClosed || s.phase == phaseLost
	}
	s.flying = s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	return s.flying, false
}

// commit makes the group durable.
func (s *Store) commit(g *group) error {
	if !g.changed {
		return nil
	}
	batch, err := s.build(g)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := s.commitBatch(batch); err != nil {
		return err
	}
	s.fence = batch.Fence
	s.fence.Seq = batch.Seq
	s.metrics.committed(len(g.commands), time.Since(started))
	s.recorder.write(g)
	return nil
}

// build returns the group's batch. If a table's own function panics, the group fails
// instead of the program.
func (s *Store) build(g *group) (batch *Batch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: stack()}
		}
		if p, ok := err.(*PanicError); ok {
			s.log.Error("a row could not be written out", "panic", p.Value, "stack", string(p.Stack))
		}
	}()
	return g.build(s.fence, s.View())
}

// commitBatch makes the batch durable. While the database is unavailable, it retries
// until the batch is committed, another owner has taken the cell, or the store stops;
// callers wait in the meantime, each for as long as it chooses. On success the batch
// has the fence under which it was committed.
func (s *Store) commitBatch(batch *Batch) error {
	timeout, pause := firstTimeout, firstPause
	for doubt, losses := false, 0; ; {
		stopping := s.stopping()
		err := s.tryBatch(batch, doubt, timeout)
		switch {
		case err == nil:
			s.resume()
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
		s.stall(err)
		if errors.Is(err, context.DeadlineExceeded) {
			timeout = min(2*timeout, commitTimeout)
		}
		s.rest(pause)
		pause = min(2*pause, longPause)
	}
}

// tryBatch makes one attempt to commit the batch or, in doubt, to learn the outcome
// of the last attempt.
func (s *Store) tryBatch(batch *Batch, doubt bool, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if doubt {
		return s.resolve(ctx, batch)
	}
	return s.db.Commit(ctx, batch)
}

// errNotIn reports that a batch in doubt was not committed and can no longer be under
// its previous fence; the batch now has the next one.
var errNotIn = errors.New("the batch was not committed")

// resolve settles a batch in doubt by its fence alone; nil means that it was
// committed.
func (s *Store) resolve(ctx context.Context, batch *Batch) error {
	fence, err := s.db.Renew(ctx, batch.Fence.Owner)
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
func (s *Store) rest(pause time.Duration) {
	select {
	case <-s.stop:
	case <-time.After(pause):
	}
}

// publish makes the group's state visible and runs its hooks.
func (s *Store) publish(g *group) {
	before := s.published.Swap(g.sealed)
	for i, l := range s.journals {
		if g.sealed.last[i] != before.last[i] {
			l.nudge()
		}
	}
	for _, c := range g.commands {
		for _, hook := range c.hooks {
			s.runHook(hook)
		}
	}
}

// runHook keeps a panicking hook from stopping the journal: its command is already
// durable.
func (s *Store) runHook(hook func()) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("commit hook panicked", "panic", p, "stack", string(stack()))
		}
	}()
	hook()
}

// settle answers the callers of the group in flight.
func (s *Store) settle(g *group, err error) {
	s.mu.Lock()
	if s.flying == g {
		s.flying = nil
	}
	s.pending -= len(g.commands)
	s.mu.Unlock()
	g.err = err
	close(g.answer)
}
