package flexmatch

import (
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// lives carries out the steps of package life, in transactions.
type lives struct {
	t              *tables
	tickets        *tickets
	ruleSets       *RuleSets
	configurations *Configurations
	notices        *notices
	backfills      *backfills
	sessions       *session.Service
	placements     *placement.Service
	metrics        *metrics
	waits          *waits
	deadlines      *wake.Loop
	linger         time.Duration
}

// change is a change of tickets in a transaction.
type change struct {
	life.Change
	*lives
	tx   *store.Tx
	wait int // EstimatedWaitTime of the tickets that search now, in seconds; 0 means unknown
}

func (l *lives) in(tx *store.Tx) *change {
	return &change{Change: life.Change{Rows: rows{l.t, tx}, Now: tx.Now()}, lives: l, tx: tx}
}

// rows reads tickets and matches for package life.
type rows struct {
	t *tables
	r store.Reader
}

func (r rows) Ticket(id string) *Ticket { return r.t.tickets.Get(r.r, id) }
func (r rows) Match(id string) *Match   { return r.t.matches.Get(r.r, id) }

// do carries out steps.
func (c *change) do(steps []life.Step) {
	for i := range steps {
		switch s := &steps[i]; s.Do {
		case life.Write:
			c.write(s.Ticket)
		case life.Notify:
			c.notices.publish(c.tx, s, c.wait)
			c.measure(s)
		case life.Ask:
			c.t.matches.Put(c.tx, s.Match)
			c.tx.OnCommit(c.deadlines.Nudge)
		case life.Place:
			c.place(s.Match, s.Tickets)
		case life.Fill:
			c.fill(s.Match, s.Tickets)
		case life.Close:
			c.t.matches.Put(c.tx, s.Match)
			c.t.matches.Archive(c.tx, s.Match.ID)
		case life.Tell:
			if s.Ticket.GameSessionID != "" {
				c.sessions.TellBackfill(c.tx, s.Ticket.GameSessionID, s.Reason, s.Ticket.ID)
			}
		case life.Resume:
			c.backfills.resume(c.tx, s.Ticket.GameSessionID)
		}
	}
}

func (c *change) write(t *Ticket) {
	if t.Status.Over() {
		t.ArchiveAt = c.Now.Add(c.linger)
		c.tx.OnCommit(func() { c.metrics.ended(t) })
	}
	c.tickets.put(c.tx, t)
}

// measure updates the metrics for a notice, on commit.
func (c *change) measure(s *life.Step) {
	m, tickets := s.Match, s.Tickets
	switch s.Notice {
	case life.ProposedNotice:
		c.tx.OnCommit(func() { c.metrics.found(m) })
	case life.AcceptanceEndedNotice:
		metric := map[string]string{
			life.AllAccepted: "MatchesAccepted", life.SomeRejected: "MatchesRejected", life.AcceptanceTimedOut: "MatchAcceptancesTimedOut",
		}[s.Reason]
		c.tx.OnCommit(func() { c.metrics.count(metric, m.Configuration, 1) })
	case life.SucceededNotice:
		c.tx.OnCommit(func() { c.waits.matched(m, tickets); c.metrics.matched(m) })
	}
}

// Proposal is a match that a pass has found.
type Proposal struct {
	Tickets []string    `json:"tickets"`
	Teams   []string    `json:"teams"` // by ticket; "" for the backfill
	Level   int         `json:"level,omitzero"`
	Rules   []RuleCount `json:"rules,omitzero"`
}

// passArgs are the results of a pass of one configuration's matcher.
type passArgs struct {
	Configuration string     `json:"configuration"`
	RuleSet       string     `json:"rule_set"`           // the rule set that the matches follow
	Searching     []string   `json:"searching,omitzero"` // QUEUED tickets that are now in the pool and in no proposal
	Proposals     []Proposal `json:"proposals,omitzero"`
	Wait          int        `json:"wait,omitzero"` // EstimatedWaitTime in seconds; 0 means unknown
}

// runPass commits the results of a pass, each match only if all its tickets still wait.
// It returns the tickets of matches that were not created.
func (l *lives) runPass(tx *store.Tx, a passArgs) ([]string, error) {
	var refused []string
	c := l.in(tx)
	c.wait = a.Wait
	for _, id := range a.Searching {
		if t := c.Rows.Ticket(id); t != nil && t.Status == life.Queued {
			c.do(c.Search(t))
		}
	}
	conf := l.t.configurations.Get(tx, a.Configuration)
	for i := range a.Proposals {
		p := &a.Proposals[i]
		if conf == nil || conf.RuleSet != a.RuleSet || !c.AllWait(conf.Name, p.Tickets) {
			refused = append(refused, p.Tickets...)
			continue
		}
		m := Match{ID: tx.ID(""), Configuration: conf.Name, Level: p.Level, Rules: p.Rules}
		c.do(c.Propose(conf.settings(), m, p.Tickets, p.Teams))
	}
	return refused, nil
}

// stopAutomatic turns off automatic backfill of the game session that a ticket, active or
// ended, was created for, and stops its other tickets. It returns false if there is none.
func (l *lives) stopAutomatic(tx *store.Tx, ticketID string) bool {
	h := l.backfills.turnOff(tx, ticketID)
	if h == nil {
		return false
	}
	for open := range l.t.bySession.Equal(tx, h.GameSessionID) {
		if open.ID != ticketID && open.Automatic {
			c := l.in(tx)
			c.do(c.End(open, life.Stopped))
		}
	}
	return true
}

// sessionEnded cancels the backfill of a game session that has ended.
func (l *lives) sessionEnded(tx *store.Tx, g *session.GameSession) {
	l.t.hosted.Delete(tx, g.ID)
	for old := range l.t.bySession.Equal(tx, g.ID) {
		c := l.in(tx)
		c.do(c.End(old, life.SessionEnded))
	}
}

// policyChanged stops automatic backfill when a game session no longer accepts new
// players, and resumes it when it does again.
func (l *lives) policyChanged(tx *store.Tx, g *session.GameSession) {
	if l.t.hosted.Get(tx, g.ID) == nil {
		return
	}
	if g.JoinPolicy != session.DenyAll {
		l.backfills.resume(tx, g.ID)
		return
	}
	for open := range l.t.bySession.Equal(tx, g.ID) {
		if open.Automatic {
			c := l.in(tx)
			c.do(c.End(open, life.DeniesPlayers))
		}
	}
}
