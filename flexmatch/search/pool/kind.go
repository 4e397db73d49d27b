package pool

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// spread is a spread that a rule bounds at every level without being a window.
type spread struct {
	attribute    int
	party        string
	most, enough []float64 // by level; see ruleset.Spread
}

// near returns the distance within which tickets are near at a level.
func (s *spread) near(level int) float64 { return min(s.most[level], 3*s.enough[level]) }

// choice is a rule that holds if all tickets have a mark in common (ruleset.Traits.Marks).
type choice struct {
	rule  int
	only  bool             // and no other match passes
	marks map[string]uint8 // their bits; those beyond the 63rd share the last
}

// kind is what seats know of a ticket. Tickets of a kind are the same to them.
type kind struct {
	size   int
	counts []int    // by index in columns.counted: players who count
	teams  []uint64 // by level: bits of the teams that can take the ticket by the rules in columns.inTeam; nil if there are none
}

// in reports whether a team can take tickets of the kind by its own rules at a level.
func (k *kind) in(level, team int) bool { return k.teams == nil || k.teams[level]>>team&1 == 1 }

// prepareCrowds finds what searches in a crowd use of the rule set.
func (c *columns) prepareCrowds() {
	for _, i := range c.rules.Flat {
		if s, ok := c.spreadOf(i); ok {
			c.spreads = append(c.spreads, s)
		}
		if t := c.rs.Traits(i); t.Marks {
			c.choices = append(c.choices, choice{i, t.OnlyMarks, map[string]uint8{}})
		}
	}
	around := len(c.spreads)
	for _, i := range c.rules.Teams {
		if s, ok := c.evenOf(i); ok {
			c.spreads = append(c.spreads, s)
		}
		if c.rs.Traits(i).InTeam && len(c.rs.Instances) <= 64 {
			c.inTeam = append(c.inTeam, i)
		}
	}
	if len(c.windows) == 0 && len(c.spreads) > 0 {
		c.reach = slices.Max(c.spreads[0].most)
		c.width = max(slices.Min(c.spreads[0].enough)/2, c.spreads[0].near(len(c.rs.Levels())-1)/16, 1e-9)
	}
	c.kindOf = map[string]int32{}
	for _, level := range c.rs.Levels() {
		for _, of := range search.AllCountsAt(level) {
			if !slices.ContainsFunc(c.counted, func(o search.Counted) bool { return o.Same(&of.Counts) }) {
				c.counted = append(c.counted, of)
			}
		}
	}
	c.plain = around+len(c.choices)+len(c.inTeam)+len(c.counted) == 0 && (!c.oldest || len(c.rs.Levels()) == 1)
	for n := range c.rs.Levels() {
		if n > 0 && c.seatsStay(n) {
			c.seats = append(c.seats, c.seats[n-1])
			continue
		}
		c.seats = append(c.seats, c.seatsAt(n))
	}
}

// seatsStay reports whether the seats of a level are those of the level before it.
func (c *columns) seatsStay(n int) bool {
	level, before := c.rs.Levels()[n], c.rs.Levels()[n-1]
	changed := func(rule int) bool { return !c.rs.Same(rule, level, before) }
	counted := append(search.AllCountsAt(before), search.AllCountsAt(level)...)
	return slices.Equal(level.Sizes, before.Sizes) && !slices.ContainsFunc(c.inTeam, changed) &&
		!slices.ContainsFunc(counted, func(of search.Counted) bool { return changed(of.Number) })
}

// spreadOf returns the spread that a rule bounds, and false if it bounds none.
func (c *columns) spreadOf(rule int) (s spread, ok bool) {
	for _, level := range c.rs.Levels() {
		of := level.Rules[rule].Traits.Spread
		if of == nil {
			return spread{}, false
		}
		s.attribute, s.party = of.Attribute, of.Party // which expansions do not change
		s.most, s.enough = append(s.most, of.Most), append(s.enough, of.Enough)
	}
	return s, true
}

// evenOf returns the spread with which a rule about averages of teams holds, and false if it is not
// such a rule.
func (c *columns) evenOf(rule int) (s spread, ok bool) {
	for _, level := range c.rs.Levels() {
		of, ok := level.Rules[rule].Averages()
		if !ok || !of.Max.Set || of.Min.Set {
			return spread{}, false
		}
		most := math.Inf(1)
		if c.largest == 1 { // the average of a team is the value of its player
			most = 2 * of.Max.Value
		}
		s.attribute, s.party = of.Attribute, "avg"
		s.most, s.enough = append(s.most, most), append(s.enough, of.Max.Value)
	}
	return s, true
}

// know sets what searches in a crowd know of an item: its spans, marks and kind.
func (c *columns) know(it *item) {
	if len(c.inTeam) > 0 {
		for _, level := range c.rs.Levels() {
			it.seated = append(it.seated, c.teamsOf(level, &it.Candidate))
		}
	}
	if it.Party.Individuals {
		return
	}
	for i := range c.spreads {
		low, _ := it.Party.Span(c.spreads[i].attribute, c.spreads[i].party)
		it.spans = append(it.spans, low)
	}
	for i := range c.choices {
		it.marks = append(it.marks, c.marksOf(&c.choices[i], it))
	}
	it.kind = c.kindFor(it)
}

// marksOf returns the bits of an item's marks, by level.
func (c *columns) marksOf(of *choice, it *item) []uint64 {
	marks := make([]uint64, len(c.rs.Levels()))
	for n, level := range c.rs.Levels() {
		if n > 0 && c.rs.Same(of.rule, level, c.rs.Levels()[n-1]) {
			marks[n] = marks[n-1]
			continue
		}
		for _, mark := range level.Rules[of.rule].Marks(level, &it.Party) {
			marks[n] |= 1 << of.bit(mark)
		}
	}
	return marks
}

// kindFor returns the number of an item's kind.
func (c *columns) kindFor(it *item) int32 {
	k := kind{size: it.Size, counts: make([]int, len(c.counted)), teams: it.seated}
	key := binary.AppendUvarint(nil, uint64(it.Size))
	for i := range c.counted {
		k.counts[i] = c.counted[i].Of(&it.Party)
		key = binary.AppendUvarint(key, uint64(k.counts[i]))
	}
	for _, teams := range it.seated {
		key = binary.AppendUvarint(key, teams)
	}
	n, ok := c.kindOf[string(key)]
	if !ok {
		n = int32(len(c.kinds))
		c.kindOf[string(key)], c.kinds = n, append(c.kinds, k)
		for n, s := range c.seats {
			if n == 0 || s != c.seats[n-1] {
				s.learn(&k)
			}
		}
	}
	return n
}

// bit returns the number of a mark's bit.
func (c *choice) bit(mark string) uint8 {
	n, ok := c.marks[mark]
	if !ok {
		n = uint8(min(len(c.marks), 63))
		c.marks[strings.Clone(mark)] = n
	}
	return n
}

// teamsOf returns the bits of the teams whose own rules a ticket passes at a level.
func (c *columns) teamsOf(level *ruleset.Level, candidate *search.Candidate) (teams uint64) {
	for team := range level.Sizes {
		l := search.InTeam(c.rs, candidate, team)
		if !slices.ContainsFunc(c.inTeam, func(i int) bool { return !level.Holds(i, l) }) {
			teams |= 1 << team
		}
	}
	return teams
}
