package ruleset

import (
	"math"
	"slices"
)

// datum is the value of an expression: a number, a string, a list, something that can
// only be counted (a player, a team, a map), or undefined.
type datum struct {
	form form
	num  float64
	str  string
	list []datum
}

type form int

const (
	isUndefined form = iota
	isNum
	isStr
	isSeq
	isThing
)

func num(v float64) datum    { return datum{form: isNum, num: v} }
func str(s string) datum     { return datum{form: isStr, str: s} }
func seq(list []datum) datum { return datum{form: isSeq, list: list} }
func texts(s []string) datum { return seq(each(s, str)) }

func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func (d datum) defined() []datum {
	if !slices.ContainsFunc(d.list, func(e datum) bool { return e.form == isUndefined }) {
		return d.list
	}
	return slices.DeleteFunc(slices.Clone(d.list), func(e datum) bool { return e.form == isUndefined })
}

func (d datum) numbers() []float64 {
	return each(d.defined(), func(e datum) float64 { return e.num })
}

func (d datum) strings() []string {
	return each(d.defined(), func(e datum) string { return e.str })
}

// innermost reports whether f returns true for every list at the depth, counted from the
// outside: a list of depth 1 is itself innermost.
func (d datum) innermost(depth int, f func(datum) bool) bool {
	if depth <= 1 {
		return f(d)
	}
	for _, e := range d.defined() {
		if !e.innermost(depth-1, f) {
			return false
		}
	}
	return true
}

// run applies the function to a value of a type with the given depth. In a deeper value
// each innermost list is replaced by its result.
func (f function) run(d datum, depth int) datum {
	switch {
	case d.form == isUndefined:
		return d
	case f == fnFlatten:
		return flatten(d, depth)
	case depth > 2 || depth > 1 && f != fnIntersection:
		return seq(each(d.defined(), func(e datum) datum { return f.run(e, depth-1) }))
	case f == fnCount:
		return num(float64(len(d.defined())))
	case f == fnIntersection:
		return intersection(d)
	}
	return f.of(d.numbers())
}

func flatten(d datum, depth int) datum {
	if depth < 2 {
		return d
	}
	var out []datum
	for _, e := range d.defined() {
		out = append(out, e.list...)
	}
	return seq(out)
}

func intersection(d datum) datum {
	lists := each(d.defined(), datum.strings)
	if len(lists) == 0 {
		return datum{}
	}
	return texts(intersect(lists))
}

// of aggregates numbers. If there are none, only the sum is defined.
func (f function) of(values []float64) datum {
	if f == fnSum {
		return num(sum(values))
	}
	n := float64(len(values))
	if n == 0 {
		return datum{}
	}
	switch f {
	case fnMin:
		return num(slices.Min(values))
	case fnMax:
		return num(slices.Max(values))
	case fnMedian:
		return num(median(values))
	case fnStddev:
		return num(stddev(values))
	default:
		return num(sum(values) / n)
	}
}

// median returns the middle value, or the mean of the middle two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// stddev returns the standard deviation of the whole population: it divides by n.
func stddev(values []float64) float64 {
	mean, squares := sum(values)/float64(len(values)), 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)))
}
