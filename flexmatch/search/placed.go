package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// judge judges a complete placement and keeps it if it is valid and better than the best.
// It returns true to end the search.
func (p *placement) judge() bool {
	if !p.decide() {
		p.passed++
		return p.passed >= judgement*p.limit || p.tooLate != nil && p.tooLate(p.passed)
	}
	p.judged++
	balanced := p.rs.Algorithm.Strategy == ruleset.Balanced
	if len(p.unsure) == 0 && !balanced {
		p.keep(0)
		return true
	}
	l := p.seats.of(p.rs, p.set, p.teams)
	spread := 0.0
	if balanced {
		spread = Spread(l, p.rs.Algorithm.Balanced)
	}
	if (!p.found || spread < p.spread) && p.keeps(p.level, l, p.unsure) {
		p.keep(spread)
	}
	return p.judged >= p.limit || p.tooLate != nil && p.tooLate(4*p.judged) || p.found && (!balanced || p.spread == 0)
}

// decide judges rules about team averages by the sums of the attribute aimed at. It
// returns false if one is broken, and leaves the rules that need the evaluator in unsure.
func (p *placement) decide() bool {
	p.unsure = append(p.unsure[:0], p.plan.teams...)
	if p.aims == nil {
		return true
	}
	for i := range p.aims.rules {
		r := &p.aims.rules[i]
		switch p.aims.verdict(r, p.filled) {
		case broken:
			p.tally.Note(r.number, false)
			return false
		case kept:
			p.tally.Note(r.number, true)
			p.unsure = slices.DeleteFunc(p.unsure, func(rule int) bool { return rule == r.number })
		}
	}
	return true
}

func (p *placement) keep(spread float64) {
	p.found, p.spread = true, spread
	p.best = append(p.best[:0], p.teams...)
}

// Spread returns the distance between the highest and lowest team average of a number
// attribute, ignoring empty teams.
func Spread(l *ruleset.Lineup, attribute int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, team := range l.Teams {
		if len(team) == 0 {
			continue
		}
		total := 0.0
		for _, m := range team {
			total += m.Party.Players[m.Index].Values[attribute].Number
		}
		low, high = min(low, total/float64(len(team))), max(high, total/float64(len(team)))
	}
	return max(0, high-low)
}
