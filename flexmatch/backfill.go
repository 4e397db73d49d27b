package flexmatch

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// autoPrefix is the prefix of automatic backfill tickets' ids, as at AWS.
const autoPrefix = "auto-backfill-"

// Hosted is what automatic backfill stores about a game session: the players whom it counts, and
// the tickets created for it. It counts all who were matched into the game session, but for those
// who have left it and asked for another match, or are to be replaced (LeaversTag).
type Hosted struct {
	GameSessionID string   `json:"game_session_id"`
	Configuration string   `json:"configuration"`
	Players       []Player `json:"players"` // with their teams, each player once
	Tickets       []string `json:"tickets"` // ids of automatic tickets, announced or created; the latest last
	Off           bool     `json:"off,omitzero"`
}

// backfills decides which game sessions may be filled up, and keeps automatic backfill
// going.
type backfills struct {
	t        *tables
	tickets  *tickets
	roster   *roster
	ruleSets *RuleSets
	sessions *session.Service
}

// known reports whether this server hosts a game session, and so knows who is in it.
func (s *backfills) known(r store.Reader, gameSessionID string) bool {
	return s.sessions.Live(r, gameSessionID) != nil
}

// check returns why a request for a backfill is refused, or nil.
func (s *backfills) check(r store.Reader, c *Configuration, rs *ruleset.RuleSet, gameSessionID string, players []Player) error {
	if err := s.checkSession(r, c, gameSessionID); err != nil {
		return err
	}
	return s.roster.check(r, rs, c.kept(), s.sessions.Live(r, gameSessionID), players)
}

func (s *backfills) checkSession(r store.Reader, c *Configuration, gameSessionID string) error {
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

// begin starts automatic backfill of a match's game session, if its configuration says so.
// All matched players count as playing: players who drop out are not replaced (developer
// guide, "Automatic backfill"), unless LeaversTag says so. A game session at a remote gets none: it is not of this
// server, which cannot see when it has room.
func (s *backfills) begin(tx *store.Tx, m *Match, players []Player, gameSessionID string) {
	c := s.t.configurations.Get(tx, m.Configuration)
	if c.Backfill != Automatic || s.sessions.Live(tx, gameSessionID) == nil {
		return
	}
	h := &Hosted{GameSessionID: gameSessionID, Configuration: c.Name, Players: withoutLatency(players)}
	if m.AutoTicketID != "" {
		h.Tickets = []string{m.AutoTicketID}
	}
	s.t.hosted.Put(tx, h)
	if m.AutoTicketID != "" {
		s.open(tx, h, m.AutoTicketID)
	}
}

func withoutLatency(players []Player) []Player {
	out := slices.Clone(players)
	for i := range out {
		out[i].Latency = nil
	}
	return out
}

func (s *backfills) open(tx *store.Tx, h *Hosted, id string) {
	c := s.t.configurations.Get(tx, h.Configuration)
	if c == nil || c.Backfill != Automatic {
		return
	}
	rs, err := s.ruleSets.of(tx, c)
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
	s.tickets.open(tx, c, StartInput{
		Configuration: c.Name, TicketID: id, Players: players, Backfill: true, GameSessionID: h.GameSessionID,
	}, true)
}

// next returns the id of the automatic ticket that follows a backfill, or "" if
// none does, and records the players who are in the game session and who joined.
func (s *backfills) next(tx *store.Tx, c *Configuration, gameSessionID string, players []Player) string {
	old := s.t.hosted.Get(tx, gameSessionID)
	if old == nil {
		return ""
	}
	h := *old
	h.Players = withoutLatency(players)
	id := ""
	if s.room(tx, c, &h) > 0 {
		id = tx.ID(autoPrefix)
		h.Tickets = append(slices.Clone(h.Tickets), id)
	}
	s.t.hosted.Put(tx, &h)
	return id
}

// proceed opens the automatic ticket that a completed backfill announced.
func (s *backfills) proceed(tx *store.Tx, m *Match, gameSessionID string) {
	if h := s.t.hosted.Get(tx, gameSessionID); h != nil && m.AutoTicketID != "" {
		s.open(tx, h, m.AutoTicketID)
	}
}

// room returns how many players automatic backfill may still add.
func (s *backfills) room(r store.Reader, c *Configuration, h *Hosted) int {
	g := s.sessions.Live(r, h.GameSessionID)
	if h.Off || c.Backfill != Automatic || g == nil || len(h.Players) == 0 {
		return 0
	}
	return min(g.MaxPlayers-c.kept()-len(h.Players), s.roster.free(r, g, s.sessions.Players.Count(r, g.ID)))
}

// playerChanged renews the backfill of the game session of a player session that has changed, and
// the player's own tickets.
func (s *backfills) playerChanged(tx *store.Tx, p *session.PlayerSession) {
	for t := range s.t.byPlayer.Equal(tx, p.PlayerID) {
		if !t.Backfill {
			s.roster.again(tx, t)
		}
	}
	s.renew(tx, p.GameSessionID)
}

// renew regards the backfill of a game session anew after its players or its room have changed, or
// opens an automatic one if there is none and there is room.
func (s *backfills) renew(tx *store.Tx, gameSessionID string) {
	s.roster.renew(tx, gameSessionID)
	s.resume(tx, gameSessionID)
}

// resume opens a new automatic ticket for a game session that has room and no backfill ticket,
// after one has ended without filling it up, or when it has room again.
func (s *backfills) resume(tx *store.Tx, gameSessionID string) {
	old := s.t.hosted.Get(tx, gameSessionID)
	if old == nil || s.t.bySession.First(tx, gameSessionID) != nil {
		return
	}
	c := s.t.configurations.Get(tx, old.Configuration)
	if c == nil || s.room(tx, c, old) <= 0 {
		return
	}
	h := *old
	id := tx.ID(autoPrefix)
	h.Tickets = append(slices.Clone(h.Tickets), id)
	s.t.hosted.Put(tx, &h)
	s.open(tx, &h, id)
}

// turnOff turns off automatic backfill of the game session that a ticket, active or ended,
// was created for. It returns nil if there is none.
func (s *backfills) turnOff(tx *store.Tx, ticketID string) *Hosted {
	old := s.t.autoID.First(tx, ticketID)
	if old == nil {
		return nil
	}
	h := *old
	h.Off = true
	s.t.hosted.Put(tx, &h)
	return &h
}
