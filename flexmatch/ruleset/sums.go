package ruleset

import "math"

// Sum is a condition on sums over teams: the sum of a number attribute, with a weight for
// each team, must be in a range.
type Sum struct {
	Attribute int
	Party     string // how parties are aggregated
	Weights   []int  // by team
	Range     Range
}

// Sums returns the conditions of a rule that compares a team's sum with another's or with
// a number, for a match of that many teams. A rule about each team's sum yields one Sum per
// team. For other rules Sums returns nil.
func (r *Rule) Sums(teams int) []Sum {
	within, ok := r.sumRange()
	if !ok || len(r.Measurements) != 1 {
		return nil
	}
	measured, attribute, ok := r.Measurements[0].summed(teams)
	if !ok {
		return nil
	}
	var reference [][]int
	if r.Reference.Expr != nil {
		var same int
		if reference, same, ok = r.Reference.Expr.summed(teams); !ok || same != attribute || len(reference) != 1 {
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

// sumRange returns the range of the measurement minus the reference expression, or of the
// measurement itself if the reference is a number.
func (r *Rule) sumRange() (Range, bool) {
	c := r.Reference.Number.Value
	switch {
	case r.Reference.Expr == nil && !r.Reference.Number.Set:
		return Range{}, false
	case r.Type == Distance && r.Max.Set:
		reach := r.Max.Value + 1e-9*(1+math.Abs(c)+r.Max.Value) // tolerates rounding
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

// summed analyzes an expression that sums a number attribute. It returns the teams'
// weights in each sum: one over all teams of the path, or one for each.
func (e *Expr) summed(teams int) (weights [][]int, attribute int, ok bool) {
	path := e.counted()
	if e.function != fnSum || path == nil || path.hasKey {
		return nil, 0, false
	}
	if e.argument == path && path.many() {
		for _, team := range path.instances {
			weights = append(weights, make([]int, teams))
			weights[len(weights)-1][team] = 1
		}
		return weights, path.attribute, true
	}
	one := make([]int, teams)
	for _, team := range path.instances {
		one[team]++
	}
	return [][]int{one}, path.attribute, true
}

// Counted returns the number with which a player counts if its party is aggregated by
// party.
func (m Member) Counted(attribute int, party string) float64 {
	if party != "" && m.Party.together() {
		return m.Party.PartyNumber(attribute, party)
	}
	return m.player().Values[attribute].Number
}
