package ruleset

import (
	"fmt"
	"math"
	"slices"
)

// distances are rules that limit how far numbers are from a reference.
var distances = ruleType{
	properties: []string{"measurements", "referenceValue", "minDistance", "maxDistance", "partyAggregation"},
	fixed:      []string{"measurements"},
	read:       readDistance,
}

type distance struct {
	measures
	min, max Bound
}

func readDistance(o *ruleObject) kind {
	k := &distance{}
	k.measurements = o.measurements(func(t exprType) string { return need(t.base == numbers, "a distance needs numbers") })
	k.readReference(o)
	k.min, k.max = o.bounds("minDistance", "maxDistance")
	if !k.min.Set && !k.max.Set {
		o.bad("maxDistance", BadBounds, "minDistance or maxDistance is required")
	}
	k.party = o.aggregation("avg", "min", "max")
	return k
}

func (k *distance) readReference(o *ruleObject) {
	n := o.get("referenceValue")
	if n == nil {
		o.bad("referenceValue", BadReference, "is required")
		return
	}
	if n.kind == isText && isExpression(n.text) {
		k.reference.expr = o.expr(n, o.place("referenceValue"), func(t exprType) string {
			return need(t.base == numbers && t.depth == 0, "the reference must be one number")
		})
		return
	}
	v, ok := n.asNumber()
	if !ok {
		o.bad("referenceValue", BadReference, "must be a number or an expression")
	}
	k.reference.constant = num(v)
}

// each calls f with each distance in a measurement until f returns false.
func (k *distance) each(t exprType, d, reference datum, f func(float64) bool) bool {
	return d.innermost(t.depth+1, func(e datum) bool { return f(math.Abs(e.num - reference.num)) })
}

func (k *distance) holds(_ *Level, lineup *Lineup, _ Notes) bool {
	return k.all(&view{lineup: lineup, party: k.party}, func(t exprType, d, reference datum) bool {
		return k.each(t, d, reference, func(n float64) bool { return within(n, k.min, k.max) })
	})
}

func (k *distance) Limit() Bound { return upper(k.min, k.max) }

func (k *distance) Measured(l *Lineup) (Measured, bool) {
	return k.worst(&view{lineup: l, party: k.party}, Measured{Limit: k.Limit().Value, AtLeast: !k.max.Set}, k.each)
}

func (k *distance) traits(rs *RuleSet) Traits {
	t := k.measures.traits(rs)
	t.InTeam = k.inTeam()
	switch {
	case !t.Flat:
	case k.ofPlayers() && k.reference.expr == nil:
		t.Shrinks, t.Column = true, PerTicket{}
	case k.spread():
		t.Shrinks = true
		path := k.measurements[0].leaf()
		if k.max.Set && path.part == partAttribute && !path.hasKey {
			t.Column = Window{path.attribute, k.party, k.max.Value}
		}
	case k.aroundAverage():
		// All are within the distance of one value, so any two are within twice that; and
		// that value lies between them.
		path := k.measurements[0].leaf()
		t.Spread = &Spread{path.attribute, k.party, 2 * k.max.Value, k.max.Value}
	}
	return t
}

// aroundAverage reports whether the rule limits how far each player is from the average of
// all.
func (k *distance) aroundAverage() bool {
	if !k.ofPlayers() || len(k.measurements) != 1 || k.reference.expr == nil || k.min.Set || !k.max.Set {
		return false
	}
	each, average := k.measurements[0], k.reference.expr
	return (average.function == fnAvg || average.function == fnMedian) && average.argument.listsPlayers() && each.same(average.argument) &&
		each.leaf().part == partAttribute && !each.leaf().hasKey
}

// spread reports whether the rule limits the distance between the highest and the lowest
// value, which never shrinks as players join.
func (k *distance) spread() bool {
	if k.reference.expr == nil || len(k.measurements) != 1 || k.min.Set {
		return false
	}
	high, low := k.measurements[0], k.reference.expr
	return (high.function == fnMax && low.function == fnMin || high.function == fnMin && low.function == fnMax) &&
		high.argument.listsPlayers() && high.argument.same(low.argument)
}

