package search

import (
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Pass is the reference search: it returns every match that the tickets allow at a time,
// in the order of forming. Its effort grows fast with the number of tickets: it is meant
// for few tickets and for checking faster searches. The rule set must not be one of large
// matches, which package large forms.
func Pass(rs *ruleset.RuleSet, opts Options, tickets []*Ticket, now time.Time) []*Match {
	return newReference(rs, opts, now).pass(tickets)
}

type reference struct {
	rules *Rules
	judge *Judge
	now   time.Time
	shape *shapes // which sets can be seated
}

func newReference(rs *ruleset.RuleSet, opts Options, now time.Time) *reference {
	rules := RulesOf(rs, opts)
	judge := NewJudge(rules)
	judge.Now = now
	return &reference{rules: rules, judge: judge, now: now}
}

func (r *reference) pass(tickets []*Ticket) []*Match {
	rs, pool := r.rules.Set, []*Candidate(nil)
	for _, t := range tickets {
		if c, ok := Prepare(rs, t); ok {
			pool = append(pool, c)
		}
	}
	for i, n := range r.rules.Alike(pool, r.now) {
		pool[i].alike = n
	}
	r.shape = shapesOf(r.judge, pool)
	SortByPriority(rs, pool)
	if rs.Algorithm.BackfillPriority != ruleset.PriorityLow {
		return r.anchors(&pool, func(*Candidate) bool { return true })
	}
	matches := r.anchors(&pool, func(c *Candidate) bool { return !c.Ticket.Backfill })
	return append(matches, r.anchors(&pool, func(*Candidate) bool { return true })...)
}

// anchors forms a match around each ticket in order, removing matched tickets. Removing
// tickets never enables a match for an earlier anchor, so one pass suffices. An anchor
// without a match, or a ticket just like it, cannot be in a later anchor's match either.
func (r *reference) anchors(pool *[]*Candidate, may func(*Candidate) bool) []*Match {
	var matches []*Match
	gone, never := map[*Candidate]bool{}, map[int]bool{}
	for _, anchor := range *pool {
		if gone[anchor] || never[anchor.alike] || !may(anchor) {
			continue
		}
		var others []*Candidate
		for _, c := range *pool {
			if c != anchor && !gone[c] && !never[c.alike] && may(c) {
				others = append(others, c)
			}
		}
		r.shape.bounded = false
		m := r.around(anchor, others)
		if m == nil {
			never[anchor.alike] = !r.shape.bounded
			continue
		}
		matches = append(matches, m)
		for _, c := range m.candidates {
			gone[c] = true
		}
	}
	*pool = slices.DeleteFunc(*pool, func(c *Candidate) bool { return gone[c] })
	return matches
}

// around returns the best match that includes the anchor, or nil.
func (r *reference) around(anchor *Candidate, others []*Candidate) *Match {
	a := &attempt{pass: r, set: []*Candidate{anchor}, oldest: anchor.Ticket.Created}
	for _, c := range others {
		if c.Ticket.Created.Before(a.oldest) {
			a.oldest = c.Ticket.Created
		}
	}
	for _, c := range others {
		if anchor.Joins(c) && a.possible([]*Candidate{anchor, c}) {
			a.candidates = append(a.candidates, c)
		}
	}
	if !a.inRange() {
		return nil
	}
	SortByRules(r.rules.Set, anchor, a.candidates, func(c *Candidate) *Candidate { return c }, r.now)
	a.counts = countsOf(a.candidates)
	shapes := a.shapeSearch()
	for size := a.most(anchor); size >= max(anchor.Size, 1); size-- {
		if shapes != nil && !shapes.seats(0, size-anchor.Size) {
			continue
		}
		if m := a.grow(0, size-anchor.Size); m != nil {
			return m
		}
	}
	return nil
}

// attempt is the search for the best match around one anchor.
type attempt struct {
	pass       *reference
	set        []*Candidate
	candidates []*Candidate
	oldest     time.Time // of all tickets that may join
	counts     []uint64  // by candidate: the numbers of players that it and later ones can add, as bits
}

// countsOf returns, for each candidate, the set of player counts (as bits) that it and
// the candidates after it can add up to.
func countsOf(candidates []*Candidate) []uint64 {
	out := make([]uint64, len(candidates)+1)
	out[len(candidates)] = 1
	for i := len(candidates) - 1; i >= 0; i-- {
		out[i] = out[i+1] | out[i+1]<<candidates[i].Size
	}
	return out
}

// most returns the most new players in a match at any age.
func (a *attempt) most(anchor *Candidate) int {
	return min(a.pass.rules.Most-a.pass.rules.Options.AdditionalPlayerCount, anchor.Most) - anchor.Held
}

// grow adds candidates from the i-th on, earlier ones first, until the wanted number of
// players has joined.
func (a *attempt) grow(i, want int) *Match {
	if want == 0 {
		return a.finish(i)
	}
	tried := map[int]bool{}
	for ; i < len(a.candidates) && a.counts[i]>>want&1 == 1; i++ {
		c := a.candidates[i]
		if c.Size > want || c.Ticket.Backfill && a.backfilled() || tried[c.alike] {
			continue
		}
		a.set = append(a.set, c)
		if a.possible(a.set) {
			if m := a.grow(i+1, want-c.Size); m != nil {
				return m
			}
		}
		a.set = a.set[:len(a.set)-1]
		tried[c.alike] = true
	}
	return nil
}

// finish tries each game session to backfill, if none is chosen yet: taking an earlier
// candidate is better than taking none.
func (a *attempt) finish(i int) *Match {
	if !a.backfilled() {
		for ; i < len(a.candidates); i++ {
			if c := a.candidates[i]; c.Ticket.Backfill {
				if m := a.seat(append(a.set[:len(a.set):len(a.set)], c)); m != nil {
					return m
				}
			}
		}
	}
	return a.seat(a.set)
}

func (a *attempt) backfilled() bool { return anyBackfill(a.set) }

func anyBackfill(set []*Candidate) bool {
	return slices.ContainsFunc(set, func(c *Candidate) bool { return c.Ticket.Backfill })
}

// seat distributes a set over the teams. It returns nil if no placement is a valid match.
func (a *attempt) seat(set []*Candidate) *Match {
	if seats, known := a.pass.shape.known(set); known && !seats {
		return nil
	}
	level := a.pass.judge.LevelOf(set)
	if !a.pass.judge.Keeps(set, a.pass.rules.Flat, level, level) || !a.pass.shape.seats(set) || !a.pass.shape.seating.Found {
		return nil
	}
	return a.pass.judge.Form(set, a.pass.shape.seating.Best, level) // never nil: every rule has been judged already
}

// possible reports whether a match could include the whole set: at an age that such a
// match can have, all shrinking rules hold. More tickets make a match younger, or older if
// the oldest ticket counts.
func (a *attempt) possible(set []*Candidate) bool {
	if len(a.pass.rules.Shrinking) == 0 {
		return true
	}
	rs := a.pass.rules.Set
	low, high := 0, a.pass.judge.LevelOf(set)
	if rs.Algorithm.OldestAge {
		low, high = high, max(high, rs.LevelAt(a.pass.now.Sub(a.oldest)))
	}
	return a.pass.judge.Keeps(set, a.pass.rules.Shrinking, low, high)
}

// inRange reports whether every rule could pass at some age, given the numbers of all
// tickets of the attempt.
func (a *attempt) inRange() bool {
	ranges := make([]ruleset.Range, len(a.pass.rules.Set.Attributes))
	for n := range ranges {
		ranges[n] = ruleset.Range{Low: math.Inf(1), High: math.Inf(-1)}
		for _, c := range append(a.set[:1:1], a.candidates...) {
			for i := range c.Party.Players {
				v := c.Party.Players[i].Values[n].Number
				ranges[n].Low, ranges[n].High = min(ranges[n].Low, v), max(ranges[n].High, v)
			}
		}
	}
	return slices.ContainsFunc(a.pass.rules.Set.Levels(), func(l *ruleset.Level) bool {
		never := func(i int) bool { return !l.Rules[i].Possible(l, ranges) }
		return !slices.ContainsFunc(a.pass.rules.Flat, never) && !slices.ContainsFunc(a.pass.rules.Teams, never)
	})
}
