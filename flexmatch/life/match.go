package life

import (
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Match is a set of tickets that play together, from the pass that found it until its
// tickets have ended or wait again.
type Match struct {
	ID            string      `json:"id"`
	Configuration string      `json:"configuration"`
	Created       time.Time   `json:"created"`
	Tickets       []string    `json:"tickets"`            // in order of arrival
	Backfill      string      `json:"backfill,omitzero"`  // the backfill ticket among them
	AcceptBy      time.Time   `json:"accept_by,omitzero"` // set while acceptance is pending
	Level         int         `json:"level,omitzero"`     // of expansions, from 0
	Rules         []RuleCount `json:"rules,omitzero"`
	Players       int         `json:"players"` // number of new players
	Result        string      `json:"result,omitzero"`
	Ended         time.Time   `json:"ended,omitzero"`
	GameSessionID string      `json:"game_session_id,omitzero"`

	AutoTicketID string `json:"auto_ticket_id,omitzero"` // of the following automatic backfill, announced in the matchmaker data
}

// Settings are what the life of tickets depends on in a matchmaking configuration.
type Settings struct {
	AcceptanceRequired bool
	AcceptanceTimeout  time.Duration
	Queue              bool // matches are placed by a queue; false means standalone
}

// Connection says how the players of a match reach their game session.
type Connection struct {
	GameSessionID  string
	IP, DNS        string
	Port           int
	PlayerSessions map[string]string // by player
}

// AllWait reports whether all of the tickets exist and wait for a match of a configuration.
func (c Change) AllWait(configuration string, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		t := c.Rows.Ticket(id)
		return t == nil || !t.Status.Waits() || t.Configuration != configuration
	})
}

// Propose creates m, a match of the tickets with the given ids, which wait. teams has the
// team of each. The match starts its acceptance or, without one, proceeds. The caller sets
// m.ID and the members that the search determines.
func (c Change) Propose(s Settings, m Match, ids, teams []string) []Step {
	tickets := make([]*Ticket, len(ids))
	steps := make([]Step, 0, len(ids)+2)
	for i, id := range ids {
		t := c.Rows.Ticket(id)
		if t.Status == Queued {
			t = t.moved(Searching)
			steps = searching(steps, t)
		}
		t = t.edit()
		t.MatchID, t.Reason, t.Message = m.ID, "", ""
		if tickets[i] = t; t.Backfill {
			m.Backfill = t.ID
			continue
		}
		m.Players += len(t.Members)
		for j := range t.Members {
			t.Members[j].Team = teams[i]
		}
	}
	slices.SortFunc(tickets, func(a, b *Ticket) int { return strings.Compare(a.Arrival, b.Arrival) })
	m.Created, m.Tickets = c.Now, make([]string, len(tickets))
	for i, t := range tickets {
		m.Tickets[i] = t.ID
	}
	steps = append(steps, Step{Do: Notify, Notice: ProposedNotice, Match: &m, Tickets: tickets})
	if !s.AcceptanceRequired {
		return c.proceed(steps, s, &m, tickets)
	}
	asked := m
	asked.AcceptBy = c.Now.Add(s.AcceptanceTimeout)
	steps = append(steps, Step{Do: Ask, Match: &asked})
	for _, t := range tickets {
		t.move(RequiresAcceptance) // the notice does not show it
		steps = append(steps, Step{Do: Write, Ticket: t})
	}
	return steps
}

// proceed continues with a match that all players accepted or that needs no acceptance:
// it fills up the game session, is placed by the queue or, if standalone, is complete.
func (c Change) proceed(steps []Step, s Settings, old *Match, tickets []*Ticket) []Step {
	m := *old
	m.AcceptBy = time.Time{}
	session := ""
	for _, t := range tickets {
		if t.ID == m.Backfill {
			session = t.GameSessionID
		}
	}
	do := Place
	switch {
	case s.Queue && session != "":
		do = Fill
	case !s.Queue || m.Backfill != "":
		return append(steps, c.Complete(&m, tickets, nil)...)
	}
	placing := make([]*Ticket, len(tickets))
	for i, t := range tickets {
		placing[i] = t.moved(Placing)
	}
	return append(steps, Step{Do: do, Match: &m, Tickets: placing})
}

