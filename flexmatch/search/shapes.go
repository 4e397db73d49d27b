package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// markAlike numbers tickets so that those which no enforced rule can tell apart
// are equal.
func (s *searcher) markAlike(pool []*entry) {
	for i, n := range s.numbers(pool, &s.plan.reads) {
		pool[i].alike = n
	}
}

// numbers gives equal numbers to entries that are equal in all that is read: of
// age only the level matters.
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

// shapes remembers for the reference search which sets of tickets can be spread
// over the teams: sets of equal shape are equal to every rule about teams.
type shapes struct {
	of      map[*entry]int  // the number by which rules about teams know a ticket; nil when nearly all differ
	verdict map[string]bool // by shape of the set
	capped  bool            // a search for placements was ended by its bound
	placing placement
}

// maxVerdicts bounds the memory of shapes.
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

// known tells whether sets of the shape can be spread over the teams, if that has
// been seen.
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

// seats searches for teams that the rules about teams allow, and leaves them in
// placing. True also when the search was ended by its bound.
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

// census looks for sets of shapes that can be spread over the teams, whatever the
// other rules say: where tickets have few shapes these are far fewer sets.
type census struct {
	*attempt
	list  []*entry // candidates by shape
	reach []uint64
	set   []*entry
}

// census prepares the look; nil where it would not be shorter than the search.
func (a *attempt) census() *census {
	if a.shapes.of == nil || len(a.plan.teams) == 0 {
		return nil
	}
	c := &census{attempt: a, list: slices.Clone(a.candidates), set: slices.Clone(a.set)}
	slices.SortStableFunc(c.list, func(x, y *entry) int { return cmp.Compare(a.shapes.of[x], a.shapes.of[y]) })
	c.reach = reachable(c.list)
	return c
}

// seats tells whether some candidates from the i-th on, of that many players, can
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

// inRange tells whether the numbers of all tickets at hand leave a chance to every
// rule, at some age.
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
		return !slices.ContainsFunc(a.plan.flat, func(i int) bool { return !l.Possible(i, ranges) }) &&
			!slices.ContainsFunc(a.plan.teams, func(i int) bool { return !l.Possible(i, ranges) })
	})
}
