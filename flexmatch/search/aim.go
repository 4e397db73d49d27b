package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// aims makes a placement try teams early that are even in one attribute: the balanced
// one, or one whose team averages a rule limits. It changes the order of trying but not
// the verdict: sums decide only if rounding cannot matter, else the evaluator does.
type aims struct {
	values []float64 // by ticket: sum over its players
	sums   []float64 // by team
	slack  float64   // exceeds the rounding error of all additions and subtractions
	rules  []averages
}

// averages is a rule about team averages at a level.
type averages struct {
	number int
	ruleset.Averages
}

// aim prepares the placement if there is an attribute to aim at. That depends on the
// level, because expansions change rules.
func (p *placement) aim(level int) {
	p.aims = nil
	attribute := p.plan.aims[level].attribute
	if attribute < 0 {
		return
	}
	p.aims = &p.aimed
	p.aims.rules = p.plan.aims[level].rules
	p.aims.values, p.aims.sums = zeros(p.aims.values, len(p.set)), zeros(p.aims.sums, len(p.filled))
	total := 0.0
	for i, e := range p.set {
		for n := range e.party.Players {
			v := e.party.Players[n].Values[attribute].Number
			p.aims.values[i] += v
			total += math.Abs(v)
			if e.seats != nil {
				p.aims.sums[e.seats[n]] += v
			}
		}
	}
	p.aims.slack = 1e-9 * (1 + total)
	slices.SortStableFunc(p.order, func(a, b int) int {
		return cmp.Or(p.set[b].size-p.set[a].size, cmp.Compare(p.aims.values[b], p.aims.values[a]))
	})
}

// aim is the attribute to aim at on a level, or -1, and the rules about it.
type aim struct {
	attribute int
	rules     []averages
}

func aimAt(rs *ruleset.RuleSet, level *ruleset.Level, teams []int) aim {
	a := aim{attribute: -1}
	if rs.Algorithm.Strategy == ruleset.Balanced {
		a.attribute = rs.Algorithm.Balanced
	}
	for _, i := range teams {
		of, ok := level.Rules[i].Averages()
		if ok && (a.attribute < 0 || of.Attribute == a.attribute) {
			a.attribute = of.Attribute
			a.rules = append(a.rules, averages{i, of})
		}
	}
	return a
}

// lighter compares two teams by their sums of the attribute aimed at.
func (p *placement) lighter(a, b int) int {
	if p.aims == nil {
		return 0
	}
	return cmp.Compare(p.aims.sums[a], p.aims.sums[b])
}

// Verdicts on a rule about averages.
const (
	unsure = iota
	kept
	broken
)

// verdict judges a rule by the teams' sums.
func (a *aims) verdict(r *averages, filled []int) int {
	sums := a.sums
	reference, ok := one(r.Reference, sums, filled)
	if !ok {
		return kept // an average of no players is undefined, and passes
	}
	if r.Measured.Whole {
		v, ok := one(r.Measured, sums, filled)
		if !ok {
			return kept
		}
		return r.hold(v, reference, a.slack)
	}
	worst := kept
	for _, team := range r.Measured.Instances {
		if filled[team] == 0 {
			continue
		}
		switch r.hold(sums[team]/float64(filled[team]), reference, a.slack) {
		case broken:
			return broken
		case unsure:
			worst = unsure
		}
	}
	return worst
}

// one returns a side that is a single average, and false if it has no players.
func one(side ruleset.TeamAverage, sums []float64, filled []int) (float64, bool) {
	total, players := 0.0, 0
	for _, team := range side.Instances {
		total += sums[team]
		players += filled[team]
	}
	return total / float64(players), players > 0
}

// hold judges one average. It is unsure if the difference from a limit is within the
// slack.
func (r *averages) hold(v, reference, slack float64) int {
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
