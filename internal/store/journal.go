package store

import (
	"context"
	"errors"
	"time"
)

const (
	commitTimeout = 30 * time.Second // one attempt at a commit
	commitTries   = 6
	firstPause    = 10 * time.Millisecond // between attempts; doubles
)

// keepJournal makes group after group durable until the store is closed and
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

// nextGroup waits for a group and takes it; nil means the store is closed and drained.
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

// commit makes the group durable, trying again where nothing was committed.
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
	s.fence.Seq = batch.Seq
	s.metrics.committed(len(g.commands), time.Since(started))
	s.recorder.write(g)
	return nil
}

// build makes the group's batch. A panic of a table's own functions fails the
// group and not the program.
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

func (s *Store) commitBatch(batch *Batch) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := s.commitOnce(batch)
		if err == nil || !errors.Is(err, ErrTransient) || try == commitTries {
			return err
		}
		s.log.Warn("commit tried again", "try", try, "error", err)
		time.Sleep(pause)
		pause *= 2
	}
}

func (s *Store) commitOnce(batch *Batch) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	return s.db.Commit(ctx, batch)
}

// publish shows the group's state and runs its hooks.
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

// runHook keeps a panicking hook from stopping the journal: its command is
// durable already.
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
