package pool

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Blind returns what a search in a crowd cannot use of a rule set: the enforced rules, by index,
// that it judges only on whole matches; and the levels, by index, of which it leaves out rules about
// counts when it fills the teams, because there are too many states. Both are empty for large
// matches.
func Blind(rs *ruleset.RuleSet) (rules, levels []int) {
	if rs.Large {
		return nil, nil
	}
	c := columnsOf(search.RulesOf(rs, search.Options{}))
	for i, r := range rs.Level(0).Rules {
		if r.Enforced && !c.uses(i) {
			rules = append(rules, i)
		}
	}
	for n := range rs.Levels() {
		if c.seats[n].without > 0 {
			levels = append(levels, n)
		}
	}
	return rules, levels
}

// uses reports whether searches in a crowd choose candidates, groups or teams by a rule.
func (c *columns) uses(rule int) bool {
	if slices.Contains(c.latencies, rule) {
		return c.exactMasks
	}
	if slices.Contains(c.partitions, rule) || slices.Contains(c.perTicket, rule) || slices.Contains(c.inTeam, rule) ||
		slices.ContainsFunc(c.windows, func(w window) bool { return w.rule == rule }) ||
		slices.ContainsFunc(c.choices, func(o choice) bool { return o.rule == rule }) {
		return true
	}
	if _, ok := c.spreadOf(rule); ok {
		return true
	}
	if _, ok := c.evenOf(rule); ok {
		return true
	}
	return c.counts(rule)
}

// counts reports whether a rule is about counts at all levels.
func (c *columns) counts(rule int) bool {
	return !slices.ContainsFunc(c.rs.Levels(), func(l *ruleset.Level) bool {
		return !slices.ContainsFunc(search.AllCountsAt(l), func(o search.Counted) bool { return o.Number == rule })
	})
}

// MaxLocated is the most levels of a rule set at which a search in a crowd knows the locations of
// each ticket.
const MaxLocated = maxMaskLevels

// MaxStates is the most states of a level.
const MaxStates = maxStates
