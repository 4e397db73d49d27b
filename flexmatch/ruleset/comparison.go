package ruleset

import (
	"fmt"
	"math"
	"slices"
)

// comparisons are rules that compare measurements with a reference, or the values of a
// list with each other.
var comparisons = ruleType{
	properties: []string{"measurements", "referenceValue", "operation", "partyAggregation"},
	fixed:      []string{"measurements"},
	read:       readComparison,
}

type comparison struct {
	measures
	operation  string
	partyGiven bool // set by the rule set, not by default
}

func readComparison(o *ruleObject) kind {
	k := &comparison{}
	given := o.get("referenceValue")
	k.measurements = o.measurements(func(t exprType) string {
		switch {
		case t.base != numbers && t.base != strs:
			return "a comparison needs numbers or strings"
		case given == nil && t.depth == 0:
			return "a comparison without referenceValue needs a list"
		}
		return ""
	})
	if given != nil {
		k.readReference(o, given)
	}
	k.readOperation(o)
	k.party, k.partyGiven = o.aggregation("avg", "min", "max"), o.get("partyAggregation") != nil
	return k
}

func (k *comparison) readOperation(o *ruleObject) {
	if o.get("operation") == nil {
		o.bad("operation", BadOperation, "is required: <, <=, =, !=, > or >=")
		return
	}
	k.operation = o.word("operation", BadOperation, "<", "<=", "=", "!=", ">", ">=")
	if k.operation == "" || k.operation == "=" || k.operation == "!=" {
		return
	}
	if o.get("referenceValue") == nil {
		o.bad("referenceValue", BadReference, "is required but for = and !=")
	}
	if slices.ContainsFunc(k.measurements, func(e *Expr) bool { return e.typ.base == strs }) {
		o.bad("operation", BadOperation, "strings have only = and !=")
	}
}

// readReference reads one number or string of the measurements' type. A numeric string is
// a number where the measurements are numbers.
func (k *comparison) readReference(o *ruleObject, n *node) {
	want := k.common()
	switch {
	case n.kind == isNumber:
		v, ok := n.asNumber()
		k.reference.constant = num(v)
		if want == strs {
			o.bad("referenceValue", BadReference, "must be a string, as the measurements are")
		} else if !ok {
			o.bad("referenceValue", BadReference, "must be a finite number")
		}
	case n.kind == isText && isExpression(n.text):
		k.reference.expr = o.expr(n, o.place("referenceValue"), func(t exprType) string {
			if t.depth > 0 || t.base != numbers && t.base != strs || want != unknown && t.base != want {
				return "the reference must be one value of the measurements' type"
			}
			return ""
		})
	case n.kind == isText && want == numbers:
		v, ok := parseNumber(n.text)
		if !ok {
			o.bad("referenceValue", BadReference, "must be a number or an expression, as the measurements are numbers")
		}
		k.reference.constant = num(v)
	case n.kind == isText:
		k.reference.constant = str(n.text)
	default:
		o.bad("referenceValue", BadReference, "must be a number, a string or an expression, not %s", n.kind)
	}
}

// common returns the type of the measurements, or unknown if they differ or have errors.
func (k *comparison) common() base {
	want := unknown
	for _, m := range k.measurements {
		if want != unknown && m.typ.base != want {
			return unknown
		}
		want = m.typ.base
	}
	return want
}

// view returns how the rule sees parties. A comparison of players with each other sees
// individuals, unless it has a partyAggregation: then a party is one element.
func (k *comparison) view(lineup *Lineup) view {
	across := !k.reference.given()
	if across && !k.partyGiven {
		return view{lineup: lineup}
	}
	return view{lineup: lineup, party: k.party, once: across}
}

func (k *comparison) holds(_ *Level, lineup *Lineup, _ Notes) bool {
	v := k.view(lineup)
	across := !k.reference.given()
	return k.all(&v, func(t exprType, d, reference datum) bool {
		if across {
			return d.innermost(t.depth, k.across)
		}
		return d.innermost(t.depth+1, func(e datum) bool { return compare(e, k.operation, reference) })
	})
}

