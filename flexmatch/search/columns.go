package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// maxMaskLevels is the most levels for which a ticket's locations are stored by level.
// With more levels, one set for all of them prunes, and the evaluator decides.
const maxMaskLevels = 8

// columns says which rules of a rule set are judged from a ticket's columns, and which by
// the evaluator.
type columns struct {
	rs             *ruleset.RuleSet
	partitions     []int // attributes
	partitionRules []int
	windows        []window
	latencies      []int // rules
	perTicket      []int // rules
	shrinking      []int // shrinking rules without a column
	flat           []int // flat rules without a column
	teams          []int
	exactMasks     bool
	least          int // the fewest players in a match at any age
	most           int // the most
	sorts          bool
	roster         *roster

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

// take adds a column for a flat rule. It returns false if the evaluator must judge the
// rule.
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
