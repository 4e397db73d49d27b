package search

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Pass is the reference search: it returns every match that the tickets allow at a time,
// in the order of forming. Its effort grows fast with the number of tickets. It is meant
// for few of them, and to check faster searches.
func Pass(rs *ruleset.RuleSet, opts Options, tickets []*Ticket, now time.Time) []*Match {
	s := &searcher{rs: rs, opts: opts, now: now, plan: planOf(rs)}
	return s.pass(tickets)
}

func (s *searcher) pass(tickets []*Ticket) []*Match {
	rs, pool := s.rs, []*entry(nil)
	for _, t := range tickets {
		if e, ok := prepare(rs, t); ok {
			pool = append(pool, e)
		}
	}
	if rs.Large {
		return s.large(pool)
	}
	s.markAlike(pool)
	s.shapes = s.shapesOf(pool)
	byPriority(rs, pool)
	if rs.Algorithm.BackfillPriority != ruleset.PriorityLow {
		return s.anchors(&pool, func(*entry) bool { return true })
	}
	matches := s.anchors(&pool, func(e *entry) bool { return !e.ticket.Backfill })
	return append(matches, s.anchors(&pool, func(*entry) bool { return true })...)
}

// searcher is the state of one pass.
type searcher struct {
	rs   *ruleset.RuleSet
	opts Options
	now  time.Time
	plan *plan

	shapes *shapes // of the reference search
	ration *ration // of large matches; nil if unbounded
	seats  seating // of the lineup being judged
	tally  tally   // of rules judged; nil in the reference search
}

// anchors forms a match around each ticket in order, removing matched tickets. Removing
// tickets never enables a match for an earlier anchor, so one pass suffices. An anchor
// without a match, or a ticket just like it, cannot be in a later anchor's match either.
func (s *searcher) anchors(pool *[]*entry, may func(*entry) bool) []*Match {
	var matches []*Match
	gone, never := map[*entry]bool{}, map[int]bool{}
	for _, anchor := range *pool {
		if gone[anchor] || never[anchor.alike] || !may(anchor) {
			continue
		}
		var others []*entry
		for _, e := range *pool {
			if e != anchor && !gone[e] && !never[e.alike] && may(e) {
				others = append(others, e)
			}
		}
		s.shapes.capped = false
		m := s.around(anchor, others)
		if m == nil {
			never[anchor.alike] = !s.shapes.capped
			continue
		}
		matches = append(matches, m)
		for _, e := range m.entries {
			gone[e] = true
		}
	}
	*pool = slices.DeleteFunc(*pool, func(e *entry) bool { return gone[e] })
	return matches
}

// around returns the best match that includes the anchor, or nil.
func (s *searcher) around(anchor *entry, others []*entry) *Match {
	a := &attempt{searcher: s, set: []*entry{anchor}, oldest: anchor.ticket.Created}
	for _, e := range others {
		if e.ticket.Created.Before(a.oldest) {
			a.oldest = e.ticket.Created
		}
	}
	for _, e := range others {
		if !a.hopeless([]*entry{anchor, e}) && !(e.ticket.Backfill && anchor.ticket.Backfill) {
			a.candidates = append(a.candidates, e)
		}
	}
	if !a.inRange() {
		return nil
	}
	bySortRules(s.rs, anchor, a.candidates, s.now)
	a.reach = reachable(a.candidates)
	a.sums = a.sumsOf(max(0, a.most(anchor)))
	c := a.census()
	for size := a.most(anchor); size >= max(anchor.size, 1); size-- {
		if !a.sumsReach(0, size-anchor.size) || c != nil && !c.seats(0, size-anchor.size) {
			continue
		}
		if m := a.grow(0, size-anchor.size); m != nil {
			return m
		}
	}
	return nil
}

// attempt is the search around one anchor.
type attempt struct {
	*searcher
	set        []*entry
	candidates []*entry
	oldest     time.Time // of all tickets that may join
	sums       []*sums
	reach      []uint64 // by candidate: the numbers of players that it and later ones can add, as bits
}

// reachable returns, for each candidate, the set of player counts (as bits) that it and
// the candidates after it can add up to.
func reachable(candidates []*entry) []uint64 {
	out := make([]uint64, len(candidates)+1)
	out[len(candidates)] = 1
	for i := len(candidates) - 1; i >= 0; i-- {
		out[i] = out[i+1] | out[i+1]<<candidates[i].size
	}
	return out
}

// most returns the most new players in a match at any age.
func (a *attempt) most(anchor *entry) int {
	room := 0
	for _, l := range a.rs.Levels() {
		room = max(room, l.Capacity())
	}
	return room - a.opts.AdditionalPlayerCount - anchor.held
}

// grow adds candidates from the i-th on, earlier ones first, until the wanted number of
// players has joined.
func (a *attempt) grow(i, want int) *Match {
	if want == 0 {
		return a.finish(i)
	}
	tried := map[int]bool{}
	for ; i < len(a.candidates) && a.reach[i]>>want&1 == 1; i++ {
		c := a.candidates[i]
		if c.size > want || c.ticket.Backfill && a.backfilled() || tried[c.alike] {
			continue
		}
		a.set = append(a.set, c)
		if !a.hopeless(a.set) && a.sumsReach(i+1, want-c.size) {
			if m := a.grow(i+1, want-c.size); m != nil {
				return m
			}
		}
		a.set = a.set[:len(a.set)-1]
		tried[c.alike] = true
	}
	return nil
}

// sumsReach reports whether the rules about sums could pass with candidates from the i-th
// on that add that many players.
func (a *attempt) sumsReach(i, players int) bool {
	return !slices.ContainsFunc(a.sums, func(s *sums) bool { return !s.reaches(a.set, i, players) })
}

// finish tries each game session to backfill, if none is chosen yet: taking an earlier
// candidate is better than taking none.
func (a *attempt) finish(i int) *Match {
	if !a.backfilled() {
		for ; i < len(a.candidates); i++ {
			if c := a.candidates[i]; c.ticket.Backfill {
				if m := a.place(append(a.set[:len(a.set):len(a.set)], c)); m != nil {
					return m
				}
			}
		}
	}
	return a.place(a.set)
}

func (a *attempt) backfilled() bool {
	return slices.ContainsFunc(a.set, func(e *entry) bool { return e.ticket.Backfill })
}