// Answer records the answer of players of a ticket to their match. One rejection drops
// the match; when all have accepted, it proceeds.
func (c Change) Answer(s Settings, t *Ticket, players []string, a Answer) ([]Step, error) {
	if err := t.CannotAnswer(); err != nil {
		return nil, err
	}
	t = t.edit()
	for i, id := range players {
		p := t.player(id)
		if p == nil {
			return nil, fault.Invalid("PlayerIds.%d: player %s is not in ticket %s", i+1, id, t.ID)
		}
		p.Answer = a
	}
	m := c.Rows.Match(t.MatchID)
	tickets := c.Tickets(m)
	tickets[slices.Index(m.Tickets, t.ID)] = t
	steps := []Step{{Do: Write, Ticket: t}, {Do: Notify, Notice: AnsweredNotice, Match: m, Tickets: tickets}}
	switch {
	case a == Reject:
		return c.drop(steps, m, tickets, SomeRejected), nil
	case slices.ContainsFunc(tickets, func(t *Ticket) bool { return !t.accepted() }):
		return steps, nil
	}
	steps = append(steps, Step{Do: Notify, Notice: AcceptanceEndedNotice, Match: m, Tickets: tickets, Reason: AllAccepted})
	return c.proceed(steps, s, m, tickets), nil
}

// Unanswered drops a match whose acceptance has timed out.
func (c Change) Unanswered(m *Match) []Step {
	return c.drop(nil, m, c.Tickets(m), AcceptanceTimedOut)
}

// drop drops a potential match. Tickets whose players all accepted search again, as does a
// backfill. The others are cancelled (API reference, AcceptMatch).
func (c Change) drop(steps []Step, m *Match, tickets []*Ticket, how string) []Step {
	steps = append(steps, Step{Do: Notify, Notice: AcceptanceEndedNotice, Match: m, Tickets: tickets, Reason: how})
	for _, t := range tickets {
		if t.accepted() {
			steps = c.again(steps, t)
		} else {
			steps = c.end(steps, t, Declined)
		}
	}
	return append(steps, c.close(m, "not accepted: "+how, ""))
}

// Complete ends a match successfully. A standalone match has no connection.
func (c Change) Complete(m *Match, tickets []*Ticket, to *Connection) []Step {
	steps, ended, session := make([]Step, 0, len(tickets)+2), make([]*Ticket, len(tickets)), ""
	if to != nil {
		session = to.GameSessionID
	}
	for i, t := range tickets {
		t = t.moved(Completed)
		t.Reason, t.Message, t.Ended = "", "", c.Now
		if to != nil {
			t.Members = slices.Clone(t.Members)
			t.GameSessionID, t.IPAddress, t.DNSName, t.Port = to.GameSessionID, to.IP, to.DNS, to.Port
			for j := range t.Members {
				t.Members[j].PlayerSessionID = to.PlayerSessions[t.Members[j].PlayerID]
			}
		}
		ended[i] = t
		steps = append(steps, Step{Do: Write, Ticket: t})
	}
	return append(steps, Step{Do: Notify, Notice: SucceededNotice, Match: m, Tickets: ended, To: to}, c.close(m, string(Completed), session))
}

// Fail ends a match that got no game session.
func (c Change) Fail(m *Match, tickets []*Ticket, reason, message string) []Step {
	steps, failed := make([]Step, 0, len(tickets)+2), make([]*Ticket, len(tickets))
	for i, t := range tickets {
		failed[i] = c.failed(t, reason, message)
		steps = append(steps, Step{Do: Write, Ticket: failed[i]})
	}
	return append(steps, Step{Do: Notify, Notice: FailedNotice, Match: m, Tickets: failed}, c.close(m, string(Failed)+": "+message, ""))
}

// Unfilled ends a backfill whose game session is full or accepts no players. The new
// players search again.
func (c Change) Unfilled(m *Match, tickets []*Ticket, why string) []Step {
	var steps []Step
	for _, t := range tickets {
		if !t.Backfill {
			steps = c.again(steps, t)
			continue
		}
		t = c.failed(t, "BACKFILL_FAILED", why)
		steps = append(steps, Step{Do: Write, Ticket: t}, Step{Do: Notify, Notice: FailedNotice, Match: m, Tickets: []*Ticket{t}},
			Step{Do: Tell, Ticket: t, Reason: backfillFailed})
	}
	return append(steps, c.close(m, string(Failed)+": "+why, ""))
}

func (c Change) failed(t *Ticket, reason, message string) *Ticket {
	t = t.moved(Failed)
	t.Reason, t.Message, t.Ended = reason, message, c.Now
	return t
}

// close returns the step that archives a match that has ended.
func (c Change) close(old *Match, result, gameSessionID string) Step {
	m := *old
	m.AcceptBy, m.Result, m.Ended, m.GameSessionID = time.Time{}, result, c.Now, gameSessionID
	return Step{Do: Close, Match: &m}
}
