package ruleset

import "math"

// Range is the numbers from Low to High, inclusive.
type Range struct{ Low, High float64 }

// anything is the range of an unknown number.
var anything = Range{math.Inf(-1), math.Inf(1)}

// span returns the range of an expression's numbers, given those of the attributes, or
// anything if a value might be undefined, which passes every rule.
func (e *Expr) span(sizes []Size, ranges []Range) Range {
	switch e.function {
	case "":
		if e.part != partAttribute || e.hasKey || e.typ.base != numbers {
			return anything
		}
		for _, instance := range e.instances {
			if sizes[instance].Min < 1 {
				return anything
			}
		}
		return ranges[e.attribute]
	case fnMin, fnMax, fnAvg, fnMedian, fnFlatten:
		return e.argument.span(sizes, ranges)
	case fnStddev:
		of := e.argument.span(sizes, ranges)
		return Range{0, of.High - of.Low}
	}
	return anything
}

// Sum is a condition on sums over teams: the sum of a number attribute, with a weight for
// each team, must be in a range.
type Sum struct {
	Attribute int
	Party     string // how parties are aggregated
	Weights   []int  // by team
	Range     Range
}

// sums returns the conditions of a rule whose measurement minus its reference must be in a
// range: one for each team, if it measures each. It returns nil if the rule is not about
// sums.
func (m *measures) sums(passing Range, teams int) []Sum {
	if passing == anything || len(m.measurements) != 1 || m.reference.expr == nil && m.reference.constant.form != isNum {
		return nil
	}
	measured, attribute, ok := m.measurements[0].summed(teams)
	if !ok {
		return nil
	}
	if m.reference.expr != nil {
		reference, same, ok := m.reference.expr.summed(teams)
		if !ok || same != attribute || len(reference) != 1 {
			return nil
		}
		for _, weights := range measured {
			for team, w := range reference[0] {
				weights[team] -= w
			}
		}
	}
	c := m.reference.constant.num
	return each(measured, func(weights []int) Sum {
		return Sum{Attribute: attribute, Party: m.party, Weights: weights, Range: Range{c + passing.Low, c + passing.High}}
	})
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
			each := make([]int, teams)
			each[team] = 1
			weights = append(weights, each)
		}
		return weights, path.attribute, true
	}
	one := make([]int, teams)
	for _, team := range path.instances {
		one[team]++
	}
	return [][]int{one}, path.attribute, true
}

// Averages is a limit on the distance between averages of teams, of one attribute, with
// parties counted by their average.
type Averages struct {
	Attribute           int
	Measured, Reference TeamAverage
	Min, Max            Bound
}

// TeamAverage is one side of a rule about averages of teams.
type TeamAverage struct {
	Instances []int // the teams
	Whole     bool  // one average over all their players, not one for each team
}

// average analyzes an expression that is an average of an attribute.
func (e *Expr) average() (attribute int, of TeamAverage, ok bool) {
	if e.function != fnAvg {
		return 0, TeamAverage{}, false
	}
	path := e.leaf()
	whole := e.argument.function == fnFlatten && e.argument.argument == path
	if e.argument != path && !whole || path.part != partAttribute || path.hasKey {
		return 0, TeamAverage{}, false
	}
	return path.attribute, TeamAverage{Instances: path.instances, Whole: whole}, true
}
