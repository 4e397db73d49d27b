package flexmatch

import (
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// lives changes tickets and matches as package life decides, in transactions.
type lives struct {
	t              *tables
	tickets        *tickets
	ruleSets       *RuleSets
	configurations *Configurations
	events         *event.Log
	backfills      *backfills
	sessions       *session.Service
	placements     *placement.Service
	metrics        *metrics
	tracer         *tracing.Tracer
	waits          *waits
	deadlines      *wake.Loop
	linger         time.Duration
	matched        []func(*store.Tx, *Matched)
	staged         []func(*store.Tx, *Ticket, Stage, time.Duration)
}

// change is a change of tickets in a transaction. It implements life.Effects.
type change struct {
	life.Change
	*lives
	tx   *store.Tx
	wait int // EstimatedWaitTime of the tickets that search now, in seconds; 0 means unknown
}

func (l *lives) in(tx *store.Tx) *change {
	c := &change{lives: l, tx: tx}
	c.Change = life.Change{Effects: c, Now: tx.Now()}
	return c
}

func (c *change) Match(id string) *Match { return c.t.matches.Get(c.tx, id) }

func (c *change) Tickets(m *Match) []*Ticket { return c.tickets.get(c.tx, m.Tickets) }

// Edit returns a copy: rows are immutable.
func (c *change) Edit(t *Ticket) *Ticket { return t.Clone() }

func (c *change) Write(t *Ticket, _ life.Cause) {
	if t.Status.Waits() {
		c.tickets.roster.regard(c.tx, t)
	}
	if t.Status.Over() {
		t.ArchiveAt = c.Now.Add(c.linger)
		c.tx.OnCommit(func() {
			c.metrics.ended(t)
			c.traceEnd(t)
		})
	}
	c.tickets.put(c.tx, t)
	if t.Status.Over() && !t.Backfill {
		for _, id := range c.tickets.roster.counted(c.tx, t) {
			c.tickets.roster.renew(c.tx, id)
		}
	}
}

// Notify publishes an event, and updates the metrics on commit.
func (c *change) Notify(n life.Notice) {
	c.publish(n)
	c.stages(n)
	switch n.Type {
	case life.ProposedNotice:
		c.tx.OnCommit(func() { c.metrics.found(n.Match) })
	case life.AcceptanceEndedNotice:
		metric := map[string]string{
			life.AllAccepted: "MatchesAccepted", life.SomeRejected: "MatchesRejected", life.AcceptanceTimedOut: "MatchAcceptancesTimedOut",
		}[n.Result]
		c.tx.OnCommit(func() { c.metrics.count(metric, n.Match.Configuration, 1) })
	case life.SucceededNotice:
		c.tx.OnCommit(func() { c.waits.matched(n.Match, n.Tickets); c.metrics.matched(n.Match) })
	}
}

func (c *change) AwaitAnswers(m *Match) {
	c.t.matches.Put(c.tx, m)
	c.tx.OnCommit(c.deadlines.Nudge)
}

func (c *change) Close(m *Match) {
	c.tellMatched(m)
	c.t.matches.Put(c.tx, m)
	c.t.matches.Archive(c.tx, m.ID)
}

func (c *change) UpdateServer(t *Ticket, reason string) {
	if t.GameSessionID != "" {
		c.sessions.TellBackfill(c.tx, t.GameSessionID, reason, t.ID)
	}
}

func (c *change) Resume(t *Ticket) { c.backfills.resume(c.tx, t.GameSessionID) }

// Proposal is a match that a pass has found.
type Proposal struct {
	Tickets []string    `json:"tickets"`
	Of      []int       `json:"of,omitzero"` // by ticket: the revision with which it was searched for; nil means all are 0
	Teams   []string    `json:"teams"`       // by ticket; "" for the backfill
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

// stale reports whether the i-th ticket of a proposal has changed since it was searched for.
func (p *Proposal) stale(i int, t *Ticket) bool {
	return p.Of == nil && t.Revision != 0 || p.Of != nil && t.Revision != p.Of[i]
}

// runPass commits the results of a pass, each match only if all its tickets still wait and are
// in the game sessions that the search saw. It returns the tickets of matches that were not created.
func (l *lives) runPass(tx *store.Tx, a passArgs) ([]string, error) {
	var refused []string
	c := l.in(tx)
	c.wait = a.Wait
	for _, id := range a.Searching {
		if t := l.t.tickets.Get(tx, id); t != nil && t.Status == life.Queued {
			c.Search(t)
		}
	}
	conf := l.t.configurations.Get(tx, a.Configuration)
	for i := range a.Proposals {
		p := &a.Proposals[i]
		tickets := l.tickets.get(tx, p.Tickets)
		refuse := conf == nil || conf.RuleSet != a.RuleSet
		for i, t := range tickets {
			refuse = refuse || t == nil || !t.Status.Waits() || t.Configuration != conf.Name || p.stale(i, t)
		}
		if refuse {
			refused = append(refused, p.Tickets...)
			continue
		}
		m := Match{ID: tx.ID(""), Configuration: conf.Name, RuleSet: conf.RuleSet, Level: p.Level, Rules: p.Rules}
		c.Propose(conf.settings(), m, tickets, p.Teams)
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
			l.in(tx).End(open, life.Stopped)
		}
	}
	return true
}

func (l *lives) sessionEnded(tx *store.Tx, g *session.GameSession) {
	l.t.hosted.Delete(tx, g.ID)
	for old := range l.t.bySession.Equal(tx, g.ID) {
		l.in(tx).End(old, life.SessionEnded)
	}
}

// policyChanged stops automatic backfill when a game session no longer accepts new
// players, and resumes it when it does again or holds more.
func (l *lives) policyChanged(tx *store.Tx, g *session.GameSession) {
	l.backfills.renew(tx, g.ID)
	if g.JoinPolicy != session.DenyAll {
		return
	}
	for open := range l.t.bySession.Equal(tx, g.ID) {
		if open.Automatic {
			l.in(tx).End(open, life.DeniesPlayers)
		}
	}
}
