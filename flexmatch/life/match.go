package life

import (
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/fault"
)

// Match is a set of tickets that play together, from the pass that found it until its
// tickets have ended or wait again.
type Match struct {
	ID            string             `json:"id"`
	Configuration string             `json:"configuration"`
	RuleSet       string             `json:"rule_set,omitzero"` // that it follows
	Created       time.Time          `json:"created"`
	Tickets       []string           `json:"tickets"`            // in order of arrival
	Backfill      string             `json:"backfill,omitzero"`  // the backfill ticket among them
	AcceptBy      time.Time          `json:"accept_by,omitzero"` // set while acceptance is pending
	Accepted      time.Time          `json:"accepted,omitzero"`  // when the last of its players accepted; zero if they were not asked
	Level         int                `json:"level,omitzero"`     // of expansions, from 0
	Rules         []search.RuleCount `json:"rules,omitzero"`
	Players       int                `json:"players"` // number of new players
	Result        string             `json:"result,omitzero"`
	Ended         time.Time          `json:"ended,omitzero"`
	GameSessionID string             `json:"game_session_id,omitzero"`

	AutoTicketID string `json:"auto_ticket_id,omitzero"` // of the following automatic backfill, announced in the matchmaker data
}

// Proceeded returns when the match was agreed, so that it could be placed: when its players had
// accepted or, if they were not asked, when it was formed.
func (m *Match) Proceeded() time.Time {
	if m.Accepted.IsZero() {
		return m.Created
	}
	return m.Accepted
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

// Propose creates m, a match of tickets that wait. teams has the team of each. The match
// starts its acceptance or, without one, proceeds. The caller sets m.ID and the members
// that the search determines. Propose sorts the tickets.
func (c Change) Propose(s Settings, m Match, tickets []*Ticket, teams []string) {
	for i, t := range tickets {
		if t.Status == Queued {
			t = c.moved(t, Searching)
			c.search(t)
		}
		t = c.Edit(t)
		t.MatchID, t.Reason, t.Message = m.ID, "", ""
		if t.Matched.IsZero() {
			t.Matched = c.Now
		}
		tickets[i] = t
		if t.Backfill {
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
	c.Notify(Notice{Type: ProposedNotice, Match: &m, Tickets: tickets})
	if !s.AcceptanceRequired {
		c.proceed(s, &m, tickets)
		return
	}
	asked := m
	asked.AcceptBy = c.Now.Add(s.AcceptanceTimeout)
	c.AwaitAnswers(&asked)
	for _, t := range tickets {
		Moves.Move(&t.Status, RequiresAcceptance, t.ID) // only now: the notice shows the tickets as SEARCHING
		c.Write(t, 0)
	}
}

// proceed continues with a match that all players accepted or that needs no acceptance:
// it fills up the game session, is placed by the queue or, if standalone, is complete.
func (c Change) proceed(s Settings, old *Match, tickets []*Ticket) {
	m := *old
	m.AcceptBy = time.Time{}
	session := ""
	for _, t := range tickets {
		if t.ID == m.Backfill {
			session = t.GameSessionID
		}
	}
	next := c.Place
	switch {
	case s.Queue && session != "":
		next = c.Fill
	case !s.Queue || m.Backfill != "":
		c.Complete(&m, tickets, nil)
		return
	}
	for i, t := range tickets {
		tickets[i] = c.moved(t, Placing)
	}
	next(&m, tickets)
}

// Answer records the answer of players of a ticket to their match. One rejection drops
// the match; when all have accepted, it proceeds.
func (c Change) Answer(s Settings, t *Ticket, players []string, a Answer) error {
	if err := t.CannotAnswer(); err != nil {
		return err
	}
	for i, id := range players {
		if t.player(id) == nil {
			return fault.Invalid("PlayerIds.%d: player %s is not in ticket %s", i+1, id, t.ID)
		}
	}
	t = c.Edit(t)
	for _, id := range players {
		t.player(id).Answer = a
	}
	m := c.Match(t.MatchID)
	tickets := c.Tickets(m)
	tickets[slices.Index(m.Tickets, t.ID)] = t
	c.Write(t, 0)
	c.Notify(Notice{Type: AnsweredNotice, Match: m, Tickets: tickets})
	switch {
	case a == Reject:
		c.drop(m, tickets, SomeRejected)
	case !slices.ContainsFunc(tickets, func(t *Ticket) bool { return !t.accepted() }):
		c.Notify(Notice{Type: AcceptanceEndedNotice, Match: m, Tickets: tickets, Result: AllAccepted})
		accepted := *m
		accepted.Accepted = c.Now
		c.proceed(s, &accepted, tickets)
	}
	return nil
}

// Unanswered drops a match whose acceptance has timed out.
func (c Change) Unanswered(m *Match) { c.drop(m, c.Tickets(m), AcceptanceTimedOut) }

// drop drops a potential match. Tickets with a player who rejected it are cancelled, and, when
// the acceptance has timed out, tickets with a player who did not answer. The others search
// again, as does a backfill: after a rejection, also those who still had time to answer (API
// reference, AcceptMatch).
func (c Change) drop(m *Match, tickets []*Ticket, how string) {
	c.Notify(Notice{Type: AcceptanceEndedNotice, Match: m, Tickets: tickets, Result: how})
	for _, t := range tickets {
		if t.rejected() || how == AcceptanceTimedOut && !t.accepted() {
			c.end(t, Declined)
		} else {
			c.again(t, acceptanceFailed, "")
		}
	}
	c.close(m, "not accepted: "+how, "")
}

// Complete ends a match successfully. A standalone match has no connection.
func (c Change) Complete(m *Match, tickets []*Ticket, to *Connection) {
	session := ""
	if to != nil {
		session = to.GameSessionID
	}
	ended := make([]*Ticket, len(tickets))
	for i, t := range tickets {
		t = c.over(t, Completed, "", "")
		if to != nil {
			t.GameSessionID, t.IPAddress, t.DNSName, t.Port = to.GameSessionID, to.IP, to.DNS, to.Port
			for j := range t.Members {
				if m := &t.Members[j]; !m.Away {
					m.PlayerSessionID = to.PlayerSessions[m.PlayerID]
				}
			}
		}
		ended[i] = t
		c.Write(t, 0)
	}
	c.Notify(Notice{Type: SucceededNotice, Match: m, Tickets: ended, To: to})
	c.close(m, string(Completed), session)
}

// Fail ends a match that got no game session.
func (c Change) Fail(m *Match, tickets []*Ticket, reason, message string) {
	failed := make([]*Ticket, len(tickets))
	for i, t := range tickets {
		failed[i] = c.over(t, Failed, reason, message)
		c.Write(failed[i], 0)
	}
	c.Notify(Notice{Type: FailedNotice, Match: m, Tickets: failed})
	c.close(m, string(Failed)+": "+message, "")
}

// Unplaced drops a match for which no place was free before the queue's timeout. Its tickets
// search again, until they time out themselves.
func (c Change) Unplaced(m *Match, tickets []*Ticket) {
	for _, t := range tickets {
		t = c.Edit(t)
		t.Unplaced++
		c.again(t, "", UnplacedMessage)
	}
	c.close(m, "no place was free before the queue's timeout", "")
}

// Unfilled ends a backfill whose game session is full or accepts no players. The new
// players search again.
func (c Change) Unfilled(m *Match, tickets []*Ticket, why string) {
	var backfill *Ticket
	for _, t := range tickets {
		if !t.Backfill {
			c.again(t, "", unfilledMessage)
			continue
		}
		t = c.over(t, Failed, "BACKFILL_FAILED", why)
		c.Write(t, 0)
		c.Notify(Notice{Type: FailedNotice, Match: m, Tickets: []*Ticket{t}})
		c.UpdateServer(t, backfillFailed)
		backfill = t
	}
	c.close(m, string(Failed)+": "+why, "")
	if backfill != nil {
		c.Resume(backfill)
	}
}

func (c Change) close(old *Match, result, gameSessionID string) {
	m := *old
	m.AcceptBy, m.Result, m.Ended, m.GameSessionID = time.Time{}, result, c.Now, gameSessionID
	c.Close(&m)
}
