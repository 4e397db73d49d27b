package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// RuleCount counts how often a rule passed and failed in a search, as the events of
// tickets report it (developer guide, FlexMatch matchmaking events,
// ruleEvaluationMetrics).
type RuleCount struct {
	Rule   string `json:"rule"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// Tally counts verdicts by rule.
type Tally []count

type count struct{ passed, failed uint32 }

// Note counts a verdict.
func (t Tally) Note(rule int, held bool) {
	if held {
		t[rule].passed++
	} else {
		t[rule].failed++
	}
}

// Add counts several verdicts on a rule. Counts saturate.
func (t Tally) Add(rule, passed, failed int) {
	c := &t[rule]
	c.passed = uint32(min(uint64(c.passed)+uint64(passed), math.MaxUint32))
	c.failed = uint32(min(uint64(c.failed)+uint64(failed), math.MaxUint32))
}

// Plus adds o to t and returns the sum. t may be nil.
func (t Tally) Plus(o Tally) Tally {
	if t == nil {
		return slices.Clone(o)
	}
	for i := range o {
		t.Add(i, int(o[i].passed), int(o[i].failed))
	}
	return t
}

// Counts returns the counts of all rules but the sort rules, which never reject, in the
// order of the rule set: zeros if t is nil.
func (t Tally) Counts(rs *ruleset.RuleSet) []RuleCount {
	rules := rs.Level(0).Rules
	out := make([]RuleCount, 0, len(rules))
	for i, r := range rules {
		if rs.Traits(i).Sorts {
			continue
		}
		c := RuleCount{Rule: r.Name}
		if t != nil {
			c.Passed, c.Failed = int(t[i].passed), int(t[i].failed)
		}
		out = append(out, c)
	}
	return out
}
