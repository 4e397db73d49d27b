package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// markAlike sets alike, equal for tickets that no enforced rule distinguishes.
func (s *searcher) markAlike(pool []*entry) {
	for i, n := range s.numbers(pool, &s.plan.reads) {
		pool[i].alike = n
	}
}

// numbers returns a number for each entry, equal for entries that are equal in everything
// read. Of their ages only the level matters.
func (s *searcher) numbers(pool []*entry, reads *ruleset.Reads) []int {
	out, seen := make([]int, len(pool)), map[string]int{}
	for i, e := range pool {
		key := s.signature(e, reads)
		n, ok := seen[key]
		if !ok {
			n = len(seen)
			seen[key] = n
		}
		out[i] = n
	}
	return out
}

func (s *searcher) signature(e *entry, reads *ruleset.Reads) string {
	var b strings.Builder
	fmt.Fprint(&b, s.levelOf(e), e.ticket.Backfill, e.seats)
	for i := range e.party.Players {
		p := &e.party.Players[i]
		b.WriteByte('|')
		for n, read := range reads.Attributes {
			if read {
				fmt.Fprintf(&b, "%#v ", p.Values[n])
			}
		}
		if reads.Latency {
			fmt.Fprint(&b, p.Latency)
		}
		if reads.IDs {
			fmt.Fprintf(&b, "%q", p.ID)
		}
	}
	return b.String()
}

// shapes caches for the reference search which sets of tickets can be distributed over
// the teams. Sets of equal shape are equal to every rule about teams.
type shapes struct {
	of      map[*entry]int  // equal numbers mean tickets that rules about teams do not distinguish; nil if most differ
	verdict map[string]bool // by shape of the set
	capped  bool            // a search for placements reached its bound
	placing placement
}

// maxVerdicts bounds the cache of shapes.
const maxVerdicts = 1 << 18

func (s *searcher) shapesOf(pool []*entry) *shapes {
	out := &shapes{verdict: map[string]bool{}}
	numbers := s.numbers(pool, &s.plan.seats)
	if len(pool) > 0 && 2*(slices.Max(numbers)+1) <= len(pool) {
		out.of = map[*entry]int{}
		for i, e := range pool {
			out.of[e] = numbers[i]
		}
	}
	return out
}

// known returns whether sets of this shape can be distributed over the teams, and whether
// that is known.
func (h *shapes) known(set []*entry) (seats, known bool) {
	if h.of == nil {
		return false, false
	}
	seats, known = h.verdict[h.key(set)]
	return seats, known
}

func (h *shapes) key(set []*entry) string {
	key := make([]rune, len(set))
	for i, e := range set {
		key[i] = rune(1 + h.of[e])
	}
	slices.Sort(key)
	return string(key)
}

// seats searches for teams that the rules about teams allow, and leaves them in placing.
// It also returns true if the search reached its bound.
func (h *shapes) seats(s *searcher, set []*entry) bool {
	level := s.rs.LevelAt(age(s.rs, set, s.now))
	p := &h.placing
	p.searcher = s
	p.reset(set, level, maxPlacements)
	bounded := false
	if p.begin() {
		p.aim(level)
		p.split()
		bounded = p.next(0) && !p.found
	}
	h.capped = h.capped || bounded
	if h.of != nil && !bounded && len(h.verdict) < maxVerdicts {
		h.verdict[h.key(set)] = p.found
	}
	return p.found || bounded
}

// census searches for sets of shapes that can be distributed over the teams, ignoring
// other rules. If tickets have few shapes, there are far fewer such sets.
type census struct {
	*attempt
	list  []*entry // candidates by shape
	reach []uint64
	set   []*entry
}

// census prepares the search by shapes. It returns nil if that would not be shorter.
func (a *attempt) census() *census {
	if a.shapes.of == nil || len(a.plan.teams) == 0 {
		return nil
	}
	c := &census{attempt: a, list: slices.Clone(a.candidates), set: slices.Clone(a.set)}
	slices.SortStableFunc(c.list, func(x, y *entry) int { return cmp.Compare(a.shapes.of[x], a.shapes.of[y]) })
	c.reach = reachable(c.list)
	return c
}

// seats reports whether some candidates from the i-th on, with want players in total, can
// be seated with the set.
func (c *census) seats(i, want int) bool {
	if want == 0 && c.seated() {
		return true
	}
	last := -1
	for ; i < len(c.list) && c.reach[i]>>want&1 == 1; i++ {
		e := c.list[i]
		shape := c.shapes.of[e]
		if shape == last || e.size > want || e.ticket.Backfill && slices.ContainsFunc(c.set, func(o *entry) bool { return o.ticket.Backfill }) {
			continue
		}
		c.set = append(c.set, e)
		ok := c.seats(i+1, want-e.size)
		if c.set = c.set[:len(c.set)-1]; ok {
			return true
		}
		last = shape
	}
	return false
}

func (c *census) seated() bool {
	if seats, known := c.shapes.known(c.set); known {
		return seats
	}
	return c.shapes.seats(c.searcher, c.set)
}

// inRange reports whether every rule could pass at some age, given the numbers of all
// tickets of the attempt.
func (a *attempt) inRange() bool {
	ranges := make([]ruleset.Range, len(a.rs.Attributes))
	for n := range ranges {
		ranges[n] = ruleset.Range{Low: math.Inf(1), High: math.Inf(-1)}
		for _, e := range append(a.set[:1:1], a.candidates...) {
			for i := range e.party.Players {
				v := e.party.Players[i].Values[n].Number
				ranges[n].Low, ranges[n].High = min(ranges[n].Low, v), max(ranges[n].High, v)
			}
		}
	}
	return slices.ContainsFunc(a.rs.Levels(), func(l *ruleset.Level) bool {
		return !slices.ContainsFunc(a.plan.flat, func(i int) bool { return !l.Rules[i].Possible(l, ranges) }) &&
			!slices.ContainsFunc(a.plan.teams, func(i int) bool { return !l.Rules[i].Possible(l, ranges) })
	})
}
