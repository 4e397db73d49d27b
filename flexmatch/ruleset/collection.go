package ruleset

import (
	"fmt"
	"math"
	"slices"
)

// collections are rules that count strings which collections have in common with each
// other or with a reference.
var collections = ruleType{
	properties: []string{"measurements", "referenceValue", "operation", "minCount", "maxCount", "partyAggregation"},
	fixed:      []string{"measurements"},
	read:       readCollection,
}

// Operations of collections.
const (
	opIntersection = "intersection"
	opContains     = "contains"
	opReference    = "reference_intersection_count"
)

type collection struct {
	measures
	operation string
	min, max  Bound // counts
}

func readCollection(o *ruleObject) kind {
	k := &collection{}
	k.measurements = o.measurements(func(t exprType) string {
		return need(t.base == strs && t.depth >= 1, "a collection needs lists of strings")
	})
	if o.get("operation") == nil {
		o.bad("operation", BadOperation, "is required: intersection, contains or reference_intersection_count")
	} else {
		k.operation = o.word("operation", BadOperation, opIntersection, opContains, opReference)
	}
	n := o.get("referenceValue")
	switch k.operation {
	case opContains:
		k.readString(o, n)
	case opReference:
		k.readStrings(o, n)
	}
	k.min, k.max = o.bounds("minCount", "maxCount")
	o.whole("minCount", k.min)
	o.whole("maxCount", k.max)
	if !k.min.Set && !k.max.Set {
		k.min = Bound{Value: 1, Set: true}
	}
	k.party = o.aggregation("union", "intersection")
	return k
}

// whole records an error for a count that is not a whole number.
func (o *ruleObject) whole(name string, b Bound) {
	if b.Set && b.Value != math.Trunc(b.Value) && !math.IsNaN(b.Value) {
		o.bad(name, BadBounds, "must be a whole number")
	}
}

func (k *collection) readString(o *ruleObject, n *node) {
	switch {
	case n == nil:
		o.bad("referenceValue", BadReference, "is required with contains")
	case n.kind != isText:
		o.bad("referenceValue", BadReference, "must be a string with contains, not %s", n.kind)
	case isExpression(n.text):
		o.expr(n, o.place("referenceValue"), func(exprType) string { return "contains looks for one string" })
	default:
		k.reference.constant = str(n.text)
	}
}

func (k *collection) readStrings(o *ruleObject, n *node) {
	switch {
	case n == nil:
		o.bad("referenceValue", BadReference, "is required with reference_intersection_count")
	case n.kind == isText && isExpression(n.text):
		k.reference.expr = o.expr(n, o.place("referenceValue"), func(t exprType) string {
			return need(t.base == strs && t.depth == 1, "the reference must be one list of strings")
		})
	case n.kind == isText:
		k.reference.constant = texts([]string{n.text})
	default:
		set, ok := n.asStrings()
		if !ok {
			o.bad("referenceValue", BadReference, "must be a string, a list of strings or an expression")
		}
		k.reference.constant = texts(set)
	}
}

// each calls f with each count in a measurement until f returns false: of the collections
// in each list of collections, or of each set_intersection.
func (k *collection) each(t exprType, d, reference datum, f func(float64) bool) bool {
	depth := t.depth
	if t.set && !t.inter {
		depth--
	}
	return d.innermost(depth, func(list datum) bool {
		sets := setsIn(t, list)
		switch {
		case len(sets) == 0:
			return true
		case k.operation == opIntersection:
			return f(float64(len(intersect(sets))))
		case k.operation == opContains:
			with := slices.DeleteFunc(sets, func(set []string) bool { return !slices.Contains(set, reference.str) })
			return f(float64(len(with)))
		}
		wanted := reference.strings()
		return !slices.ContainsFunc(sets, func(set []string) bool {
			return !f(float64(len(intersect([][]string{set, wanted}))))
		})
	})
}

// setsIn returns the collections in a list.
func setsIn(t exprType, list datum) [][]string {
	switch {
	case t.inter: // the result of set_intersection is one collection
		return [][]string{list.strings()}
	case t.set:
		return each(list.defined(), datum.strings)
	}
	all := list.strings()
	sets := make([][]string, len(all))
	for i := range all {
		sets[i] = all[i : i+1 : i+1]
	}
	return sets
}

func (k *collection) holds(_ *Level, lineup *Lineup, _ Notes) bool {
	return k.all(&view{lineup: lineup, party: k.party, sets: true}, func(t exprType, d, reference datum) bool {
		return k.each(t, d, reference, func(n float64) bool { return within(n, k.min, k.max) })
	})
}

func (k *collection) Limit() Bound { return upper(k.min, k.max) }

func (k *collection) Measured(l *Lineup) (Measured, bool) {
	return k.worst(&view{lineup: l, party: k.party, sets: true}, Measured{Limit: k.Limit().Value, AtLeast: !k.max.Set}, k.each)
}

func (k *collection) traits(rs *RuleSet) Traits {
	t := k.measures.traits(rs)
	if !t.Flat || !k.elementwise() {
		return t
	}
	t.Shrinks = k.shrinks()
	t.Marks = k.operation == opIntersection && k.min.Set && k.min.Value == 1 && !k.max.Set && len(k.measurements) == 1 && k.ofTheirs() && k.measurements[0].typ.set
	t.OnlyMarks = t.Marks
	if k.operation == opReference && k.reference.expr == nil {
		t.Column = PerTicket{}
	}
	return t
}

