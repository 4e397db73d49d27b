package flexmatch

import (
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Reasons for updates to game servers (UpdateReason of the server SDKs).
const (
	matchmakingDataUpdated = "MATCHMAKING_DATA_UPDATED"
	backfillFailed         = "BACKFILL_FAILED"
	backfillTimedOut       = "BACKFILL_TIMED_OUT"
	backfillCancelled      = "BACKFILL_CANCELLED"
)

// checkBackfill checks that a game session can be backfilled.
func (s *Service) checkBackfill(r store.Reader, c *Configuration, gameSessionID string) error {
	if gameSessionID == "" {
		if c.Mode == Standalone {
			return nil
		}
		return fault.Invalid("GameSessionArn: required, because configuration %s places game sessions by a queue", c.Name)
	}
	g := s.sessions.Live(r, gameSessionID)
	switch {
	case g == nil && c.Mode == Standalone:
		return nil // hosted elsewhere
	case g == nil:
		return fault.Missing("GameSessionArn: game session %s does not exist", gameSessionID)
	case g.Matchmaker == "":
		return fault.Invalid("GameSessionArn: game session %s was not made by matchmaking", g.ID)
	case g.Status != session.Active:
		return fault.Invalid("GameSessionArn: game session %s is %s; it must be ACTIVE", g.ID, g.Status)
	}
	return nil
}

// replaceBackfill ends the backfill of a game session that a newer one replaces. The game
// server is not notified, because it requested the newer one.
func (s *Service) replaceBackfill(tx *store.Tx, gameSessionID string) {
	if gameSessionID == "" {
		return
	}
	for old := range s.t.bySession.Equal(tx, gameSessionID) {
		t := s.withdraw(tx, old)
		t.Reason, t.Message = cancelledReason, "Replaced by a newer backfill request of the game session."
		s.end(tx, t, Cancelled)
		s.announceEnd(tx, t, "MatchmakingCancelled")
	}
}

// tellBackfill notifies the game server that its backfill ended without players.
func (s *Service) tellBackfill(tx *store.Tx, t *Ticket, reason string) {
	if t.Backfill && t.GameSessionID != "" {
		s.sessions.TellBackfill(tx, t.GameSessionID, reason, t.ID)
	}
}

// fill completes a match that fills up a game session: it reserves slots for the new
// players, updates the matchmaker data and notifies the game server.
func (s *Service) fill(tx *store.Tx, c *Configuration, m *Match, tickets []*Ticket, gameSessionID string) {
	for _, t := range tickets {
		t.move(Placing)
	}
	var joining []session.Joining
	for _, t := range tickets {
		if t.Backfill {
			continue
		}
		for _, member := range t.Members {
			joining = append(joining, session.Joining{PlayerID: member.PlayerID})
		}
	}
	made, err := s.sessions.ReserveNow(tx, gameSessionID, joining)
	if err != nil {
		s.unfilled(tx, m, tickets, refusedBy(err))
		return
	}
	g := s.sessions.Live(tx, gameSessionID)
	to := &connection{gameSessionID: g.ID, ip: g.IPAddress, dns: g.DNSName, port: g.Port, playerSessions: map[string]string{}}
	for _, p := range made {
		to.playerSessions[p.PlayerID] = p.ID
	}
	s.updateSession(tx, c, m, tickets, g)
	s.complete(tx, m, tickets, to)
	s.continueAutomatic(tx, m, g.ID)
	if s.t.bySession.First(tx, g.ID) == nil {
		s.resume(tx, g.ID)
	}
}

// updateSession sets the matchmaker data of a game session to that of the match that
// fills it up.
func (s *Service) updateSession(tx *store.Tx, c *Configuration, m *Match, tickets []*Ticket, g *session.GameSession) {
	players := s.matched(tx, backfillFirst(tickets))
	m.AutoTicketID = s.nextAutomatic(tx, c, g.ID, players)
	rs, err := s.rules(tx, c)
	if err != nil {
		return // cannot happen: a rule set in use cannot be deleted
	}
	s.sessions.SetMatchmakerData(tx, g.ID, s.matchmakerData(c, rs, m.ID, players, m.AutoTicketID), matchmakingDataUpdated, m.Backfill)
}

// backfillFirst returns backfill tickets before tickets of new players.
func backfillFirst(tickets []*Ticket) []*Ticket {
	out := make([]*Ticket, 0, len(tickets))
	for _, backfill := range []bool{true, false} {
		for _, t := range tickets {
			if t.Backfill == backfill {
				out = append(out, t)
			}
		}
	}
	return out
}

// unfilled ends a backfill whose game session is full or accepts no players. The new
// players search again.
func (s *Service) unfilled(tx *store.Tx, m *Match, tickets []*Ticket, why string) {
	for _, t := range tickets {
		if !t.Backfill {
			s.searchAgain(tx, t, acceptanceFailed)
			continue
		}
		t.Reason, t.Message = noRoomReason, why
		s.end(tx, t, Failed)
		s.announceFailed(tx, m, t)
		s.tellBackfill(tx, t, backfillFailed)
	}
	s.close(tx, m, string(Failed)+": "+why, "")
}

// sessionEnded cancels the backfill of a game session that has ended.
func (s *Service) sessionEnded(tx *store.Tx, g *session.GameSession) {
	s.t.hosted.Delete(tx, g.ID)
	for old := range s.t.bySession.Equal(tx, g.ID) {
		t := s.withdraw(tx, old)
		t.Reason, t.Message = cancelledReason, "The game session has ended."
		s.end(tx, t, Cancelled)
		s.announceEnd(tx, t, "MatchmakingCancelled")
	}
}

// policyChanged stops automatic backfill when a game session no longer accepts new
// players, and resumes it when it does again.
func (s *Service) policyChanged(tx *store.Tx, g *session.GameSession) {
	if s.t.hosted.Get(tx, g.ID) == nil {
		return
	}
	if g.JoinPolicy != session.DenyAll {
		s.resume(tx, g.ID)
		return
	}
	for open := range s.t.bySession.Equal(tx, g.ID) {
		if open.Automatic {
			s.cancel(tx, open, "The game session takes no new players.")
		}
	}
}
