package large

import (
	"math"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// gather returns an anchor with the tickets nearest to it that the rules allow, or nil if
// they refuse the anchor itself. The list is valid until the next call.
func (s *Search) gather(b batch, anchor *member, floor int) []*member {
	g := &s.gathering
	g.begin(s, b.location)
	if !g.add(anchor) {
		return nil
	}
	for _, c := range b.members {
		if c != anchor && !c.Ticket.Backfill && c.level >= floor {
			g.near = append(g.near, neighbor{c, math.Abs(c.value - anchor.value)})
		}
	}
	for i := len(g.near)/2 - 1; i >= 0; i-- {
		g.near.sift(i)
	}
	for len(g.near) > 0 && g.players < g.room {
		g.add(g.near[0].member)
		last := len(g.near) - 1
		g.near[0] = g.near[last]
		g.near = g.near[:last]
		g.near.sift(0)
	}
	return g.set
}

// gathering is a growing set of tickets with the ranges of values that its rules need.
type gathering struct {
	s        *Search
	location string
	near     nearest
	set      []*member
	created  time.Time // of the ticket whose age is that of the set
	players  int
	room     int // the most players at the age of the set

	low, high   []float64 // by rule: of windows; high also of latencies
	low2, high2 []float64 // the same with the ticket that add tries
}

// begin starts over with no tickets.
func (g *gathering) begin(s *Search, location string) {
	n := len(s.rules.Set.Level(0).Rules)
	if g.low == nil {
		g.low, g.high, g.low2, g.high2 = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	}
	for i := range n {
		g.low[i], g.high[i] = math.Inf(1), math.Inf(-1)
	}
	g.s, g.location, g.near, g.set, g.players = s, location, g.near[:0], g.set[:0], 0
}

// add adds a ticket. It returns false if the rules or the sizes of teams refuse it.
func (g *gathering) add(c *member) bool {
	rs, created := g.s.rules.Set, g.created
	if len(g.set) == 0 || c.Ticket.Created.After(created) != rs.Algorithm.OldestAge {
		created = c.Ticket.Created
	}
	level, players := rs.Level(g.s.now.Sub(created)), g.players+c.players
	room := min(level.Capacity()-g.s.rules.Options.AdditionalPlayerCount, c.Most)
	if len(g.set) > 0 {
		room = min(room, g.set[0].Most) // a backfill is the anchor
	}
	if players > room || len(g.set) > 0 && !g.set[0].Joins(c.Candidate) {
		return false
	}
	copy(g.low2, g.low)
	copy(g.high2, g.high)
	for i, r := range level.Rules {
		switch column := r.Traits.Column.(type) {
		case ruleset.Window:
			from, to := c.Party.Span(column.Attribute, column.Party)
			g.low2[i], g.high2[i] = min(g.low2[i], from), max(g.high2[i], to)
			if g.high2[i]-g.low2[i] > column.Limit {
				return false
			}
		case ruleset.AtLocation:
			worst, ok := column.Worst(&c.Party, g.location)
			g.high2[i] = max(g.high2[i], worst)
			if !ok || column.Most.Set && g.high2[i] > column.Most.Value {
				return false
			}
		}
	}
	g.set, g.created, g.players, g.room = append(g.set, c), created, players, room
	g.low, g.high, g.low2, g.high2 = g.low2, g.high2, g.low, g.high
	return true
}

// neighbor is a ticket at a distance from an anchor.
type neighbor struct {
	*member
	far float64
}

// nearest is a heap of neighbors, the nearest first and of those the oldest. Few of them
// are taken out, so they are not sorted.
type nearest []neighbor

func (n nearest) less(i, j int) bool {
	return n[i].far < n[j].far || n[i].far == n[j].far && n[i].order < n[j].order
}

// sift moves the i-th neighbor down the heap.
func (n nearest) sift(i int) {
	for child := 2*i + 1; child < len(n); child = 2*i + 1 {
		if child+1 < len(n) && n.less(child+1, child) {
			child++
		}
		if !n.less(child, i) {
			return
		}
		n[i], n[child] = n[child], n[i]
		i = child
	}
}
