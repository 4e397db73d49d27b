package ruleset

import "math"

// Range is the numbers from Low to High, inclusive.
type Range struct{ Low, High float64 }

// anything is the range of an unknown number.
var anything = Range{math.Inf(-1), math.Inf(1)}

// Possible reports whether a lineup with number attributes in the given ranges and teams
// of the level's sizes could pass a rule. False is certain; true means only that the
// ranges do not rule it out.
func (l *Level) Possible(rule int, ranges []Range) bool {
	r := l.Rules[rule]
	if r.Type != Distance && r.Type != Comparison || !r.Reference.given() || r.Reference.Text != nil {
		return true
	}
	reference := Range{r.Reference.Number.Value, r.Reference.Number.Value}
	if r.Reference.Expr != nil {
		reference = l.span(r.Reference.Expr, ranges)
	}
	for _, m := range r.Measurements {
		if m.typ.base == numbers && !r.couldHold(l.span(m, ranges), reference) {
			return false
		}
	}
	return true
}

// span returns the range of an expression's numbers, or anything if a value might be
// undefined, which passes every rule.
func (l *Level) span(e *Expr, ranges []Range) Range {
	switch e.function {
	case "":
		if e.part != partAttribute || e.hasKey || e.typ.base != numbers {
			return anything
		}
		for _, instance := range e.instances {
			if l.Sizes[instance].Min < 1 {
				return anything
			}
		}
		return ranges[e.attribute]
	case fnMin, fnMax, fnAvg, fnMedian, fnFlatten:
		return l.span(e.argument, ranges)
	case fnStddev:
		of := l.span(e.argument, ranges)
		return Range{0, of.High - of.Low}
	}
	return anything
}

// couldHold reports whether numbers in the two ranges can pass. Rounding may take an
// average out of its range, so the ranges are widened slightly.
func (r *Rule) couldHold(v, reference Range) bool {
	slack := 1e-9 * (1 + math.Abs(v.Low) + math.Abs(v.High) + math.Abs(reference.Low) + math.Abs(reference.High))
	above, below := v.High-reference.Low+slack, reference.High-v.Low+slack // how far v can be above and below the reference
	if math.IsNaN(above) || math.IsNaN(below) || math.IsInf(slack, 0) {
		return true
	}
	if r.Type == Distance {
		nearest, farthest := max(0, -above, -below), max(above, below)
		return !(r.Max.Set && nearest > r.Max.Value) && !(r.Min.Set && farthest < r.Min.Value)
	}
	switch r.Operation {
	case "<", "<=":
		return below >= 0
	case ">", ">=":
		return above >= 0
	case "=":
		return above >= 0 && below >= 0
	}
	return true
}
