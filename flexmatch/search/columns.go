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
	if slices.ContainsFunc(c.flat, c.located) { // all must share a location, so the evaluator needs all
		c.flat = append(slices.DeleteFunc(c.flat, c.located), c.latencies...)
	}
	for _, i := range p.shrinking {
		if slices.Contains(c.flat, i) && !slices.Contains(c.latencies, i) {
			c.shrinking = append(c.shrinking, i)
		}
	}
	for _, l := range rs.Levels() {
		c.least, c.most = min(c.least, l.Least()), max(c.most, l.Capacity())
	}
	for i := range rs.Level(0).Rules {
		c.sorts = c.sorts || rs.Traits(i).Sorts
	}
	return c
}

func (c *columns) located(rule int) bool { return c.rs.Traits(rule).Located() }

// take adds a column for a flat rule. It returns false if the evaluator must judge the
// rule.
func (c *columns) take(rule int) bool {
	switch column := c.rs.Traits(rule).Column.(type) {
	case ruleset.Partition:
		c.partitions = append(c.partitions, column.Attribute)
		c.partitionRules = append(c.partitionRules, rule)
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
	if c.rs.Algorithm.OldestAge {
		for i := range w.loosest {
			w.loosest[i] = slices.Max(w.limit)
		}
	}
	return w
}