// across compares the elements of a list with each other: all must be equal, or all
// different.
func (k *comparison) across(list datum) bool {
	elements := list.defined()
	for i, a := range elements {
		if slices.ContainsFunc(elements[:i], func(b datum) bool { return !compare(a, k.operation, b) }) {
			return false
		}
	}
	return true
}

func compare(a datum, operation string, b datum) bool {
	switch operation {
	case "=":
		return a.num == b.num && a.str == b.str
	case "!=":
		return a.num != b.num || a.str != b.str
	case "<":
		return a.num < b.num
	case "<=":
		return a.num <= b.num
	case ">":
		return a.num > b.num
	}
	return a.num >= b.num
}

func (k *comparison) Limit() Bound {
	return Bound{Value: k.reference.constant.num, Set: k.reference.constant.form == isNum}
}

func (k *comparison) Measured(l *Lineup) (Measured, bool) {
	v := k.view(l)
	reference, ok := k.reference.value(&v)
	out := Measured{Limit: reference.num, AtLeast: k.operation[0] == '>'}
	if !ok || reference.form != isNum || k.operation[0] != '<' && !out.AtLeast {
		return Measured{}, false
	}
	return k.worst(&v, out, func(t exprType, d, _ datum, f func(float64) bool) bool {
		return d.innermost(t.depth+1, func(e datum) bool { return f(e.num) })
	})
}

func (k *comparison) traits(rs *RuleSet) Traits {
	t := k.measures.traits(rs)
	t.InTeam = k.inTeam()
	if !t.Flat || !k.ofPlayers() {
		return t
	}
	path := k.measurements[0].argument
	switch {
	case k.reference.expr != nil:
		return t
	case k.reference.given():
		t.Column = PerTicket{}
	case k.operation == "=" && !k.partyGiven && len(k.measurements) == 1 && path.part == partAttribute && rs.Attributes[path.attribute].Type == String:
		t.Column = Partition{path.attribute}
	}
	t.Shrinks = true
	return t
}

// passing returns the range in which a measurement minus its reference must be.
func (k *comparison) passing() Range {
	switch k.operation {
	case "=":
		return Range{}
	case "<", "<=":
		return Range{Low: math.Inf(-1)}
	case ">", ">=":
		return Range{High: math.Inf(1)}
	}
	return anything
}

func (k *comparison) Possible(l *Level, ranges []Range) bool {
	return k.possible(l, ranges, k.passing(), 0)
}

func (k *comparison) certain(l *Level) (Verdict, string) {
	if !k.reference.given() {
		return k.certainAcross(l)
	}
	same := Always
	if k.operation == "<" || k.operation == ">" || k.operation == "!=" {
		same = Never
	}
	return k.againstReference(l, func(x, of extent) Verdict {
		apart := x.High < of.Low || of.High < x.Low
		equal := x.Low == x.High && x.Range == of.Range
		switch k.operation {
		case "<":
			return order(x.High < of.Low, x.Low >= of.High)
		case "<=":
			return order(x.High <= of.Low, x.Low > of.High)
		case ">":
			return order(x.Low > of.High, x.High <= of.Low)
		case ">=":
			return order(x.Low >= of.High, x.High < of.Low)
		case "=":
			return order(equal, apart)
		}
		return order(apart, equal)
	}, same)
}

func order(always, never bool) Verdict {
	switch {
	case always:
		return Always
	case never:
		return Never
	}
	return Open
}

