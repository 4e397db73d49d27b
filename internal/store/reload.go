package store

import (
	"context"
	"errors"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

const (
	reloadTimeout = 2 * time.Minute // for one attempt to read the state
	longestPause  = 5 * time.Second // between attempts, if the database answers and refuses
)

// reading is the state of the store while everything is read again. Commands wait for its
// end as long as that may come soon.
type reading struct {
	waiting int           // commands
	over    chan struct{} // closed at its end, and when waiting is no longer worthwhile
	refused bool          // the database answered, but could not be read
}

// worthwhile reports whether commands should wait. It must be called with the store's
// mu held.
func (r *reading) worthwhile() bool { return r != nil && !r.refused }

// awaitReading waits until the state has been read, or waiting is no longer worthwhile. It
// must be called with mu held; it releases mu while it waits.
func (s *Store) awaitReading(ctx context.Context) error {
	r := s.reading
	if err := s.room(ctx, r.waiting); err != nil {
		return err
	}
	r.waiting++
	s.mu.Unlock()
	defer s.mu.Lock()
	return outlast(ctx, r.over, s.opts.Patience)
}

// end ends the waiting. It must be called with the store's mu held.
func (r *reading) end() {
	if r.worthwhile() {
		close(r.over)
	}
}

// refuse makes commands fail until the state has been read. It must be called with the
// store's mu held.
func (r *reading) refuse() {
	if r.worthwhile() {
		r.refused = true
		close(r.over)
	}
}

// startOver handles a commit that failed for good: everything on the head is void,
// its callers get an error, and the state is read again, unless another owner has
// taken the cell.
func (s *Store) startOver(g *group, cause error) {
	s.log.Error("commit failed, reading the state again", "commands", len(g.commands), "error", cause)
	answer := fault.New(fault.InternalService, "the change could not be made durable; try again")
	if errors.Is(cause, ErrFull) {
		answer = fault.New(fault.InternalService, "the change could not be made durable: %v", ErrFull)
	}
	for _, g := range append([]*group{g}, s.dropHead()...) {
		s.settle(g, answer)
	}
	s.readAgain()
}

// dropHead stops commands and returns the groups that will not be committed.
func (s *Store) dropHead() []*group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == phaseOpen {
		s.phase = phaseReloading
		s.reading = &reading{over: make(chan struct{})}
	}
	return s.queue.drop()
}

// giveUp ends the ownership for good.
func (s *Store) giveUp() {
	s.log.Error("another owner has taken the cell")
	s.mu.Lock()
	s.phase = phaseLost
	s.catalog.discardEnded()
	s.reading.end()
	s.reading = nil
	s.mu.Unlock()
	close(s.lost)
}

// readAgain tries until the state has been read, the cell turns out to be lost, or
// the store is closed.
func (s *Store) readAgain() {
	for pause := firstPause; !s.journal.stopping(); pause *= 2 {
		sn, err := s.journal.reload(&s.catalog)
		if err == nil {
			sn, err = s.face(context.Background(), sn, s.View())
		}
		if err == nil {
			s.takeOver(sn)
			s.log.Info("state read again", "seq", sn.seq)
			return
		}
		if errors.Is(err, ErrFenced) {
			s.giveUp()
			return
		}
		s.outage.begin(err)
		longest := longPause
		if !away(err) {
			s.mu.Lock()
			s.reading.refuse()
			s.mu.Unlock()
			longest = longestPause
		}
		pause = min(pause, longest)
		s.log.Error("state not read, trying again", "pause", pause, "error", err)
		s.journal.rest(pause)
	}
}

// takeOver installs the state read and lets commands run again.
func (s *Store) takeOver(sn *Snapshot) {
	s.mu.Lock()
	s.head.adopt(sn)
	s.catalog.discardEnded()
	s.published.Store(sn)
	hooks := s.onReload
	s.mu.Unlock()
	for _, l := range s.catalog.logs {
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
	s.reading.end()
	s.reading = nil
}