// passing returns a range in which a measurement minus its reference must be, slightly
// widened because sums are rounded. It ignores the minimum.
func (k *distance) passing() Range {
	if !k.max.Set {
		return anything
	}
	reach := k.max.Value + 1e-9*(1+math.Abs(k.reference.constant.num)+k.max.Value)
	return Range{-reach, reach}
}

func (k *distance) Possible(l *Level, ranges []Range) bool {
	return k.possible(l, ranges, k.passing(), k.min.Value)
}

func (k *distance) Averages() (Averages, bool) {
	if len(k.measurements) != 1 || k.reference.expr == nil || k.party != "avg" {
		return Averages{}, false
	}
	a, measured, okA := k.measurements[0].average()
	b, reference, okB := k.reference.expr.average()
	return Averages{a, measured, reference, k.min, k.max}, okA && okB && a == b
}

func (k *distance) certain(l *Level) (Verdict, string) {
	if !k.max.Set && k.min.Value <= 0 {
		return Always, "each distance is at least 0"
	}
	return k.againstReference(l, func(x, of extent) Verdict {
		low, high := max(0, x.Low-of.High, of.Low-x.High), max(x.High-of.Low, of.High-x.Low)
		return amid(Range{low, high}, k.min, k.max)
	}, amid(Range{}, k.min, k.max))
}

func (k *distance) cheaper(rs *RuleSet, l *Level) Cheaper {
	if len(k.measurements) > 1 {
		return k.forEach(func(one measures) bool {
			alone := &distance{one, k.min, k.max}
			t := alone.traits(rs)
			_, averages := alone.Averages()
			return t.Column != nil || t.Spread != nil || averages && !k.min.Set
		}, gainWindow)
	}
	e, of := k.measurements[0], k.reference.expr
	if of == nil || k.min.Set || !k.max.Set {
		return Cheaper{}
	}
	if (of.function == fnMin || of.function == fnMax) && rs.ofAll(e) && of.argument.listsPlayers() && e.same(of.argument) {
		return Cheaper{Instead: rs.batch(e, k.max.Value, k.party), Gain: gainWindow}
	}
	return k.cheaperOfTeams(rs, l, e, of)
}

// cheaperOfTeams returns the rule on averages of teams that means the same.
func (k *distance) cheaperOfTeams(rs *RuleSet, l *Level, e, of *Expr) Cheaper {
	path := e.leaf()
	if k.party != "avg" || path.part != partAttribute || path.hasKey || path.attribute != of.leaf().attribute || of.leaf().hasKey || of.leaf().part != partAttribute {
		return Cheaper{}
	}
	average := func(team int) string {
		one := *path
		one.instances = []int{team}
		return rs.render(&Expr{function: fnAvg, argument: &one})
	}
	n, fixed := l.fixed()
	switch a, b := path.instances, of.leaf().instances; {
	case fixed && e.function == fnSum && of.function == fnSum && e.argument == path && of.argument == of.leaf() && len(a) == 1 && len(b) == 1 && a[0] != b[0]:
		return Cheaper{Instead: fmt.Sprintf("%s near %s with maxDistance %v", average(a[0]), average(b[0]), k.max.Value/float64(n)), Gain: gainAverages}
	case (e.function == fnMax && of.function == fnMin || e.function == fnMin && of.function == fnMax) && e.argument.function == fnAvg && of.argument.function == fnAvg &&
		e.argument.argument == path && of.argument.argument == of.leaf() && len(a) == 2 && slices.Equal(a, b):
		return Cheaper{Instead: fmt.Sprintf("%s near %s with maxDistance %v", average(a[0]), average(a[1]), k.max.Value), Gain: gainAverages}
	}
	return Cheaper{}
}

func (k *distance) values(attribute, team int) (Values, bool) {
	out := AnyValue
	if k.reference.expr != nil || !k.max.Set || !k.measures.each(attribute, team) {
		return out, false
	}
	out.party, out.numbers = k.party, Range{k.reference.constant.num - k.max.Value, k.reference.constant.num + k.max.Value}
	return out, true
}
