package search

import (
	"github.com/musterhq/muster/flexmatch/ruleset"
)

// plan sorts a rule set's rules by what a search can know early.
type plan struct {
	shrinking []int // rules that, once broken, stay broken however the match grows
	flat      []int // enforced rules that do not depend on who is in which team
	teams     []int // the other enforced rules
	aims      []aim // by level
	symmetric bool  // no rule tells teams of equal sizes apart

	reads ruleset.Reads // of the enforced rules
	seats ruleset.Reads // of those about teams
}

func planOf(rs *ruleset.RuleSet) *plan {
	p := &plan{symmetric: true}
	for i, r := range rs.Level(0).Rules {
		if !r.Enforced {
			continue
		}
		if rs.Flat(i) {
			p.flat = append(p.flat, i)
		} else {
			p.teams = append(p.teams, i)
			p.symmetric = p.symmetric && rs.Symmetric(i)
		}
		if rs.Shrinking(i) {
			p.shrinking = append(p.shrinking, i)
		}
	}
	p.reads, p.seats = rs.Reads(append(p.flat[:len(p.flat):len(p.flat)], p.teams...)), rs.Reads(p.teams)
	for _, l := range rs.Levels() {
		p.aims = append(p.aims, aimAt(rs, l, p.teams))
	}
	return p
}

// hopeless tells whether no match can hold all of the set: at each age that such
// a match can have, a rule is broken for good.
func (a *attempt) hopeless(set []*entry) bool {
	if len(a.plan.shrinking) == 0 {
		return false
	}
	l := a.searcher.seats.together(a.rs, set)
	low, high := a.ages(set)
	for n := low; n <= high; n++ {
		if a.keeps(a.rs.Levels()[n], l, a.plan.shrinking) {
			return false
		}
	}
	return true
}

// ages gives the levels that matches holding the set can have. More tickets make
// a match younger, or older when the oldest ticket counts.
func (a *attempt) ages(set []*entry) (low, high int) {
	now := a.rs.LevelAt(age(a.rs, set, a.now))
	if a.rs.Algorithm.OldestAge {
		return now, max(now, a.rs.LevelAt(a.now.Sub(a.oldest)))
	}
	return 0, now
}

// keeps judges rules at a level; latency rules must share a location.
func (s *searcher) keeps(level *ruleset.Level, l *ruleset.Lineup, rules []int) bool {
	var latencies []int
	for _, i := range rules {
		if level.Rules[i].Type == ruleset.Latency {
			latencies = append(latencies, i)
			continue
		}
		held := level.HoldsNoting(i, l, s.tally.note)
		if s.tally.note(i, held); !held {
			return false
		}
	}
	return len(latencies) == 0 || s.meet(level, l, latencies)
}

// meet tells whether a location qualifies for all the latency rules.
func (s *searcher) meet(level *ruleset.Level, l *ruleset.Lineup, latencies []int) bool {
	rules := make([]*ruleset.Rule, len(latencies))
	for n, i := range latencies {
		rules[n] = level.Rules[i]
	}
	met := len(level.Locations(l, rules)) > 0
	for _, i := range latencies {
		s.tally.note(i, met)
	}
	return met
}

// together puts everybody into the first team.
func together(rs *ruleset.RuleSet, set []*entry) *ruleset.Lineup {
	return new(seating).together(rs, set)
}
