package flexmatch

import (
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

var zeroTime time.Time

// What AWS writes into a ticket whose match found no place (FlexMatch
// matchmaking events), and what we write when the queue's timeout passed.
const (
	unexpectedReason  = "UNEXPECTED_ERROR"
	unexpectedMessage = "An unexpected error was encountered during match placing."
	noPlaceReason     = "PLACEMENT_TIMED_OUT"
	noPlaceMessage    = "The queue found no place for the match within its timeout."
	noRoomReason      = "BACKFILL_FAILED"
)

// place starts a placement for a match in the first queue of its configuration. The
// placement has the id of the match.
func (s *Service) place(tx *store.Tx, c *Configuration, m *Match, tickets []*Ticket) {
	for _, t := range tickets {
		t.move(Placing)
	}
	request, err := s.placementOf(tx, c, m, tickets)
	if err == nil {
		_, err = s.placements.StartNow(tx, placement.StartInput{Queue: c.Queues[0], Request: *request})
	}
	if err != nil {
		s.fail(tx, m, tickets, unexpectedReason, err.Error())
		return
	}
	s.t.matches.Put(tx, m)
	for _, t := range tickets {
		s.put(tx, t)
	}
}

// placementOf returns the placement request for a match: room for the whole match, a slot
// and the latencies of each player, and the matchmaker data.
func (s *Service) placementOf(tx *store.Tx, c *Configuration, m *Match, tickets []*Ticket) (*placement.Request, error) {
	rs, err := s.rules(tx, c)
	if err != nil {
		return nil, err
	}
	r := &placement.Request{ID: m.ID, Data: c.Data, Properties: c.Properties, MaxPlayers: rs.Levels()[0].Capacity()}
	players := s.matched(tx, tickets)
	if c.Backfill == Automatic && r.MaxPlayers-c.kept()-len(players) > 0 {
		m.AutoTicketID = tx.ID(autoPrefix)
	}
	for _, p := range players {
		r.Players = append(r.Players, session.Joining{PlayerID: p.ID})
		for location, ms := range sorted(p.Latency) {
			r.Latencies = append(r.Latencies, placement.Latency{PlayerID: p.ID, Location: location, Millis: float32(ms)})
		}
	}
	r.MaxPlayers = max(r.MaxPlayers, len(players)) // team sizes may have grown by expansion
	r.MatchmakerData = s.matchmakerData(c, rs, m.ID, players, m.AutoTicketID)
	return r, nil
}

// matched returns the players of tickets with their teams, in the order of tickets.
func (s *Service) matched(r store.Reader, tickets []*Ticket) []Player {
	var out []Player
	for _, t := range tickets {
		for i, p := range s.t.requests.Get(r, t.ID).Players {
			p.Team = t.Members[i].Team
			out = append(out, p)
		}
	}
	return out
}

// placed completes or fails the match whose placement has ended.
func (s *Service) placed(tx *store.Tx, p *placement.Placement) {
	m := s.t.matches.Get(tx, p.ID)
	if m == nil || !m.AcceptBy.IsZero() {
		return // not a placement of matchmaking
	}
	tickets := s.load(tx, m.Tickets)
	switch p.Status {
	case placement.Fulfilled:
		s.hosted(tx, m, tickets, p)
	case placement.TimedOut:
		s.fail(tx, m, tickets, noPlaceReason, noPlaceMessage)
	default:
		s.fail(tx, m, tickets, unexpectedReason, unexpectedMessage)
	}
}

// hosted completes a match whose game session is ACTIVE.
func (s *Service) hosted(tx *store.Tx, m *Match, tickets []*Ticket, p *placement.Placement) {
	sessions := make(map[string]string, len(p.Placed))
	for _, placed := range p.Placed {
		sessions[placed.PlayerID] = placed.PlayerSessionID
	}
	s.complete(tx, m, tickets, &connection{
		gameSessionID: p.GameSessionID, ip: p.IPAddress, dns: p.DNSName, port: p.Port, playerSessions: sessions,
	})
	tx.OnCommit(func() { s.metrics.count("MatchesPlaced", m.Configuration, 1) })
	s.beginAutomatic(tx, m, tickets, p.GameSessionID)
}

// connection says how the players of a match reach their game session.
type connection struct {
	gameSessionID  string
	ip, dns        string
	port           int
	playerSessions map[string]string // by player
}

// complete ends a match successfully. A standalone match has no connection.
func (s *Service) complete(tx *store.Tx, m *Match, tickets []*Ticket, to *connection) {
	for _, t := range tickets {
		t.Reason, t.Message = "", ""
		if to != nil {
			t.GameSessionID, t.IPAddress, t.DNSName, t.Port = to.gameSessionID, to.ip, to.dns, to.port
			for i := range t.Members {
				t.Members[i].PlayerSessionID = to.playerSessions[t.Members[i].PlayerID]
			}
		}
		s.end(tx, t, Completed)
	}
	s.announceMatch(tx, m, tickets, matchEvent{kind: "MatchmakingSucceeded", connection: to})
	session := ""
	if to != nil {
		session = to.gameSessionID
	}
	s.close(tx, m, string(Completed), session)
	tx.OnCommit(func() { s.waits.matched(m, tickets); s.metrics.matched(m) })
}

// fail ends a match that got no game session.
func (s *Service) fail(tx *store.Tx, m *Match, tickets []*Ticket, reason, message string) {
	for _, t := range tickets {
		t.Reason, t.Message = reason, message
		s.end(tx, t, Failed)
	}
	s.announceFailed(tx, m, tickets...)
	s.close(tx, m, string(Failed)+": "+message, "")
}

// refusedBy returns the message of a fault, without its code.
func refusedBy(err error) string {
	if f, ok := fault.As(err); ok {
		return f.Message
	}
	return err.Error()
}
