package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// maxMaskLevels is the most levels for which a ticket's locations are kept each
// on its own; with more, one set for all levels prunes and the reference judges.
const maxMaskLevels = 8

// columns is what the pool knows of a rule set: which rules are answered from a
// ticket's columns, and which are left to the evaluator.
type columns struct {
	rs             *ruleset.RuleSet
	partitions     []int // attributes
	partitionRules []int
	windows        []window
	latencies      []int // rules
	perTicket      []int // rules
	shrinking      []int // shrinking rules that no column answers
	flat           []int // flat rules that no column answers
	teams          []int
	exactMasks     bool
	least          int // the fewest players of a match at any age
	most           int // the most
	sorts          bool
	roster         *roster

	locations map[string]int // bits of location masks
	crowded   bool           // more locations than bits
}

// maxWindows is the most windows with columns; the evaluator judges further ones.
const maxWindows = 4

// window is a limited spread: the limit at each level, and the loosest limit
// that a match can still come under.
type window struct {
	rule      int
	attribute int
	party     string
	limit     []float64 // by level
	loosest   []float64 // by level
}

func columnsOf(rs *ruleset.RuleSet, p *plan) *columns {
	c := &columns{rs: rs, teams: p.teams, locations: map[string]int{}, least: math.MaxInt, exactMasks: len(rs.Levels()) <= maxMaskLevels}
	if !rs.Large {
		c.roster = rosterOf(rs)
	}
	for _, i := range p.flat {
		if !c.take(i) {
			c.flat = append(c.flat, i)
		}
	}
	if slices.ContainsFunc(c.flat, c.isLatency) { // all must share a location, so the evaluator needs all
		c.flat = append(slices.DeleteFunc(c.flat, c.isLatency), c.latencies...)
	}
	for _, i := range p.shrinking {
		if slices.Contains(c.flat, i) && !slices.Contains(c.latencies, i) {
			c.shrinking = append(c.shrinking, i)
		}
	}
	for _, l := range rs.Levels() {
		c.least, c.most = min(c.least, l.Least()), max(c.most, l.Capacity())
	}
	for _, r := range rs.Level(0).Rules {
		c.sorts = c.sorts || r.Type == ruleset.DistanceSort || r.Type == ruleset.AbsoluteSort
	}
	return c
}

func (c *columns) isLatency(rule int) bool { return c.rs.Level(0).Rules[rule].Type == ruleset.Latency }

// take gives a flat rule its column; false if the evaluator must judge it.
func (c *columns) take(rule int) bool {
	if attribute := c.rs.Partition(rule); attribute >= 0 {
		c.partitions = append(c.partitions, attribute)
		c.partitionRules = append(c.partitionRules, rule)
		return true
	}
	if attribute, party := c.rs.Window(rule); attribute >= 0 && len(c.windows) < maxWindows {
		c.windows = append(c.windows, c.window(rule, attribute, party))
		return true
	}
	if c.rs.PerTicket(rule) && len(c.rs.Levels()) <= 64 {
		c.perTicket = append(c.perTicket, rule)
		return true
	}
	if c.isLatency(rule) {
		c.latencies = append(c.latencies, rule)
		return c.exactMasks && !slices.ContainsFunc(c.rs.Levels(), func(l *ruleset.Level) bool { return l.Rules[rule].Max.Set })
	}
	return false
}

func (c *columns) window(rule, attribute int, party string) window {
	w := window{rule: rule, attribute: attribute, party: party}
	for _, l := range c.rs.Levels() {
		w.limit = append(w.limit, l.Rules[rule].Max.Value)
	}
	w.loosest = slices.Clone(w.limit)
	for i := 1; i < len(w.limit); i++ {
		w.loosest[i] = max(w.loosest[i], w.loosest[i-1])
	}
	if c.rs.Algorithm.OldestAge {
		for i := range w.loosest {
			w.loosest[i] = slices.Max(w.limit)
		}
	}
	return w
}

// item is a ticket of the pool with its columns. What a walk over many items reads
// stands first, copies of the entry's numbers too, so that it comes with one look
// at memory.
type item struct {
	*entry
	size   int      // as in the entry
	held   int      // as in the entry
	level  int      // of its age
	mask   uint64   // locations allowed at any level
	levels uint64   // at which the per-ticket rules hold
	masks  []uint64 // mask by level, each holding those of the levels below; nil for one level or very many
	low    [maxWindows]float64
	high   [maxWindows]float64

	part    *part // nil when it can never be matched
	bucket  *bucket
	created int64    // nanoseconds
	rank    int      // among the seeds of a pass
	exact   []uint64 // locations allowed at just that level; nil for one level or very many
	tally   tally    // of the searches around it that found no match; nil before the first
	gone    bool
	cuts    int8 // how often a search was cut short since the ticket last changed
}

// fill computes an item's columns; false if it can never be matched.
func (c *columns) fill(it *item) (key string, ok bool) {
	key, ok = c.key(it.entry)
	if !ok {
		return "", false
	}
	for i, w := range c.windows {
		it.low[i], it.high[i] = w.values(it.party)
	}
	it.levels = math.MaxUint64
	if len(c.perTicket) > 0 {
		it.levels = c.aliveAt(it.entry)
	}
	c.locate(it)
	return key, it.levels != 0 && it.mask != 0
}

func (w *window) values(p *ruleset.Party) (low, high float64) {
	if !p.Individuals {
		v := p.PartyNumber(w.attribute, w.party)
		return v, v
	}
	low, high = math.Inf(1), math.Inf(-1)
	for i := range p.Players {
		v := p.Players[i].Values[w.attribute].Number
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// key joins the values that must be equal in a match; false if the ticket's own
// players differ.
func (c *columns) key(e *entry) (string, bool) {
	key := ""
	for _, attribute := range c.partitions {
		first := firstString(e, attribute)
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

// alone counts the rules that a ticket breaks by itself at every age.
func (c *columns) alone(it *item) tally {
	t := make(tally, len(c.rs.Level(0).Rules))
	l := together(c.rs, []*entry{it.entry})
	for _, i := range slices.Concat(c.partitionRules, c.perTicket, c.latencies) {
		t.note(i, slices.ContainsFunc(c.rs.Levels(), func(level *ruleset.Level) bool { return level.Holds(i, l) }))
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

// bit numbers a location; all beyond the 63rd share the last bit, which then
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
		r := level.Rules[i]
		worst, ok := r.Worst(p, location)
		if !ok || r.MaxLatency.Set && worst > r.MaxLatency.Value {
			return false
		}
	}
	return true
}
