package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// balanced is the attribute in which teams are made even at a level, or -1: the balanced
// one, or one whose team averages a rule limits.
type balanced struct {
	attribute int
	rules     []averages
}

// averages is a rule about team averages at a level.
type averages struct {
	number int
	ruleset.Averages
}

func balancedAt(rs *ruleset.RuleSet, level *ruleset.Level, teams []int) balanced {
	b := balanced{attribute: -1}
	if rs.Algorithm.Strategy == ruleset.Balanced {
		b.attribute = rs.Algorithm.Balanced
	}
	for _, i := range teams {
		of, ok := level.Rules[i].Averages()
		if ok && (b.attribute < 0 || of.Attribute == b.attribute) {
			b.attribute = of.Attribute
			b.rules = append(b.rules, averages{i, of})
		}
	}
	return b
}

// balance holds the sums of the balanced attribute by team while a set is seated. It
// changes the order in which teams are tried but not the verdict: sums decide only if
// rounding cannot matter, else the evaluator does.
type balance struct {
	of     *balanced // at the level; on if it has an attribute
	on     bool
	values []float64 // by ticket: sum over its players
	sums   []float64 // by team
	slack  float64   // exceeds the rounding error of all additions and subtractions
}

// prepareBalance computes the sums, if there is an attribute at the level: expansions change
// rules.
func (s *Seating) prepareBalance() {
	b := &s.balance
	b.on = b.of.attribute >= 0
	if !b.on {
		return
	}
	b.values, b.sums = zeros(b.values, len(s.set)), zeros(b.sums, len(s.filled))
	total := 0.0
	for i, c := range s.set {
		for n := range c.Party.Players {
			v := c.Party.Players[n].Values[b.of.attribute].Number
			b.values[i] += v
			total += math.Abs(v)
			if c.Teams != nil {
				b.sums[c.Teams[n]] += v
			}
		}
	}
	b.slack = 1e-9 * (1 + total)
	slices.SortStableFunc(s.order, func(x, y int) int {
		return cmp.Or(s.set[y].Size-s.set[x].Size, cmp.Compare(b.values[y], b.values[x]))
	})
}

// lighter compares two teams by their sums.
func (b *balance) lighter(x, y int) int {
	if !b.on {
		return 0
	}
	return cmp.Compare(b.sums[x], b.sums[y])
}

// Verdicts on a rule about averages.
const (
	unsure = iota
	kept
	broken
)

// verdict judges a rule by the teams' sums.
func (b *balance) verdict(r *averages, filled []int) int {
	reference, ok := average(r.Reference, b.sums, filled)
	if !ok {
		return kept // an average of no players is undefined, and passes
	}
	if r.Measured.Whole {
		v, ok := average(r.Measured, b.sums, filled)
		if !ok {
			return kept
		}
		return r.verdict(v, reference, b.slack)
	}
	worst := kept
	for _, team := range r.Measured.Instances {
		if filled[team] == 0 {
			continue
		}
		switch r.verdict(b.sums[team]/float64(filled[team]), reference, b.slack) {
		case broken:
			return broken
		case unsure:
			worst = unsure
		}
	}
	return worst
}

// average returns a side that is a single average, and false if it has no players.
func average(side ruleset.TeamAverage, sums []float64, filled []int) (float64, bool) {
	total, players := 0.0, 0
	for _, team := range side.Instances {
		total += sums[team]
		players += filled[team]
	}
	return total / float64(players), players > 0
}

// verdict judges one average. It is unsure if the difference from a limit is within the
// slack.
func (r *averages) verdict(v, reference, slack float64) int {
	d := math.Abs(v - reference)
	most, least := r.Max, r.Min
	switch {
	case most.Set && d > most.Value+slack || least.Set && d < least.Value-slack:
		return broken
	case most.Set && !(d <= most.Value-slack) || least.Set && !(d >= least.Value+slack):
		return unsure
	}
	return kept
}
