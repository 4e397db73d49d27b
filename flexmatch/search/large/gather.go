package large

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// gather returns an anchor with the tickets nearest to it that the rules allow, or nil if
// they refuse the anchor itself.
func (s *Search) gather(b batch, anchor *search.Candidate, floor int) []*search.Candidate {
	rs := s.rules.Set
	value := func(c *search.Candidate) float64 { return c.Party.PartyNumber(rs.Algorithm.Balanced, "avg") }
	type neighbor struct {
		*search.Candidate
		far float64
	}
	near, origin := make([]neighbor, 0, len(b.candidates)), value(anchor)
	for _, c := range b.candidates {
		if c != anchor && !c.Ticket.Backfill && c.LevelAt(rs, s.now) >= floor {
			near = append(near, neighbor{c, math.Abs(value(c) - origin)})
		}
	}
	slices.SortFunc(near, func(a, b neighbor) int {
		return cmp.Or(cmp.Compare(a.far, b.far), search.Older(a.Ticket, b.Ticket))
	})
	g := &gathering{s: s, location: b.location}
	if !g.add(anchor) {
		return nil
	}
	for _, n := range near {
		if g.add(n.Candidate); g.players == g.room {
			break
		}
	}
	return g.set
}

// gathering is a growing set of tickets with the ranges of values that its rules need.
type gathering struct {
	s        *Search
	location string
	set      []*search.Candidate
	players  int
	room     int       // the most players at the age of the set
	low      []float64 // by rule: of windows
	high     []float64 // by rule: of windows, or of latencies
}

func (g *gathering) add(c *search.Candidate) bool {
	set, rules := append(g.set, c), g.s.rules
	level := rules.Set.Level(search.Age(rules.Set, set, g.s.now))
	players := g.players + c.Size + c.Held
	g.room = level.Capacity() - rules.Options.AdditionalPlayerCount
	if players > g.room {
		return false
	}
	low, high := make([]float64, len(level.Rules)), make([]float64, len(level.Rules))
	for i, r := range level.Rules {
		low[i], high[i] = math.Inf(1), math.Inf(-1)
		if len(g.set) > 0 {
			low[i], high[i] = g.low[i], g.high[i]
		}
		switch column := r.Traits.Column.(type) {
		case ruleset.Window:
			from, to := c.Party.Span(column.Attribute, column.Party)
			low[i], high[i] = min(low[i], from), max(high[i], to)
			if high[i]-low[i] > column.Limit {
				return false
			}
		case ruleset.AtLocation:
			worst, ok := column.Worst(c.Party, g.location)
			high[i] = max(high[i], worst)
			if !ok || column.Most.Set && high[i] > column.Most.Value {
				return false
			}
		}
	}
	g.set, g.players, g.low, g.high = set, players, low, high
	return true
}
