package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Evaluation counts how often a rule was judged in a search, as the events of tickets
// report it (developer guide, FlexMatch matchmaking events, ruleEvaluationMetrics).
type Evaluation struct {
	Rule           int // its index in the rule set
	Passed, Failed int
}

// Evaluated returns the rules that evaluations are counted for, in the order of the rule
// set: all but the sort rules, which never reject.
func Evaluated(rs *ruleset.RuleSet) []int {
	var out []int
	for i := range rs.Level(0).Rules {
		if !rs.Traits(i).Sorts {
			out = append(out, i)
		}
	}
	return out
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

// Evaluations returns the counts of the given rules: zeros if t is nil.
func (t Tally) Evaluations(rules []int) []Evaluation {
	out := make([]Evaluation, len(rules))
	for i, rule := range rules {
		out[i].Rule = rule
		if t != nil {
			out[i].Passed, out[i].Failed = int(t[rule].passed), int(t[rule].failed)
		}
	}
	return out
}
