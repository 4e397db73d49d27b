package flexmatch

import (
	"slices"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// autoPrefix is the prefix of automatic backfill tickets' ids, as at AWS.
const autoPrefix = "auto-backfill-"

// beginAutomatic starts automatic backfill of a match's game session, if its
// configuration says so. All matched players count as playing: players who drop out are
// not replaced (developer guide, "Automatic backfill").
func (s *Service) beginAutomatic(tx *store.Tx, m *Match, tickets []*Ticket, gameSessionID string) {
	c := s.t.configurations.Get(tx, m.Configuration)
	if c.Backfill != Automatic {
		return
	}
	h := &Hosted{GameSessionID: gameSessionID, Configuration: c.Name, Players: withoutLatency(s.matched(tx, tickets))}
	if m.AutoTicketID != "" {
		h.Tickets = []string{m.AutoTicketID}
	}
	s.t.hosted.Put(tx, h)
	if m.AutoTicketID != "" {
		s.openAutomatic(tx, h, m.AutoTicketID)
	}
}

// withoutLatency returns players without their latencies.
func withoutLatency(players []Player) []Player {
	out := slices.Clone(players)
	for i := range out {
		out[i].Latency = nil
	}
	return out
}

// openAutomatic writes the backfill ticket of a game session.
func (s *Service) openAutomatic(tx *store.Tx, h *Hosted, id string) {
	c := s.t.configurations.Get(tx, h.Configuration)
	if c == nil || c.Backfill != Automatic {
		return
	}
	rs, err := s.rules(tx, c)
	if err != nil {
		return
	}
	players := slices.Clone(h.Players)
	if rs.HasLatency { // a rule requires latencies; use the lowest value at the location where they are playing
		g := s.sessions.Live(tx, h.GameSessionID)
		for i := range players {
			players[i].Latency = map[string]int{g.Location: 1}
		}
	}
	s.open(tx, c, StartInput{
		Configuration: c.Name, TicketID: id, Players: players, Backfill: true, GameSessionID: h.GameSessionID,
	}, true)
}

// nextAutomatic returns the id of the automatic ticket that follows a backfill, or "" if
// none does, and records the players that joined.
func (s *Service) nextAutomatic(tx *store.Tx, c *Configuration, gameSessionID string, players []Player) string {
	old := s.t.hosted.Get(tx, gameSessionID)
	if old == nil {
		return ""
	}
	h := *old
	h.Players = withoutLatency(players)
	id := ""
	if s.automaticRoom(tx, c, &h) > 0 {
		id = tx.ID(autoPrefix)
		h.Tickets = append(slices.Clone(h.Tickets), id)
	}
	s.t.hosted.Put(tx, &h)
	return id
}

// continueAutomatic opens the automatic ticket that a completed backfill announced.
func (s *Service) continueAutomatic(tx *store.Tx, m *Match, gameSessionID string) {
	if h := s.t.hosted.Get(tx, gameSessionID); h != nil && m.AutoTicketID != "" {
		s.openAutomatic(tx, h, m.AutoTicketID)
	}
}

// automaticRoom returns how many players automatic backfill may still add.
func (s *Service) automaticRoom(r store.Reader, c *Configuration, h *Hosted) int {
	g := s.sessions.Live(r, h.GameSessionID)
	if h.Off || c.Backfill != Automatic || g == nil || g.Status != session.Active || g.JoinPolicy == session.DenyAll {
		return 0
	}
	return min(g.MaxPlayers-c.kept()-len(h.Players), g.MaxPlayers-s.sessions.Players(r, g.ID))
}

// resume opens a new automatic ticket for a game session that has no backfill ticket,
// after one has ended without filling it up.
func (s *Service) resume(tx *store.Tx, gameSessionID string) {
	old := s.t.hosted.Get(tx, gameSessionID)
	if old == nil || s.t.bySession.First(tx, gameSessionID) != nil {
		return
	}
	c := s.t.configurations.Get(tx, old.Configuration)
	if c == nil || s.automaticRoom(tx, c, old) <= 0 {
		return
	}
	h := *old
	id := tx.ID(autoPrefix)
	h.Tickets = append(slices.Clone(h.Tickets), id)
	s.t.hosted.Put(tx, &h)
	s.openAutomatic(tx, &h, id)
}

// stopAutomatic turns off automatic backfill of the game session that a ticket, active or
// ended, was created for. It returns false if there is none.
func (s *Service) stopAutomatic(tx *store.Tx, ticketID string) bool {
	old := s.t.autoID.First(tx, ticketID)
	if old == nil {
		return false
	}
	h := *old
	h.Off = true
	s.t.hosted.Put(tx, &h)
	for open := range s.t.bySession.Equal(tx, h.GameSessionID) {
		if open.ID != ticketID && open.Automatic {
			s.cancel(tx, open, stoppedMessage)
		}
	}
	return true
}
