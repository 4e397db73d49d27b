package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// item is a ticket of the pool with its columns. The fields that a walk over many items
// reads come first, with copies of the entry's numbers, to share a cache line.
type item struct {
	*entry
	size   int      // as in the entry
	held   int      // as in the entry
	level  int      // the level at its age
	mask   uint64   // locations allowed at any level
	levels uint64   // bits of the levels at which the per-ticket rules hold
	masks  []uint64 // mask by level, each including those of lower levels; nil for a single level or more than maxMaskLevels
	low    [maxWindows]float64
	high   [maxWindows]float64

	part    *part // nil if it can never be matched
	bucket  *bucket
	created int64    // nanoseconds
	rank    int      // position among the seeds of a pass
	exact   []uint64 // by level: locations allowed at that level; nil for a single level or more than maxMaskLevels
	tally   tally    // of the searches around it that found no match; nil before the first
	gone    bool
	cuts    int8 // how often a search was cut short since the ticket last changed
}

// maskAt returns the locations possible for a match at the level or at one that the match
// can still reach by growing.
func (it *item) maskAt(level int) uint64 {
	if it.masks == nil {
		return it.mask
	}
	return it.masks[level]
}

// exactly returns the locations allowed at a level, or at any level if exact is nil.
func (it *item) exactly(level int) uint64 {
	if it.exact == nil {
		return it.mask
	}
	return it.exact[level]
}

// fill computes an item's columns. It returns false if the item can never be matched.
func (c *columns) fill(it *item) (key string, ok bool) {
	key, ok = c.key(it.entry)
	if !ok {
		return "", false
	}
	for i, w := range c.windows {
		it.low[i], it.high[i] = it.party.Span(w.attribute, w.party)
	}
	it.levels = math.MaxUint64
	if len(c.perTicket) > 0 {
		it.levels = c.aliveAt(it.entry)
	}
	c.locate(it)
	return key, it.levels != 0 && it.mask != 0
}

// key joins the values that must be equal in a match. It returns false if the ticket's
// own players differ.
func (c *columns) key(e *entry) (string, bool) {
	key := ""
	for _, attribute := range c.partitions {
		first := e.party.FirstString(attribute)
		for i := range e.party.Players {
			if e.party.Players[i].Values[attribute].String != first {
				return "", false
			}
		}
		if key == "" {
			key = first // the common case allocates nothing
		} else {
			key += "\x00" + first
		}
	}
	return key, true
}

func (c *columns) aliveAt(e *entry) uint64 {
	var alive uint64
	l := together(c.rs, []*entry{e})
	for n, level := range c.rs.Levels() {
		if !slices.ContainsFunc(c.perTicket, func(i int) bool { return !level.Holds(i, l) }) {
			alive |= 1 << n
		}
	}
	return alive
}

// alone counts, for each rule judged on single tickets, whether the ticket passes it at
// any age.
func (c *columns) alone(it *item) tally {
	t := make(tally, len(c.rs.Level(0).Rules))
	l := together(c.rs, []*entry{it.entry})
	for _, i := range slices.Concat(c.partitionRules, c.perTicket, c.latencies) {
		t.Note(i, slices.ContainsFunc(c.rs.Levels(), func(level *ruleset.Level) bool { return level.Holds(i, l) }))
	}
	return t
}

// locate finds the locations at which the ticket's latencies are allowed.
func (c *columns) locate(it *item) {
	it.mask = math.MaxUint64
	if len(c.latencies) == 0 || len(it.party.Players) == 0 {
		return
	}
	it.mask = 0
	if n := len(c.rs.Levels()); n > 1 && c.exactMasks {
		it.exact = make([]uint64, n)
	}
	for location := range it.party.Players[0].Latency {
		bit := c.bit(location)
		for n, level := range c.rs.Levels() {
			if !c.allowed(it.party, level, location) {
				continue
			}
			if it.mask |= bit; it.exact != nil {
				it.exact[n] |= bit
			}
		}
	}
	if it.exact != nil && !c.rs.Algorithm.OldestAge {
		it.masks = slices.Clone(it.exact)
		for i := 1; i < len(it.masks); i++ {
			it.masks[i] |= it.masks[i-1]
		}
	}
}

// bit returns the bit of a location. All beyond the 63rd share the last bit, which then
// prunes less and decides nothing.
func (c *columns) bit(location string) uint64 {
	n, ok := c.locations[location]
	if !ok {
		n = min(len(c.locations), 63)
		c.locations[location] = n
		c.crowded = c.crowded || len(c.locations) > 63
	}
	return 1 << n
}

func (c *columns) allowed(p *ruleset.Party, level *ruleset.Level, location string) bool {
	for _, i := range c.latencies {
		if !level.Rules[i].Traits.Column.(ruleset.AtLocation).Allows(p, location) {
			return false
		}
	}
	return true
}
