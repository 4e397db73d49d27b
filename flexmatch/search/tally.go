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

// count is how often a rule passed and failed. It saturates.
type count struct{ passed, failed uint32 }

func (c *count) add(passed, failed int) {
	c.passed = uint32(min(uint64(c.passed)+uint64(passed), math.MaxUint32))
	c.failed = uint32(min(uint64(c.failed)+uint64(failed), math.MaxUint32))
}

// tally counts by rule. The nil tally counts nothing.
type tally []count

// Note counts a verdict.
func (t tally) Note(rule int, held bool) {
	switch {
	case t == nil:
	case held:
		t[rule].passed++
	default:
		t[rule].failed++
	}
}

// plus adds o to t and returns the sum. t may be nil.
func (t tally) plus(o tally) tally {
	if t == nil {
		return slices.Clone(o)
	}
	for i := range o {
		t[i].add(int(o[i].passed), int(o[i].failed))
	}
	return t
}

// evaluations returns the counts of the given rules.
func (t tally) evaluations(rules []int) []Evaluation {
	out := make([]Evaluation, len(rules))
	for i, rule := range rules {
		out[i].Rule = rule
		if t != nil {
			out[i].Passed, out[i].Failed = int(t[rule].passed), int(t[rule].failed)
		}
	}
	return out
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
func (n *causes) into(t tally, c *columns) {
	reached := n[causeNone]
	for i := len(c.windows) - 1; i >= 0; i-- {
		t[c.windows[i].rule].add(reached, n[causeWindow+i])
		reached += n[causeWindow+i]
	}
	for _, step := range []struct {
		cause int
		rules []int
	}{{causePerTicket, c.perTicket}, {causeLatency, c.latencies}, {causePartition, c.partitionRules}} {
		for _, rule := range step.rules {
			passed := reached
			if slices.Contains(c.flat, rule) {
				passed = 0 // the evaluator judges it too and counts it
			}
			t[rule].add(passed, n[step.cause])
		}
		reached += n[step.cause]
	}
	*n = causes{}
}
