package pool

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// maxMaskLevels is the most levels for which a ticket's locations are stored by level.
// With more levels, one set for all of them prunes, and the evaluator decides.
const maxMaskLevels = 8

// columns says which rules of a rule set are judged from values stored with each ticket,
// and which by the evaluator.
type columns struct {
	rules *search.Rules
	rs    *ruleset.RuleSet

	partitions []int // rules
	windows    []window
	latencies  []int // rules
	perTicket  []int // rules
	shrinking  []int // shrinking rules without a column
	flat       []int // flat rules without a column

	exactMasks bool
	oldest     bool       // the oldest ticket's age counts
	sorts      bool       // there are sort rules
	packable   bool       // matches can be packed
	width      float64    // of a bucket of the index; 0 without windows
	teams      *teamSizes // nil for large matches, which have too many

	locations map[string]int // bits of location masks
	crowded   bool           // more locations than bits
}

// maxWindows is the most windows with columns. The evaluator judges further ones.
const maxWindows = 4

// window is a limited spread: the limit at each level, and the loosest limit that a
// growing match can still reach.
type window struct {
	rule      int
	attribute int
	party     string
	limit     []float64 // by level
	loosest   []float64 // by level
}

func columnsOf(rules *search.Rules) *columns {
	rs := rules.Set
	c := &columns{rules: rules, rs: rs, locations: map[string]int{}, exactMasks: len(rs.Levels()) <= maxMaskLevels, oldest: rs.Algorithm.OldestAge}
	if !rs.Large {
		c.teams = teamSizesOf(rs)
	}
	for _, i := range rules.Flat {
		if !c.take(i) {
			c.flat = append(c.flat, i)
		}
	}
	if slices.ContainsFunc(c.flat, c.located) { // all must share a location, so the evaluator needs all
		c.flat = append(slices.DeleteFunc(c.flat, c.located), c.latencies...)
	}
	for _, i := range rules.Shrinking {
		if slices.Contains(c.flat, i) && !slices.Contains(c.latencies, i) {
			c.shrinking = append(c.shrinking, i)
		}
	}
	for i := range rs.Level(0).Rules {
		c.sorts = c.sorts || rs.Traits(i).Sorts
	}
	if len(c.windows) > 0 {
		// Half the tightest limit, but wide enough that the loosest spans few buckets.
		limits := c.windows[0].limit
		c.width = max(slices.Min(limits)/2, slices.Max(limits)/16, 1e-9)
	}
	c.packable = len(rs.Levels()) == 1 && len(c.windows) == 1 && len(c.latencies) == 0 && len(c.perTicket) == 0 &&
		len(c.flat) == 0 && len(rules.Teams) == 0 && !c.sorts && rules.Least == rules.Most && rules.Options.AdditionalPlayerCount == 0
	return c
}

func (c *columns) located(rule int) bool { return c.rs.Traits(rule).Located() }

// take adds a column for a flat rule. It returns false if the evaluator must judge the
// rule.
func (c *columns) take(rule int) bool {
	switch column := c.rs.Traits(rule).Column.(type) {
	case ruleset.Partition:
		c.partitions = append(c.partitions, rule)
		return true
	case ruleset.Window:
		if len(c.windows) == maxWindows {
			return false
		}
		c.windows = append(c.windows, c.window(rule, column))
		return true
	case ruleset.PerTicket:
		if len(c.rs.Levels()) > 64 {
			return false
		}
		c.perTicket = append(c.perTicket, rule)
		return true
	case ruleset.AtLocation:
		c.latencies = append(c.latencies, rule)
		return c.exactMasks && column.Alone
	}
	return false
}

func (c *columns) window(rule int, column ruleset.Window) window {
	w := window{rule: rule, attribute: column.Attribute, party: column.Party}
	for _, l := range c.rs.Levels() {
		w.limit = append(w.limit, l.Rules[rule].Traits.Column.(ruleset.Window).Limit)
	}
	w.loosest = slices.Clone(w.limit)
	for i := 1; i < len(w.limit); i++ {
		w.loosest[i] = max(w.loosest[i], w.loosest[i-1])
	}
	if c.oldest {
		for i := range w.loosest {
			w.loosest[i] = slices.Max(w.limit)
		}
	}
	return w
}

