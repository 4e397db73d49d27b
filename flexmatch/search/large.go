package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// large forms matches of more than 40 players (developer guide, large matches): it
// divides the pool by the strings that must be equal, then by location. In each group it
// gathers a match around the oldest ticket from those nearest in the balanced attribute.
func (s *searcher) large(pool []*entry) []*Match {
	byPriority(s.rs, pool)
	var matches []*Match
	parts := s.parts(pool)
	for n, part := range parts {
		if s.ration != nil {
			key, _ := s.stringKey(part[0])
			s.ration.open(key, len(parts)-n)
		}
		for {
			m := s.largeMatch(part)
			if m == nil {
				break
			}
			matches = append(matches, m)
			gone := make(map[*entry]bool, len(m.entries))
			for _, e := range m.entries {
				gone[e] = true
			}
			part = slices.DeleteFunc(part, func(e *entry) bool { return gone[e] })
		}
		if s.ration != nil {
			s.ration.close()
		}
	}
	return matches
}

// parts divides the pool by the strings that must be equal, in the order of each
// part's first ticket. A party with different values is in no part.
func (s *searcher) parts(pool []*entry) [][]*entry {
	var out [][]*entry
	index := map[string]int{}
	for _, e := range pool {
		key, ok := s.stringKey(e)
		if !ok {
			continue
		}
		n, known := index[key]
		if !known {
			n = len(out)
			index[key] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], e)
	}
	return out
}

func (s *searcher) stringKey(e *entry) (string, bool) {
	key := ""
	for _, r := range s.rs.Level(0).Rules {
		partition, ok := r.Traits.Column.(ruleset.Partition)
		if !ok {
			continue
		}
		first := e.party.FirstString(partition.Attribute)
		for i := range e.party.Players {
			if e.party.Players[i].Values[partition.Attribute].String != first {
				return "", false
			}
		}
		key += first + "\x00"
	}
	return key, true
}

// largeMatch forms one match from the tickets of a part. It returns nil if there is none,
// or if the steps of the part are used up, but always tries at least one anchor.
func (s *searcher) largeMatch(part []*entry) *Match {
	s.spend(len(part))
	groups := s.groups(part)
	first := 0
	if s.ration != nil {
		first = s.ration.start
	}
	for i := first; ; i++ {
		more := false
		for _, g := range groups {
			if i >= len(g.entries) || g.players < s.least() {
				continue
			}
			if more = true; !s.spend(len(g.entries)) && i > first {
				s.ration.pause(i)
				return nil
			}
			if m := s.gatherAt(g, g.entries[i]); m != nil {
				return m
			}
		}
		if !more {
			break
		}
	}
	if s.ration != nil {
		s.ration.done()
	}
	return nil
}

// spend subtracts steps from the share of a part. It returns false when the share is used
// up. The reference search is unbounded.
func (s *searcher) spend(steps int) bool {
	if s.ration == nil {
		return true
	}
	s.ration.share -= steps
	return s.ration.share >= 0
}

// least returns the fewest players that a match can have at any age.
func (s *searcher) least() int {
	n := math.MaxInt
	for _, l := range s.rs.Levels() {
		n = min(n, l.Least())
	}
	return n
}

// gatherAt tries a match around an anchor: first with all tickets, then without those
// below a rising level, whose youth would impose stricter rules on older ones.
func (s *searcher) gatherAt(g group, anchor *entry) *Match {
	highest := s.levelOf(anchor)
	for floor := 0; floor <= highest; floor++ {
		if m := s.gather(g, anchor, floor); m != nil {
			return m
		}
		if s.rs.Algorithm.OldestAge {
			break // young tickets do not tighten rules
		}
	}
	return nil
}

func (s *searcher) levelOf(e *entry) int { return s.rs.LevelAt(s.now.Sub(e.ticket.Created)) }

// gather adds the tickets nearest to the anchor that the rules allow, and distributes
// them over the teams.
func (s *searcher) gather(g group, anchor *entry, floor int) *Match {
	value := func(e *entry) float64 { return e.party.PartyNumber(s.rs.Algorithm.Balanced, "avg") }
	type neighbour struct {
		*entry
		far float64
	}
	near, origin := make([]neighbour, 0, len(g.entries)), value(anchor)
	for _, e := range g.entries {
		if e != anchor && !e.ticket.Backfill && s.levelOf(e) >= floor {
			near = append(near, neighbour{e, math.Abs(value(e) - origin)})
		}
	}
	slices.SortFunc(near, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.far, b.far), older(a.ticket, b.ticket))
	})
	c := &crowd{searcher: s, location: g.location}
	if !c.add(anchor) {
		return nil
	}
	for _, n := range near {
		if c.add(n.entry); c.total == c.room {
			break
		}
	}
	return s.spreadOut(c.entries)
}

// crowd is a growing set of tickets with the ranges of values that its rules need.
type crowd struct {
	*searcher
	location string
	entries  []*entry
	total    int
	room     int       // the most players at the age of the set
	low      []float64 // by rule: of windows
	high     []float64 // by rule: of windows, or of latencies
}

// add adds a ticket if sizes and rules allow it, and reports whether it did.
func (c *crowd) add(e *entry) bool {
	entries := append(c.entries, e)
	level := c.rs.Level(age(c.rs, entries, c.now))
	total := c.total + e.size + e.held
	c.room = level.Capacity() - c.opts.AdditionalPlayerCount
	if total > c.room {
		return false
	}
	low, high := make([]float64, len(level.Rules)), make([]float64, len(level.Rules))
	for i, r := range level.Rules {
		low[i], high[i] = math.Inf(1), math.Inf(-1)
		if len(c.entries) > 0 {
			low[i], high[i] = c.low[i], c.high[i]
		}
		switch column := r.Traits.Column.(type) {
		case ruleset.Window:
			from, to := e.party.Span(column.Attribute, column.Party)
			low[i], high[i] = min(low[i], from), max(high[i], to)
			if high[i]-low[i] > column.Limit {
				return false
			}
		case ruleset.AtLocation:
			worst, ok := column.Worst(e.party, c.location)
			high[i] = max(high[i], worst)
			if !ok || column.Most.Set && high[i] > column.Most.Value {
				return false
			}
		}
	}
	c.entries, c.total, c.low, c.high = entries, total, low, high
	return true
}
