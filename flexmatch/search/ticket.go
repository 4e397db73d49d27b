package search

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Ticket is a request for a match.
type Ticket struct {
	ID      string
	Created time.Time // the ticket's age counts from this time
	Arrival uint64    // orders tickets created at the same time, lowest first
	Players []Player

	// Backfill says that the players are in a game session that needs more; each names
	// its team.
	Backfill bool

	Session string   // of a backfill: the game session; "" if it is not known
	Most    int      // of a backfill: the most players of a match, by the free slots of the game session; 0 means no limit
	PlaysIn []string // of another ticket: the game sessions in which one of its players is
}

// Joins reports whether a ticket's players could join the game session of a backfill: none of them is in it.
func (t *Ticket) Joins(backfill *Ticket) bool {
	return backfill.Session == "" || !slices.Contains(t.PlaysIn, backfill.Session)
}

// Player is one player of a ticket.
type Player struct {
	ID         string
	Team       string // of a backfill ticket's player: the team's name
	Attributes map[string]ruleset.Given
	Latency    map[string]float64 // milliseconds by location
}

// Options are the settings that a configuration adds to its rule set.
type Options struct {
	// AdditionalPlayerCount is how many slots of every match stay free, 0 or more.
	AdditionalPlayerCount int
}

// Candidate is a ticket prepared for searching.
type Candidate struct {
	Ticket *Ticket
	Party  ruleset.Party // its Individuals is the ticket's Backfill
	Teams  []int         // of a backfill ticket: its players' teams
	Size   int           // new players; 0 for backfill
	Held   int           // players in the game session; 0 except for backfill
	Most   int           // players of a match that the game session has slots for; math.MaxInt except for backfill

	alike int // in the reference search: equal for tickets that no rule distinguishes
}

// Prepare returns the candidate of a ticket, and false if it can never be matched.
func Prepare(rs *ruleset.RuleSet, t *Ticket) (*Candidate, bool) {
	c := new(Candidate)
	if !c.Prepare(rs, t) {
		return nil, false
	}
	return c, true
}

// Prepare makes c, which must be zero, the candidate of a ticket: it resolves the players'
// values. It returns false if the ticket can never be matched.
func (c *Candidate) Prepare(rs *ruleset.RuleSet, t *Ticket) bool {
	*c = Candidate{Ticket: t, Most: math.MaxInt, Party: ruleset.Party{Individuals: t.Backfill, Players: make([]ruleset.Player, len(t.Players))}}
	n := len(rs.Attributes)
	values := make([]ruleset.Value, n*len(t.Players))
	for i := range t.Players {
		p, own := &t.Players[i], values[i*n:(i+1)*n:(i+1)*n]
		if missing := rs.ResolveInto(own, p.Attributes); len(missing) > 0 || rs.HasLatency && len(p.Latency) == 0 {
			return false
		}
		c.Party.Players[i] = ruleset.Player{ID: p.ID, Values: own, Latency: p.Latency}
	}
	if !t.Backfill {
		c.Size = len(t.Players)
		return c.Size > 0
	}
	c.Held = len(t.Players)
	if t.Most > 0 {
		c.Most = t.Most
	}
	for i := range t.Players {
		team := rs.Instance(t.Players[i].Team)
		if team < 0 {
			return false
		}
		c.Teams = append(c.Teams, team)
	}
	return c.Held > 0
}

// Joins reports whether two candidates may be in one match as far as game sessions tell: they are not both
// backfill tickets, and no player of the one is in the game session of the other.
func (c *Candidate) Joins(o *Candidate) bool {
	switch {
	case c.Party.Individuals && o.Party.Individuals:
		return false
	case c.Party.Individuals:
		return o.Ticket.Joins(c.Ticket)
	case o.Party.Individuals:
		return c.Ticket.Joins(o.Ticket)
	}
	return true
}

// LevelAt returns the index of the level that applies at the ticket's age.
func (c *Candidate) LevelAt(rs *ruleset.RuleSet, now time.Time) int {
	if len(rs.Levels()) == 1 {
		return 0
	}
	return rs.LevelAt(now.Sub(c.Ticket.Created))
}

// Age returns the age of a match of the candidates: that of its youngest ticket, or of its
// oldest if the rule set says so.
func Age(rs *ruleset.RuleSet, set []*Candidate, now time.Time) time.Duration {
	created := set[0].Ticket.Created
	for _, c := range set[1:] {
		if c.Ticket.Created.After(created) != rs.Algorithm.OldestAge {
			created = c.Ticket.Created
		}
	}
	return now.Sub(created)
}

// Older compares tickets by age, those created at the same time by arrival.
func Older(a, b *Ticket) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Arrival, b.Arrival))
}

// SortByPriority sorts candidates: backfill first or last if the rule set says so, then
// by age, oldest first.
func SortByPriority(rs *ruleset.RuleSet, candidates []*Candidate) {
	slices.SortStableFunc(candidates, func(a, b *Candidate) int {
		return cmp.Or(Priority(rs, a)-Priority(rs, b), Older(a.Ticket, b.Ticket))
	})
}

// Priority returns where the rule set places a ticket: -1 before the others, 1 after
// them, or 0.
func Priority(rs *ruleset.RuleSet, c *Candidate) int {
	switch {
	case !c.Party.Individuals:
		return 0
	case rs.Algorithm.BackfillPriority == ruleset.PriorityHigh:
		return -1
	case rs.Algorithm.BackfillPriority == ruleset.PriorityLow:
		return 1
	}
	return 0
}

// SortByRules sorts a list, whose candidates of returns, by the sort rules, relative to an
// anchor. The sort is stable.
func SortByRules[T any](rs *ruleset.RuleSet, anchor *Candidate, list []T, of func(T) *Candidate, now time.Time) {
	keys := rs.Level(now.Sub(anchor.Ticket.Created)).SortKeys(&anchor.Party)
	if len(keys) == 0 {
		return
	}
	values := make(map[*Candidate][]float64, len(list))
	for _, v := range list {
		for _, key := range keys {
			values[of(v)] = append(values[of(v)], key(&of(v).Party))
		}
	}
	slices.SortStableFunc(list, func(a, b T) int { return slices.Compare(values[of(a)], values[of(b)]) })
}
