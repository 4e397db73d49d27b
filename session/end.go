package session

import (
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// processStopping moves the game session of a process that was told to end to
// TERMINATING.
func (s *Service) processStopping(tx *store.Tx, p *compute.Process) {
	old := s.t.games.Get(tx, p.GameSessionID)
	if old == nil || (old.Status != Active && old.Status != Activating) {
		return
	}
	g := *old
	g.move(Terminating)
	s.put(tx, &g)
	s.settle(tx, old)
	s.record(tx, event.GameSessionTerminating, &g, "")
}

// processEnded ends the game session of a process that has ended.
func (s *Service) processEnded(tx *store.Tx, p *compute.Process) {
	if g := s.t.games.Get(tx, p.GameSessionID); g != nil && !g.Status.Ended() {
		s.end(tx, g, "")
	}
}

// end ends a game session and its player sessions.
func (s *Service) end(tx *store.Tx, old *GameSession, text string) {
	g := *old
	g.move(Terminated)
	g.Ended = tx.Now()
	g.ArchiveAt = s.archiveAt(tx, &g, tx.Now())
	s.put(tx, &g)
	s.settle(tx, old)
	s.record(tx, event.GameSessionTerminated, &g, text)
	for p := range s.t.slots.Equal(tx, g.ID) {
		to := Completed
		if p.Status == Reserved {
			to = TimedOut
		}
		s.closeSlot(tx, p, to)
	}
	for _, f := range s.ended {
		f(tx, &g)
	}
}

// settle notifies compute when a game session leaves ACTIVATING.
func (s *Service) settle(tx *store.Tx, old *GameSession) {
	if old.Status == Activating {
		s.computes.Activated(tx)
	}
}

// closeSlot ends a player session.
func (s *Service) closeSlot(tx *store.Tx, old *PlayerSession, to PlayerStatus) {
	p := *old
	p.move(to)
	p.Ended = tx.Now()
	p.ArchiveAt = tx.Now().Add(s.opts.Linger)
	s.putPlayer(tx, &p)
}