// certainAcross is certain for a comparison of the elements of a list with each other.
func (k *comparison) certainAcross(l *Level) (Verdict, string) {
	var all []Verdict
	why := ""
	for _, e := range k.measurements {
		v := Open
		switch {
		case e.ofPlayers() && !e.setList():
			if !slices.ContainsFunc(e.lists(l), func(n Range) bool { return n.High > 1 }) {
				v, why = Always, "each list has at most one element"
			}
		case e.function == fnCount && e.argument.ofPlayers() && !e.setList():
			if v = k.counts(e.extents(l)); v != Open {
				why = "it follows from the sizes of the teams"
			}
		}
		all = append(all, v)
	}
	return judged(all), why
}

// counts returns the verdict on numbers of players that are compared with each other.
func (k *comparison) counts(all []extent) Verdict {
	var each []Verdict
	for i, a := range all {
		for _, b := range all[:i] {
			apart := a.High < b.Low || b.High < a.Low
			equal := a.Low == a.High && a.Range == b.Range
			v := order(equal, apart)
			if k.operation == "!=" {
				v = v.not()
			}
			each = append(each, v)
		}
	}
	if len(all) < 2 {
		return Always
	}
	return judged(each)
}

func (k *comparison) cheaper(rs *RuleSet, l *Level) Cheaper {
	if !k.reference.given() {
		return k.cheaperAcross(rs)
	}
	if len(k.measurements) != 1 || k.reference.expr != nil {
		return Cheaper{}
	}
	e := k.measurements[0]
	of := e.argument
	switch {
	case of == nil || !of.ofPlayers() || of.leaf().part != partAttribute:
	case e.function == fnMax && k.operation[0] == '<', e.function == fnMin && k.operation[0] == '>':
		return Cheaper{Instead: fmt.Sprintf("the measurement %s with the same operation and referenceValue", rs.render(of)), Gain: gainEach}
	case e.function == fnStddev && k.operation[0] == '<' && rs.ofAll(of):
		// Of n values with this deviation the highest and the lowest are at most √2n of it apart.
		apart := roundedUp(k.reference.constant.num * math.Sqrt(2*float64(l.Capacity())))
		return Cheaper{Besides: rs.batch(of, apart, k.party), Gain: gainSpread}
	}
	return Cheaper{}
}

// cheaperAcross is cheaper for a comparison of the elements of a list with each other.
func (k *comparison) cheaperAcross(rs *RuleSet) Cheaper {
	if k.operation != "=" || slices.ContainsFunc(k.measurements, func(e *Expr) bool { return !rs.ofAll(e) }) {
		return Cheaper{}
	}
	if len(k.measurements) > 1 {
		return Cheaper{Instead: "a rule for each of the measurements", Gain: gainEqual}
	}
	e := k.measurements[0]
	switch {
	case e.typ.base == strs:
		return Cheaper{Instead: "a batchDistance on " + rs.Attributes[e.leaf().attribute].Name}
	case k.partyGiven:
		return Cheaper{Instead: rs.batch(e, 0, k.party), Gain: gainEqual}
	}
	return Cheaper{Besides: rs.batch(e, 0, ""), Gain: gainEqual}
}

func (k *comparison) rising(property string) int {
	switch {
	case property != "referenceValue" || k.reference.expr != nil || k.operation == "=" || k.operation == "!=":
		return 0
	case k.operation[0] == '<':
		return -1
	}
	return 1
}

func (k *comparison) values(attribute, team int) (Values, bool) {
	out, c := AnyValue, k.reference.constant
	if k.reference.expr != nil || !k.reference.given() || !k.measures.each(attribute, team) {
		return out, false
	}
	switch {
	case c.form == isStr && k.operation == "=":
		out.only = []string{c.str}
	case c.form == isStr:
		out.except = []string{c.str}
	default:
		out.party = k.party
		switch k.operation {
		case "=":
			out.numbers = Range{c.num, c.num}
		case "<":
			out.numbers.High = below(c.num)
		case "<=":
			out.numbers.High = c.num
		case ">":
			out.numbers.Low = above(c.num)
		case ">=":
			out.numbers.Low = c.num
		}
	}
	return out, true
}
