package search

import (
	"github.com/musterhq/muster/flexmatch/ruleset"
)

// plan classifies a rule set's rules by how early a search can judge them.
type plan struct {
	shrinking []int // rules that stay broken as the match grows
	flat      []int // enforced rules that do not depend on who is in which team
	teams     []int // the other enforced rules
	aims      []aim // by level
	symmetric bool  // no rule distinguishes teams of equal sizes

	reads ruleset.Reads // of the enforced rules
	seats ruleset.Reads // of those about teams
}

func planOf(rs *ruleset.RuleSet) *plan {
	p := &plan{symmetric: true}
	for i, r := range rs.Level(0).Rules {
		if !r.Enforced {
			continue
		}
		traits := rs.Traits(i)
		if traits.Flat {
			p.flat = append(p.flat, i)
		} else {
			p.teams = append(p.teams, i)
			p.symmetric = p.symmetric && traits.Symmetric
		}
		if traits.Shrinks {
			p.shrinking = append(p.shrinking, i)
		}
	}
	p.reads, p.seats = rs.Reads(append(p.flat[:len(p.flat):len(p.flat)], p.teams...)), rs.Reads(p.teams)
	for _, l := range rs.Levels() {
		p.aims = append(p.aims, aimAt(rs, l, p.teams))
	}
	return p
}

// hopeless reports whether no match can include the whole set: at each age that such a
// match can have, a shrinking rule is broken.
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

// ages returns the range of levels of matches that include the set. More tickets make a
// match younger, or older if the oldest ticket counts.
func (a *attempt) ages(set []*entry) (low, high int) {
	now := a.rs.LevelAt(age(a.rs, set, a.now))
	if a.rs.Algorithm.OldestAge {
		return now, max(now, a.rs.LevelAt(a.now.Sub(a.oldest)))
	}
	return 0, now
}

// keeps reports whether a lineup passes rules at a level, and counts the verdicts.
func (s *searcher) keeps(level *ruleset.Level, l *ruleset.Lineup, rules []int) bool {
	return level.Keeps(rules, l, &s.tally)
}

// together returns all players in the first team.
func together(rs *ruleset.RuleSet, set []*entry) *ruleset.Lineup {
	return new(seating).together(rs, set)
}