// item is a ticket of the pool with its columns. The fields that a walk over many items
// reads come first, with copies of the candidate's numbers, to share a cache line.
type item struct {
	*search.Candidate
	size   int      // as in the candidate
	held   int      // as in the candidate
	level  int      // the level at its age
	mask   uint64   // locations allowed at any level
	levels uint64   // bits of the levels at which the per-ticket rules hold
	masks  []uint64 // mask by level, each including those of lower levels; nil for a single level or more than maxMaskLevels
	low    [maxWindows]float64
	high   [maxWindows]float64

	partition *partition // nil if it can never be matched
	bucket    *bucket
	created   int64        // nanoseconds
	expands   int64        // when its level changes, while it is among the expansions
	alike     int32        // in an exhaustive pass: equal for tickets that no rule distinguishes
	rank      int32        // position among the anchors of a pass
	exact     []uint64     // by level: locations allowed at that level; nil for a single level or more than maxMaskLevels
	tally     search.Tally // of the searches around it that found no match; nil before the first
	gone      bool
	cuts      int8 // how often a search was cut short since the ticket last changed
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

// fill computes an item's columns. It returns the partition's key, and false if the item
// can never be matched.
func (c *columns) fill(it *item) (key string, ok bool) {
	if key, ok = c.rules.Partition(it.Candidate); !ok {
		return "", false
	}
	for i, w := range c.windows {
		it.low[i], it.high[i] = it.Party.Span(w.attribute, w.party)
	}
	it.levels = math.MaxUint64
	if len(c.perTicket) > 0 {
		it.levels = c.passedAt(it.Candidate)
	}
	c.locate(it)
	return key, it.levels != 0 && it.mask != 0
}

// passedAt returns the bits of the levels at which a ticket passes the per-ticket rules.
func (c *columns) passedAt(candidate *search.Candidate) uint64 {
	var levels uint64
	l := search.Together(c.rs, candidate)
	for n, level := range c.rs.Levels() {
		if !slices.ContainsFunc(c.perTicket, func(i int) bool { return !level.Holds(i, l) }) {
			levels |= 1 << n
		}
	}
	return levels
}

// alone counts, for each rule judged on single tickets, whether the ticket passes it at
// any age.
func (c *columns) alone(it *item) search.Tally {
	t := make(search.Tally, len(c.rs.Level(0).Rules))
	l := search.Together(c.rs, it.Candidate)
	for _, i := range slices.Concat(c.partitions, c.perTicket, c.latencies) {
		t.Note(i, slices.ContainsFunc(c.rs.Levels(), func(level *ruleset.Level) bool { return level.Holds(i, l) }))
	}
	return t
}

// locate finds the locations at which the ticket's latencies are allowed.
func (c *columns) locate(it *item) {
	it.mask = math.MaxUint64
	if len(c.latencies) == 0 || len(it.Party.Players) == 0 {
		return
	}
	it.mask = 0
	if n := len(c.rs.Levels()); n > 1 && c.exactMasks {
		it.exact = make([]uint64, n)
	}
	for location := range it.Party.Players[0].Latency {
		bit := c.bit(location)
		for n, level := range c.rs.Levels() {
			if !c.allowed(it.Party, level, location) {
				continue
			}
			it.mask |= bit
			if it.exact != nil {
				it.exact[n] |= bit
			}
		}
	}
	if it.exact != nil && !c.oldest {
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

// Causes for which the columns of two tickets exclude a common match, in the order of
// checking. Further windows follow causeWindow.
const (
	causeNone = iota
	causePartition
	causeLatency
	causePerTicket
	causeWindow
)

// causes counts how often columns agreed, and the causes of failures.
type causes [causeWindow + maxWindows]int

// into adds the verdicts of columns to their rules in a tally, and resets n. A rule was
// judged each time that nothing before it had failed.
func (n *causes) into(t search.Tally, c *columns) {
	reached := n[causeNone]
	for i := len(c.windows) - 1; i >= 0; i-- {
		t.Add(c.windows[i].rule, reached, n[causeWindow+i])
		reached += n[causeWindow+i]
	}
	for _, step := range []struct {
		cause int
		rules []int
	}{{causePerTicket, c.perTicket}, {causeLatency, c.latencies}, {causePartition, c.partitions}} {
		for _, rule := range step.rules {
			passed := reached
			if slices.Contains(c.flat, rule) {
				passed = 0 // the evaluator judges it too and counts it
			}
			t.Add(rule, passed, n[step.cause])
		}
		reached += n[step.cause]
	}
	*n = causes{}
}