func (k *collection) shrinks() bool {
	atLeast, atMost := k.min.Set && k.min.Value > 0, k.max.Set
	switch k.operation {
	case opIntersection:
		return !atMost
	case opContains:
		return !atLeast
	}
	ref := k.reference.expr
	switch {
	case ref == nil:
		return true
	case ref.function == fnIntersection && ref.argument.function == fnFlatten:
		return !atMost
	}
	return ref.listsPlayers() && !atLeast
}

// Marks returns the strings that all players of a party have.
func (k *collection) Marks(_ *Level, p *Party) []string {
	v := view{party: k.party, sets: true}
	sets := make([][]string, len(p.Players))
	for i := range p.Players {
		sets[i] = v.member(k.measurements[0].leaf(), Member{p, i}).strings()
	}
	return intersect(sets)
}

func (k *collection) certain(l *Level) (Verdict, string) {
	var all []Verdict
	why := ""
	for _, e := range k.measurements {
		var each []Verdict
		for _, n := range k.sizes(e, l) {
			v := amid(Range{0, n.High}, k.min, k.max)
			if v == Never && n.Low < 1 {
				v = Open // a list of nothing passes
			}
			if each = append(each, v); v != Open {
				why = k.most(e, n.High)
			}
		}
		all = append(all, judged(each))
	}
	return judged(all), why
}

// sizes returns, for each list of collections of a measurement, the range of 0 to the greatest
// count that it can have; its Low is 1 if the list has a collection for sure.
func (k *collection) sizes(e *Expr, l *Level) []Range {
	strings := math.Inf(1) // that a collection has at most
	if e.ofPlayers() && !e.setList() {
		strings = 1
	}
	switch {
	case k.operation == opReference && k.reference.expr == nil:
		strings = min(strings, float64(len(intersect([][]string{k.reference.constant.strings()}))))
	case k.operation == opContains && e.typ.inter:
		return []Range{{0, 1}}
	}
	if !e.ofPlayers() {
		return []Range{{0, strings}}
	}
	out := e.lists(l)
	for i := range out {
		if out[i].Low = min(out[i].Low, 1); k.operation != opContains {
			out[i].High = strings
		}
	}
	return out
}

// most says why a count is no greater than n.
func (k *collection) most(e *Expr, n float64) string {
	switch {
	case k.operation == opContains && e.function == fnFlatten:
		return fmt.Sprintf("there are at most %v players to count", n)
	case k.operation == opContains:
		return fmt.Sprintf("a team has at most %v players to count", n)
	case e.ofPlayers() && !e.setList() && n == 1:
		return "a player has one string"
	case k.operation == opReference && k.reference.expr == nil:
		return fmt.Sprintf("the reference has %v strings", n)
	}
	return "a count is at least 0"
}

func (k *collection) cheaper(rs *RuleSet, _ *Level) Cheaper {
	if len(k.measurements) > 1 {
		return k.forEach(func(one measures) bool {
			alone := &collection{one, k.operation, k.min, k.max}
			_, counts := alone.Counts()
			_, total := alone.Total()
			t := alone.traits(rs)
			return counts || total || t.Column != nil || t.OnlyMarks
		}, gainCounts)
	}
	e := k.measurements[0]
	common := k.min.Set && k.min.Value == 1 && !k.max.Set // at least one in common
	switch {
	case !common && k.operation == opIntersection && k.min.Set && k.min.Value >= 1 && k.flatSets(rs, e):
		text := fmt.Sprintf("a collection rule with the operation intersection, the measurement %s and minCount 1", rs.render(e))
		if k.party != "union" {
			text += " and partyAggregation " + k.party
		}
		return Cheaper{Besides: text, Gain: map[bool]string{true: gainMarks, false: gainAverages}[k.max.Set]}
	case !common:
	case k.operation == opIntersection && e.function == fnFlatten && rs.ofAll(e) && !e.setList():
		return Cheaper{Instead: "a batchDistance on " + rs.Attributes[e.leaf().attribute].Name}
	case k.operation == opIntersection && e.function == fnIntersection && k.flatSets(rs, e.argument):
		return Cheaper{Instead: "the measurement " + rs.render(e.argument), Gain: gainMarks}
	case k.operation == opReference && k.reference.expr != nil && k.reference.expr.function == fnIntersection &&
		k.flatSets(rs, e) && k.flatSets(rs, k.reference.expr.argument) && e.leaf().attribute == k.reference.expr.leaf().attribute:
		return Cheaper{Instead: "the operation intersection, without referenceValue", Gain: gainCommon}
	}
	return Cheaper{}
}

// flatSets reports whether an expression lists the collections of all players.
func (k *collection) flatSets(rs *RuleSet, e *Expr) bool {
	return e.function == fnFlatten && e.argument.function == "" && e.leaf().part == partAttribute && e.setList() && len(e.leaf().instances) == len(rs.Instances)
}

func (k *collection) values(attribute, team int) (Values, bool) {
	out := AnyValue
	if k.operation != opReference || k.reference.expr != nil || !k.measures.each(attribute, team) {
		return out, false
	}
	switch set := k.reference.constant.strings(); {
	case k.min.Set && k.min.Value >= 1:
		out.only = set
	case k.max.Set && k.max.Value < 1:
		out.except = set
	default:
		return out, false
	}
	return out, true
}
