package ruleset

import (
	"math"
	"slices"
)

// measure reports whether every measurement of a rule holds.
func (r *Rule) measure(lineup *Lineup) bool {
	v := r.view(lineup)
	reference, ok := r.reference(v)
	if !ok {
		return true
	}
	return !slices.ContainsFunc(r.Measurements, func(m *Expr) bool {
		d := v.eval(m)
		return d.form != isUndefined && !r.hold(m.typ, d, reference)
	})
}

// reference returns the value that measurements are compared with, and false if it is
// undefined.
func (r *Rule) reference(v *view) (datum, bool) {
	switch ref := &r.Reference; {
	case ref.Expr != nil:
		d := v.eval(ref.Expr)
		return d, d.form != isUndefined
	case ref.Number.Set:
		return num(ref.Number.Value), true
	case ref.Text != nil:
		return str(*ref.Text), true
	default:
		return texts(ref.Strings), true
	}
}

func (r *Rule) hold(t exprType, d, reference datum) bool {
	switch {
	case r.Type == Collection:
		return r.collect(t, d, reference)
	case r.Type == Distance:
		return d.innermost(t.depth+1, func(e datum) bool {
			return within(math.Abs(e.num-reference.num), r.Min, r.Max)
		})
	case !r.Reference.given():
		return d.innermost(t.depth, r.across)
	}
	return d.innermost(t.depth+1, func(e datum) bool { return compare(e, r.Operation, reference) })
}

// across compares the elements of a list with each other: all must be equal, or all
// different.
func (r *Rule) across(list datum) bool {
	elements := list.defined()
	for i, a := range elements {
		for _, b := range elements[:i] {
			if !compare(a, r.Operation, b) {
				return false
			}
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

// collect judges a collection rule on a measurement. Of several teams each must pass.
func (r *Rule) collect(t exprType, d, reference datum) bool {
	return d.innermost(t.judged(), func(list datum) bool { return r.counts(collections(t, list), reference) })
}

// collections returns the collections in a list.
func collections(t exprType, list datum) [][]string {
	switch {
	case t.inter: // the result of set_intersection is one collection
		return [][]string{list.strings()}
	case t.set:
		out := [][]string{}
		for _, e := range list.defined() {
			out = append(out, e.strings())
		}
		return out
	}
	out := [][]string{}
	for _, s := range list.strings() {
		out = append(out, []string{s})
	}
	return out
}

func (r *Rule) counts(sets [][]string, reference datum) bool {
	if len(sets) == 0 {
		return true
	}
	switch r.Operation {
	case Intersection:
		return within(float64(len(intersect(sets))), r.Min, r.Max)
	case Contains:
		n := 0
		for _, set := range sets {
			if slices.Contains(set, reference.str) {
				n++
			}
		}
		return within(float64(n), r.Min, r.Max)
	}
	wanted := reference.strings()
	return !slices.ContainsFunc(sets, func(set []string) bool {
		return !within(float64(len(intersect([][]string{set, wanted}))), r.Min, r.Max)
	})
}

// batch judges a batchDistance rule. A ticket counts with one value; in a backfill ticket
// each player counts.
func (r *Rule) batch(lineup *Lineup) bool {
	low, high := math.Inf(1), math.Inf(-1)
	var first *string
	for _, p := range lineup.Parties {
		for i := range p.Players {
			value := &p.Players[i].Values[r.Attribute]
			if first == nil {
				first = &value.String
			}
			if value.String != *first {
				return false
			}
		}
		a, b := r.BatchSpan(p)
		low, high = min(low, a), max(high, b)
	}
	return !(r.Max.Set && high-low > r.Max.Value)
}

// BatchSpan returns the lowest and highest number with which a party counts in a
// batchDistance rule.
func (r *Rule) BatchSpan(p *Party) (low, high float64) { return p.Span(r.Attribute, r.Party) }

// Span returns the lowest and highest number with which a party counts under an
// aggregation. They are equal, except for parties whose players count individually.
func (p *Party) Span(attribute int, party string) (low, high float64) {
	if !p.Individuals {
		v := p.PartyNumber(attribute, party)
		return v, v
	}
	low, high = math.Inf(1), math.Inf(-1)
	for i := range p.Players {
		v := p.Players[i].Values[attribute].Number
		low, high = min(low, v), max(high, v)
	}
	return low, high
}
