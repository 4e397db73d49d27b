package search

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Pass is the reference search: it forms every match that the tickets allow at a
// time, in the order of forming. Its effort grows fast with the pool; it is meant
// for small ones, and to judge faster searches.
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

// searcher holds one pass.
type searcher struct {
	rs   *ruleset.RuleSet
	opts Options
	now  time.Time
	plan *plan

	shapes *shapes // of the reference search
	ration *ration // of large matches; nil without bound
	seats  seating // of lineups judged, one after another
	tally  tally   // of rules judged; nil in the reference search, which counts nothing
}

// anchors builds a match around each ticket in order, removing what is matched.
// An anchor without a match never gets one by the removal of others, so one walk
// is enough; nor can it, or one just like it, be part of a later anchor's match.
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

// around finds the best match that holds the anchor; nil if there is none.
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
	reach      []uint64 // by candidate: the numbers of players that it and later ones can add
}

// reachable gives for each candidate the set of player counts (as bits) that it
// and the candidates after it can sum up to.
func reachable(candidates []*entry) []uint64 {
	out := make([]uint64, len(candidates)+1)
	out[len(candidates)] = 1
	for i := len(candidates) - 1; i >= 0; i-- {
		out[i] = out[i+1] | out[i+1]<<candidates[i].size
	}
	return out
}

// most gives the greatest number of new players that could join at any age.
func (a *attempt) most(anchor *entry) int {
	room := 0
	for _, l := range a.rs.Levels() {
		room = max(room, l.Capacity())
	}
	return room - a.opts.AdditionalPlayerCount - anchor.held
}

// grow adds candidates from the i-th on until the wanted number of players has
// joined, earlier ones first.
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

// sumsReach tells whether candidates from the i-th on, of so many players, leave a
// chance to the rules about sums.
func (a *attempt) sumsReach(i, players int) bool {
	return !slices.ContainsFunc(a.sums, func(s *sums) bool { return !s.reaches(a.set, i, players) })
}

// finish tries to let a game session have the players, if none is chosen yet:
// taking an earlier candidate is better than not.
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
