package ruleset

import (
	"slices"
	"time"
)

// Level is the sizes and rules that apply to matches from an age on, with every expansion
// resolved.
type Level struct {
	From  time.Duration
	Sizes []Size  // by instance
	Rules []*Rule // by index; equal pointers at two levels mean equal rules
}

// Capacity returns the sum of the maximum team sizes.
func (l *Level) Capacity() int {
	total := 0
	for _, size := range l.Sizes {
		total += size.Max
	}
	return total
}

// Least returns the sum of the minimum team sizes.
func (l *Level) Least() int {
	total := 0
	for _, size := range l.Sizes {
		total += size.Min
	}
	return total
}

// Notes records verdicts on single rules. Of a compound, it also records that on each rule
// that the statement names, once for each time it is named.
type Notes interface {
	Note(rule int, held bool)
}

// Holds reports whether a lineup passes one rule. A rule whose measurement or reference
// is undefined passes, so a rule about an empty team does not prevent a match.
func (l *Level) Holds(rule int, lineup *Lineup) bool {
	return l.Rules[rule].holds(l, lineup, nil)
}

// Keeps reports whether a lineup passes rules, and notes the verdict on each rule judged.
// Located rules are judged last: they must share a location.
func (l *Level) Keeps(rules []int, lineup *Lineup, notes Notes) bool {
	located := make([]int, 0, 4)
	for _, i := range rules {
		if l.Rules[i].Traits.Located() {
			located = append(located, i)
			continue
		}
		held := l.Rules[i].holds(l, lineup, notes)
		notes.Note(i, held)
		if !held {
			return false
		}
	}
	if len(located) == 0 {
		return true
	}
	met := len(l.Locations(lineup, located)) > 0
	for _, i := range located {
		notes.Note(i, met)
	}
	return met
}

// Judge returns the first enforced rule that a lineup breaks, or nil. Located rules must
// share a location: if there are any, Judge returns the locations that qualify for all of
// them.
func (l *Level) Judge(lineup *Lineup) (broken *Rule, locations []string) {
	asked := false
	for i, r := range l.Rules {
		switch {
		case !r.Enforced:
		case r.Traits.Located() && !asked:
			asked, locations = true, l.Locations(lineup, []int{i})
		case r.Traits.Located():
			locations = slices.DeleteFunc(locations, func(location string) bool { return !r.qualifies(location, lineup) })
		case !l.Holds(i, lineup):
			return r, nil
		}
		if asked && len(locations) == 0 {
			return r, nil
		}
	}
	return nil, locations
}

// Locations returns the locations that qualify for a lineup under all of the rules, which
// must be located, in alphabetical order. A location qualifies only if every player reports
// it: a match has one location.
func (l *Level) Locations(lineup *Lineup, rules []int) []string {
	var out []string
	for location := range lineup.reported() {
		if !slices.ContainsFunc(rules, func(i int) bool { return !l.Rules[i].qualifies(location, lineup) }) {
			out = append(out, location)
		}
	}
	slices.Sort(out)
	return out
}

// Allows reports whether a location qualifies for a lineup under all enforced rules that
// require one.
func (l *Level) Allows(location string, lineup *Lineup) bool {
	return !slices.ContainsFunc(l.Rules, func(r *Rule) bool {
		return r.Enforced && r.Traits.Located() && !r.qualifies(location, lineup)
	})
}

// Located returns the enforced rules that require a location.
func (l *Level) Located() []int {
	var out []int
	for i, r := range l.Rules {
		if r.Enforced && r.Traits.Located() {
			out = append(out, i)
		}
	}
	return out
}

// SortKeys returns, for each sort rule, a function that yields the number by which the
// rule orders parties, ascending, relative to an anchor.
func (l *Level) SortKeys(anchor *Party) []func(*Party) float64 {
	var out []func(*Party) float64
	for _, r := range l.Rules {
		if r.Traits.Sorts {
			out = append(out, r.order(anchor))
		}
	}
	return out
}
