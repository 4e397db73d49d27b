package flexmatch

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// What AWS writes into a ticket whose match could not be placed (FlexMatch matchmaking events).
const (
	unexpectedReason  = "UNEXPECTED_ERROR"
	unexpectedMessage = "An unexpected error was encountered during match placing."
)

// matchmakingDataUpdated is an UpdateReason of the server SDKs.
const matchmakingDataUpdated = "MATCHMAKING_DATA_UPDATED"

// Place starts a placement for a match in the first queue of its configuration. The
// placement has the id of the match.
func (c *change) Place(m *Match, tickets []*Ticket) {
	conf := c.t.configurations.Get(c.tx, m.Configuration)
	request, err := c.placementOf(conf, m, tickets)
	if err == nil {
		_, err = c.placements.StartNow(c.tx, placement.StartInput{Queue: conf.Queues[0], Request: *request, Within: c.spanAmong(tickets)})
	}
	if err != nil {
		c.Fail(m, tickets, unexpectedReason, err.Error())
		return
	}
	c.t.matches.Put(c.tx, m)
	for _, t := range tickets {
		c.tickets.put(c.tx, t)
	}
}

// placementOf returns the placement request for a match: room for the whole match, a slot
// and the latencies of each player, and the matchmaker data.
func (c *change) placementOf(conf *Configuration, m *Match, tickets []*Ticket) (*placement.Request, error) {
	rs, err := c.ruleSets.of(c.tx, conf)
	if err != nil {
		return nil, err
	}
	r := &placement.Request{ID: m.ID, Data: conf.Data, Properties: conf.Properties, MaxPlayers: rs.Levels()[0].Capacity()}
	players := c.tickets.players(c.tx, tickets)
	if conf.Backfill == Automatic && r.MaxPlayers-conf.kept()-len(players) > 0 {
		m.AutoTicketID = c.tx.ID(autoPrefix)
	}
	for _, p := range players {
		r.Players = append(r.Players, session.Joining{PlayerID: p.ID})
		for _, location := range slices.Sorted(maps.Keys(p.Latency)) {
			r.Latencies = append(r.Latencies, placement.Latency{PlayerID: p.ID, Location: location, Millis: float32(p.Latency[location])})
		}
	}
	r.MaxPlayers = max(r.MaxPlayers, len(players)) // team sizes may have grown by expansion
	r.MatchmakerData = c.configurations.matchmakerData(conf, rs, m.ID, players, m.AutoTicketID)
	return r, nil
}

// placed completes, drops or fails the match whose placement has ended.
func (l *lives) placed(tx *store.Tx, p *placement.Placement) {
	m := l.t.matches.Get(tx, p.ID)
	if m == nil || !m.AcceptBy.IsZero() {
		return // not a placement of matchmaking
	}
	c := l.in(tx)
	tickets := c.Tickets(m)
	switch p.Status {
	case placement.Fulfilled:
		to := &life.Connection{
			GameSessionID: p.GameSessionID, IP: p.IPAddress, DNS: p.DNSName, Port: p.Port, PlayerSessions: make(map[string]string, len(p.Placed)),
		}
		for _, placed := range p.Placed {
			to.PlayerSessions[placed.PlayerID] = placed.PlayerSessionID
		}
		c.Complete(m, tickets, to)
		tx.OnCommit(func() { l.metrics.count("MatchesPlaced", m.Configuration, 1) })
		l.backfills.begin(tx, m, l.tickets.players(tx, tickets), p.GameSessionID)
	case placement.TimedOut:
		c.Unplaced(m, tickets) // so AWS's staff describe it
	default:
		c.Fail(m, tickets, unexpectedReason, unexpectedMessage)
	}
}

// Fill completes a match that fills up a game session: it reserves slots for the new
// players, updates the matchmaker data and notifies the game server.
func (c *change) Fill(m *Match, tickets []*Ticket) {
	gameSessionID := ""
	var joining []session.Joining
	for _, t := range tickets {
		if t.Backfill {
			gameSessionID = t.GameSessionID
			continue
		}
		for _, member := range t.Members {
			joining = append(joining, session.Joining{PlayerID: member.PlayerID})
		}
	}
	made, err := c.sessions.Players.ReserveNow(c.tx, session.ReserveInput{GameSessionID: gameSessionID, Players: joining})
	if err != nil {
		c.Unfilled(m, tickets, refusedBy(err))
		return
	}
	g := c.sessions.Live(c.tx, gameSessionID)
	to := &life.Connection{GameSessionID: g.ID, IP: g.IPAddress, DNS: g.DNSName, Port: g.Port, PlayerSessions: map[string]string{}}
	for _, p := range made {
		to.PlayerSessions[p.PlayerID] = p.ID
	}
	c.updateSession(m, tickets, g)
	c.Complete(m, tickets, to)
	c.backfills.proceed(c.tx, m, g.ID)
	if c.t.bySession.First(c.tx, g.ID) == nil {
		c.backfills.resume(c.tx, g.ID)
	}
}

// updateSession sets the matchmaker data of a game session to that of the match that
// fills it up.
func (c *change) updateSession(m *Match, tickets []*Ticket, g *session.GameSession) {
	conf := c.t.configurations.Get(c.tx, m.Configuration)
	players := c.tickets.players(c.tx, backfillFirst(tickets))
	m.AutoTicketID = c.backfills.next(c.tx, conf, g.ID, players)
	rs, err := c.ruleSets.of(c.tx, conf)
	if err != nil {
		return // cannot happen: a rule set in use cannot be deleted
	}
	c.sessions.SetMatchmakerData(c.tx, g.ID, c.configurations.matchmakerData(conf, rs, m.ID, players, m.AutoTicketID), matchmakingDataUpdated, m.Backfill)
}

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

// refusedBy returns the message of a fault, without its code.
func refusedBy(err error) string {
	if f, ok := fault.As(err); ok {
		return f.Message
	}
	return err.Error()
}
