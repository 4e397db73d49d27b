package ruleset

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Verdict is what is known of a rule before there are players.
type Verdict int

// The verdicts of Certain.
const (
	Open   Verdict = iota // it depends on the players
	Always                // every match passes
	Never                 // no match passes
)

// not returns the verdict on the opposite.
func (v Verdict) not() Verdict { return [...]Verdict{Open, Never, Always}[v] }

// Certain returns the verdict on all matches of the level's team sizes, and why, if it follows from
// the rule and the sizes alone.
func (l *Level) Certain(rule int) (Verdict, string) { return l.Rules[rule].certain(l) }

// extent is what is known of the numbers that an expression yields.
type extent struct {
	Range
	sure bool // there is at least one
}

// people returns how many players the teams of a path have together.
func (l *Level) people(instances []int) Range {
	var n Range
	for _, i := range instances {
		n.Low, n.High = n.Low+float64(l.Sizes[i].Min), n.High+float64(l.Sizes[i].Max)
	}
	if len(instances) == len(l.Sizes) {
		n.Low = max(n.Low, 1) // there is no match of nobody
	}
	return n
}

// lists returns how many elements each innermost list of the values of a path's players has: one
// list for each team, or one of all if they are flattened.
func (e *Expr) lists(l *Level) (out []Range) {
	path := e.leaf()
	if e.function == fnFlatten || !path.many() {
		return []Range{l.people(path.instances)}
	}
	for _, i := range path.instances {
		out = append(out, l.people([]int{i}))
	}
	return out
}

// ofPlayers reports whether an expression is a path to something of each player, perhaps flattened.
func (e *Expr) ofPlayers() bool {
	if e.function == fnFlatten {
		e = e.argument
	}
	return e.function == "" && e.part != partTeams
}

// maxStrings is the most strings in a value of a string list (API reference, AttributeValue).
const maxStrings = 100

// extents returns what is known of an expression's numbers: for a count of players, of the number
// for each list, else of all together.
func (e *Expr) extents(l *Level) []extent {
	switch e.function {
	case "":
		sure := e.part == partAttribute && !e.hasKey && slices.ContainsFunc(e.lists(l), func(n Range) bool { return n.Low >= 1 })
		return []extent{{anything, sure}}
	case fnFlatten:
		return joined(e.argument.extents(l))
	case fnCount:
		return e.argument.counts(l)
	case fnStddev:
		return []extent{{Range{0, math.Inf(1)}, joined(e.argument.extents(l))[0].sure}}
	case fnSum:
		if of := e.argument; of.function == fnCount && of.argument.ofPlayers() && !of.argument.setList() {
			return []extent{{l.people(of.leaf().instances), true}}
		}
		return []extent{{anything, e.typ.depth == 0}} // of nothing it is 0
	}
	return joined(e.argument.extents(l))
}

// setList reports whether the innermost lists are the collections of players.
func (e *Expr) setList() bool { return e.leaf().typ.set }

// counts returns what is known of the numbers of elements.
func (e *Expr) counts(l *Level) []extent {
	switch {
	case e.function == "" && e.part == partTeams:
		n := float64(len(e.instances))
		return []extent{{Range{n, n}, true}}
	case !e.ofPlayers():
	case e.setList():
		return []extent{{Range{0, maxStrings}, slices.ContainsFunc(e.lists(l), func(n Range) bool { return n.Low >= 1 })}}
	default:
		return each(e.lists(l), func(n Range) extent {
			if e.leaf().hasKey {
				n.Low = 0 // not every player's map has the key
			}
			return extent{n, true}
		})
	}
	return []extent{{Range{0, math.Inf(1)}, false}}
}

// joined returns what is known of all numbers together.
func joined(all []extent) []extent {
	out := extent{Range{math.Inf(1), math.Inf(-1)}, false}
	for _, x := range all {
		out = extent{Range{min(out.Low, x.Low), max(out.High, x.High)}, out.sure || x.sure}
	}
	return []extent{out}
}

// sameNumber reports whether two expressions yield one number each, which is the same in every
// match.
func (e *Expr) sameNumber(o *Expr, l *Level) bool {
	if reflect.DeepEqual(e, o) {
		return e.typ.depth == 0
	}
	a, b := e.counted(), o.counted()
	if a == nil || b == nil || !reflect.DeepEqual(a, b) {
		return false
	}
	if len(a.instances) == 1 && e.function == o.function {
		return true // flattening one list changes nothing
	}
	middle := []function{fnMin, fnMax, fnAvg, fnMedian, fnSum}
	return l.people(a.instances).High <= 1 && slices.Contains(middle, e.function) && slices.Contains(middle, o.function)
}

// judged joins the verdicts on all measurements.
func judged(verdicts []Verdict) Verdict {
	switch {
	case slices.Contains(verdicts, Never):
		return Never
	case len(verdicts) > 0 && !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v != Always }):
		return Always
	}
	return Open
}

// againstReference returns the verdict on numbers that differ from the reference by a number in a
// range, of which far says more.
func (m *measures) againstReference(l *Level, verdict func(measured, reference extent) Verdict, same Verdict) (Verdict, string) {
	reference := extent{Range{m.reference.constant.num, m.reference.constant.num}, true}
	if m.reference.expr != nil {
		reference = joined(m.reference.expr.extents(l))[0]
	} else if m.reference.constant.form != isNum {
		return Open, ""
	}
	var all []Verdict
	var why string
	for _, e := range m.measurements {
		if e.typ.base != numbers {
			all = append(all, Open)
			continue
		}
		if m.reference.expr != nil && e.sameNumber(m.reference.expr, l) {
			v := same
			if v == Never && !reference.sure {
				v = Open // if it is undefined, the rule passes
			}
			all, why = append(all, v), "the measurement is the same number as the reference"
			continue
		}
		var each []Verdict
		for _, x := range e.extents(l) {
			v := verdict(x, reference)
			if v == Never && !(x.sure && reference.sure) {
				v = Open
			}
			if each = append(each, v); v != Open {
				why = fmt.Sprintf("the measurement is %s", x.Range)
				if m.reference.expr != nil {
					why += fmt.Sprintf(", and the reference %s", reference.Range)
				}
			}
		}
		all = append(all, judged(each))
	}
	return judged(all), why
}

// String returns the range in words.
func (r Range) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case r.Low == r.High:
		return "always " + number(r.Low)
	case math.IsInf(r.High, 1) && math.IsInf(r.Low, -1):
		return "any number"
	case math.IsInf(r.High, 1):
		return "at least " + number(r.Low)
	case math.IsInf(r.Low, -1):
		return "at most " + number(r.High)
	}
	return number(r.Low) + " to " + number(r.High)
}

// amid returns the verdict on a number in a range that must be within limits.
func amid(n Range, low, high Bound) Verdict {
	switch {
	case low.Set && n.High < low.Value || high.Set && n.Low > high.Value:
		return Never
	case (!low.Set || n.Low >= low.Value) && (!high.Set || n.High <= high.Value):
		return Always
	}
	return Open
}
