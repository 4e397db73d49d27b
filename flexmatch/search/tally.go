package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Evaluation counts how often a rule was judged while a match was sought, as the
// events of tickets report it (developer guide, FlexMatch matchmaking events,
// ruleEvaluationMetrics).
type Evaluation struct {
	Rule           int // its number in the rule set
	Passed, Failed int
}

// Evaluated gives the numbers of the rules that evaluations are counted for: all
// but the sort rules, which never reject, in the order of the rule set.
func Evaluated(rs *ruleset.RuleSet) []int {
	var out []int
	for i, r := range rs.Level(0).Rules {
		if r.Type != ruleset.DistanceSort && r.Type != ruleset.AbsoluteSort {
			out = append(out, i)
		}
	}
	return out
}

// count is how often a rule passed and failed; it stops at the greatest number.
type count struct{ passed, failed uint32 }

func (c *count) add(passed, failed int) {
	c.passed = uint32(min(uint64(c.passed)+uint64(passed), math.MaxUint32))
	c.failed = uint32(min(uint64(c.failed)+uint64(failed), math.MaxUint32))
}

// tally counts by rule. The nil tally counts nothing.
type tally []count

func (t tally) note(rule int, held bool) {
	switch {
	case t == nil:
	case held:
		t[rule].passed++
	default:
		t[rule].failed++
	}
}

// plus gives the sum of two tallies; the first may be nil and is changed.
func (t tally) plus(o tally) tally {
	if t == nil {
		return slices.Clone(o)
	}
	for i := range o {
		t[i].add(int(o[i].passed), int(o[i].failed))
	}
	return t
}

// evaluations writes a tally out for the rules that are counted.
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

// Causes for which the columns of two tickets do not go together; the windows
// follow causeWindow. Checked in this order.
const (
	causeNone = iota
	causePartition
	causeLatency
	causePerTicket
	causeWindow
)

// causes counts how often columns agreed, and what they failed on.
type causes [causeWindow + maxWindows]int

// into adds the verdicts of columns to the rules that they stand for: a rule was
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
				passed = 0 // the evaluator judges it too, and counts
			}
			t[rule].add(passed, n[step.cause])
		}
		reached += n[step.cause]
	}
	*n = causes{}
}
