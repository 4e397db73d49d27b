package session

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// sweepAtOnce is the most overdue rows of a kind that one transaction handles.
const sweepAtOnce = 500

// next returns the earliest deadline of any session, or zero.
func (s *Service) next() time.Time {
	view := s.st.View()
	var first time.Time
	for _, g := range s.t.gameDue.Prefix(view, "") {
		first = g.due()
		break
	}
	for _, p := range s.t.playerDue.Prefix(view, "") {
		if at := p.due(); first.IsZero() || at.Before(first) {
			first = at
		}
		break
	}
	return first
}

func (s *Service) sweep(ctx context.Context) error {
	_, err := s.cmd.sweep.Do(ctx, struct{}{})
	return err
}

func (s *Service) runSweep(tx *store.Tx, _ struct{}) (struct{}, error) {
	n := 0
	for _, g := range s.t.gameDue.Prefix(tx, "") {
		if g.due().After(tx.Now()) || n == sweepAtOnce {
			break
		}
		s.overdueGame(tx, g)
		n++
	}
	n = 0
	for _, p := range s.t.playerDue.Prefix(tx, "") {
		if p.due().After(tx.Now()) || n == sweepAtOnce {
			break
		}
		s.overduePlayer(tx, p)
		n++
	}
	return struct{}{}, nil
}

// overdueGame ends a session that was not activated in time, or archives one that has
// ended.
func (s *Service) overdueGame(tx *store.Tx, g *GameSession) {
	if g.Status.Ended() {
		s.t.games.Archive(tx, g.ID)
		return
	}
	text := "the process did not call ActivateGameSession in time"
	s.end(tx, g, text)
	s.computes.Terminate(tx, g.ProcessKey, event.GameSessionActivationTimeout, text)
}

// overduePlayer times out an unused reservation, or archives a player session that has
// ended.
func (s *Service) overduePlayer(tx *store.Tx, p *PlayerSession) {
	if p.Status != Reserved {
		s.t.players.Archive(tx, p.ID)
		return
	}
	s.closeSlot(tx, p, TimedOut)
	s.recordPlayer(tx, event.PlayerSessionTimedOut, p)
}
