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
