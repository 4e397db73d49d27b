package store

import (
	"context"
	"errors"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

const (
	reloadTimeout = 2 * time.Minute // one attempt to read the state
	longestPause  = 5 * time.Second // between attempts
)

// startOver follows a commit that failed for good: all that stands on the head is
// void, its callers are told, and the state is read again, unless another owner
// has it now.
func (s *Store) startOver(g *group, cause error) {
	s.log.Error("commit failed, reading the state again", "commands", len(g.commands), "error", cause)
	void := s.dropHead()
	if errors.Is(cause, ErrFenced) {
		s.giveUp(append([]*group{g}, void...))
		return
	}
	answer := fault.New(fault.InternalService, "the change could not be made durable; try again")
	for _, g := range append([]*group{g}, void...) {
		s.settle(g, answer)
	}
	s.readAgain()
}

// dropHead stops commands and takes the groups that nobody will commit.
func (s *Store) dropHead() []*group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == phaseOpen {
		s.phase = phaseReloading
	}
	void := s.queue
	if s.filling != nil {
		void = append(void, s.filling)
	}
	s.queue, s.filling = nil, nil
	return void
}

// giveUp ends the ownership for good.
func (s *Store) giveUp(void []*group) {
	s.mu.Lock()
	s.phase = phaseLost
	s.mu.Unlock()
	close(s.lost)
	for _, g := range void {
		s.settle(g, fault.New(fault.InternalService, "this node does not own its cell any more; try again"))
	}
}

// readAgain tries until the state was read, the cell turns out to be lost, or
// the store is closed.
func (s *Store) readAgain() {
	pause := firstPause
	for {
		err := s.reloadOnce()
		if err == nil {
			return
		}
		if errors.Is(err, ErrFenced) {
			s.giveUp(nil)
			return
		}
		s.log.Error("state not read, trying again", "pause", pause, "error", err)
		select {
		case <-s.stop:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

func (s *Store) reloadOnce() error {
	ctx, cancel := context.WithTimeout(context.Background(), reloadTimeout)
	defer cancel()
	sn, state, err := s.read(ctx, s.db)
	if err != nil {
		return err
	}
	if state.Fence.Epoch != s.fence.Epoch || state.Fence.Owner != s.fence.Owner {
		return ErrFenced
	}
	s.fence.Seq = state.Fence.Seq
	s.recorder.interrupt("the state was read again after a failed write")
	s.takeOver(sn)
	s.log.Info("state read again", "seq", sn.seq)
	return nil
}

// takeOver makes the state read the current one and lets commands run again.
func (s *Store) takeOver(sn *Snapshot) {
	s.mu.Lock()
	s.adopt(sn)
	hooks := s.onReload
	s.mu.Unlock()
	for _, l := range s.journals {
		l.nudge()
	}
	for _, f := range hooks {
		s.runHook(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == phaseReloading {
		s.phase = phaseOpen
	}
}
