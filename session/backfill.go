package session

import (
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// SetMatchmakerData replaces the matchmaker data of a game session that a backfill has
// filled up, and notifies its process. The reason is an UpdateReason of the server SDKs.
func (s *Service) SetMatchmakerData(tx *store.Tx, gameSessionID, data, reason, backfillTicketID string) {
	old := s.t.games.Get(tx, gameSessionID)
	if old == nil || old.Status.Ended() {
		return
	}
	g := *old
	g.Matchmaker = data
	s.put(tx, &g)
	s.record(tx, event.GameSessionUpdated, &g, "filled up by backfill "+backfillTicketID)
	s.TellBackfill(tx, g.ID, reason, backfillTicketID)
}

// TellBackfill notifies the process of a game session of the result of a backfill, once
// the transaction is durable.
func (s *Service) TellBackfill(tx *store.Tx, gameSessionID, reason, backfillTicketID string) {
	g := s.t.games.Get(tx, gameSessionID)
	if g == nil || g.Status.Ended() {
		return
	}
	s.computes.Tell(tx, g.ProcessKey, compute.Update{
		Session: g.start(), FleetID: g.FleetID, Location: g.Location, Status: string(g.Status),
		Reason: reason, BackfillTicketID: backfillTicketID,
	})
}

// OnUpdated registers f to be called in each transaction in which UpdateGameSession or
// the process changes a game session. It must be called before the store is opened.
func (s *Service) OnUpdated(f func(*store.Tx, *GameSession)) { s.updated = append(s.updated, f) }
