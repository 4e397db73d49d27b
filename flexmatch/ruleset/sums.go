package ruleset

import "math"

// Sum is what a rule says of sums over teams: that a number attribute, added up
// with a weight for each team, lies in a range.
type Sum struct {
	Attribute int
	Party     string // how parties count
	Weights   []int  // by team
	Range     Range
}

// Sums recognises rules that hold the sum of a team against another's or against a
// number, at the level; nil for other rules. A rule about each team's sum gives
// one Sum for each.
func (rs *RuleSet) Sums(l *Level, rule int) []Sum {
	r := l.Rules[rule]
	within, ok := r.sumRange()
	if !ok || !r.Enforced || len(r.Measurements) != 1 {
		return nil
	}
	measured, attribute, ok := rs.summed(r.Measurements[0])
	if !ok {
		return nil
	}
	var reference [][]int
	if r.Reference.Expr != nil {
		var same int
		if reference, same, ok = rs.summed(r.Reference.Expr); !ok || same != attribute || len(reference) != 1 {
			return nil
		}
	}
	var out []Sum
	for _, weights := range measured {
		if reference != nil {
			for team, w := range reference[0] {
				weights[team] -= w
			}
		}
		out = append(out, Sum{Attribute: attribute, Party: r.Party, Weights: weights, Range: within})
	}
	return out
}

// sumRange gives where a measurement may lie above the reference's expression, or
// above 0 where the reference is a number.
func (r *Rule) sumRange() (Range, bool) {
	c := r.Reference.Number.Value
	switch {
	case r.Reference.Expr == nil && !r.Reference.Number.Set:
		return Range{}, false
	case r.Type == Distance && r.Max.Set:
		reach := r.Max.Value + 1e-9*(1+math.Abs(c)+r.Max.Value) // rounding must not hide a sum
		return Range{c - reach, c + reach}, true
	case r.Type != Comparison:
		return Range{}, false
	}
	switch r.Operation {
	case "=":
		return Range{c, c}, true
	case "<", "<=":
		return Range{math.Inf(-1), c}, true
	case ">", ">=":
		return Range{c, math.Inf(1)}, true
	}
	return Range{}, false
}

// summed recognises the sum of a number attribute: the teams' weights in the one
// sum, or in each of several.
func (rs *RuleSet) summed(e *Expr) (weights [][]int, attribute int, ok bool) {
	path := e.counted()
	if e.function != fnSum || path == nil || path.hasKey {
		return nil, 0, false
	}
	if e.argument == path && path.many() {
		for _, team := range path.instances {
			weights = append(weights, make([]int, len(rs.Instances)))
			weights[len(weights)-1][team] = 1
		}
		return weights, path.attribute, true
	}
	one := make([]int, len(rs.Instances))
	for _, team := range path.instances {
		one[team]++
	}
	return [][]int{one}, path.attribute, true
}

// Counted gives what a player adds to a sum, where its party is aggregated in a way.
func (m Member) Counted(attribute int, party string) float64 {
	if party != "" && m.Party.together() {
		return m.Party.PartyNumber(attribute, party)
	}
	return m.player().Values[attribute].Number
}
