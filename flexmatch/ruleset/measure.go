package ruleset

import (
	"math"
	"slices"
)

// measures is what comparison, distance and collection rules have in common: expressions
// that are compared with a reference, which may be another expression.
type measures struct {
	plain
	measurements []*Expr
	reference    reference
	party        string // how a party counts: min, max, avg; union, intersection
}

// picky is false for sums, averages and counts: most matches are near the mean, and exchanges of
// players bring others there.
func (m *measures) picky() bool {
	return slices.ContainsFunc(m.measurements, func(e *Expr) bool {
		return e.function != fnSum && e.function != fnAvg && e.function != fnCount
	})
}

// reference is what measurements are compared with: an expression or a constant, or
// nothing.
type reference struct {
	expr     *Expr
	constant datum
}

func (r *reference) given() bool { return r.expr != nil || r.constant.form != isUndefined }

// value returns the reference for a lineup, and false if it is undefined.
func (r *reference) value(v *view) (datum, bool) {
	if r.expr == nil {
		return r.constant, true
	}
	d := v.eval(r.expr)
	return d, d.form != isUndefined
}

// measurements reads expressions: one or a list. fits returns what is wrong with an
// expression's type for the rule, or "".
func (o *ruleObject) measurements(fits func(exprType) string) []*Expr {
	n := o.get("measurements")
	if n == nil || n.kind == isList && len(n.items) == 0 {
		o.bad("measurements", MissingProperty, "at least one expression is required")
		return nil
	}
	texts, path := []*node{n}, func(int) string { return o.place("measurements") }
	if n.kind != isText {
		texts, path = o.list("measurements"), func(i int) string { return at(o.place("measurements"), i) }
	}
	var out []*Expr
	for i, text := range texts {
		if text.kind != isText {
			o.fail(text.at, path(i), WrongType, "must be a string that holds an expression, not %s", text.kind)
		} else if e := o.expr(text, path(i), fits); e != nil {
			out = append(out, e)
		}
	}
	return out
}

// expr parses the expression in a string. It returns nil after recording an error.
func (o *ruleObject) expr(n *node, path string, fits func(exprType) string) *Expr {
	e, bad := o.rs.parseExpr(n.text)
	if bad != nil {
		o.failIn(n, bad, path)
		return nil
	}
	if wrong := fits(e.typ); wrong != "" && e.typ.base != unknown {
		o.fail(n.at+1, path, ExprType, "%s; this is %s", wrong, e.typ)
		return nil
	}
	return e
}

// all reports whether every measurement that is defined passes.
func (m *measures) all(v *view, passes func(t exprType, d, reference datum) bool) bool {
	reference, ok := m.reference.value(v)
	if !ok {
		return true
	}
	for _, e := range m.measurements {
		d := v.eval(e)
		if d.form != isUndefined && !passes(e.typ, d, reference) {
			return false
		}
	}
	return true
}

// worst returns out with its value set to the worst number that each yields: the lowest if
// values must be at least the limit, else the highest. It returns false if there is none.
func (m *measures) worst(v *view, out Measured, each func(t exprType, d, reference datum, f func(float64) bool) bool) (Measured, bool) {
	found := false
	m.all(v, func(t exprType, d, reference datum) bool {
		return each(t, d, reference, func(n float64) bool {
			if !found || out.AtLeast && n < out.Value || !out.AtLeast && n > out.Value {
				out.Value, found = n, true
			}
			return true
		})
	})
	return out, found
}

// traits returns what follows from the expressions alone.
func (m *measures) traits(rs *RuleSet) Traits {
	t := rs.independent()
	exprs := m.measurements
	if m.reference.expr != nil {
		exprs = append(exprs[:len(exprs):len(exprs)], m.reference.expr)
	}
	for _, e := range exprs {
		leaf := e.leaf()
		t.Flat = t.Flat && e.flat(len(rs.Instances))
		t.Symmetric = t.Symmetric && len(leaf.instances) == len(rs.Instances)
		switch leaf.part {
		case partIDs:
			t.Reads.IDs = true
		case partAttribute:
			t.Reads.Attributes[leaf.attribute] = true
		}
	}
	return t
}

// elementwise reports whether every measurement lists the players' own values, so that a
// value stays in the list when players join.
func (m *measures) elementwise() bool {
	return !slices.ContainsFunc(m.measurements, func(e *Expr) bool {
		return e.function != fnFlatten || e.argument.function != "" || e.argument.typ.set && e.typ.depth < 2
	})
}

// inTeam reports whether every measurement lists values of single players that are compared with
// a constant.
func (m *measures) inTeam() bool {
	return m.reference.expr == nil && m.reference.given() && !slices.ContainsFunc(m.measurements, func(e *Expr) bool {
		if e.function == fnFlatten {
			e = e.argument
		}
		return e.function != "" || e.part != partAttribute || e.typ.set
	})
}

// ofPlayers reports whether every measurement is one list of the players' own values.
func (m *measures) ofPlayers() bool {
	return m.elementwise() && !slices.ContainsFunc(m.measurements, func(e *Expr) bool { return e.typ.depth != 1 })
}

// possible reports whether measurements could differ from the reference by a number in a
// range, and by least in one direction. Rounding may take an average out of the range of
// its numbers, so those are widened slightly.
func (m *measures) possible(l *Level, ranges []Range, within Range, least float64) bool {
	reference := Range{m.reference.constant.num, m.reference.constant.num}
	switch {
	case m.reference.expr != nil:
		reference = m.reference.expr.span(l.Sizes, ranges)
	case m.reference.constant.form != isNum:
		return true
	}
	for _, e := range m.measurements {
		if e.typ.base != numbers {
			continue
		}
		v := e.span(l.Sizes, ranges)
		slack := 1e-9 * (1 + math.Abs(v.Low) + math.Abs(v.High) + math.Abs(reference.Low) + math.Abs(reference.High))
		above, below := v.High-reference.Low+slack, reference.High-v.Low+slack // how far v can be above and below the reference
		if math.IsNaN(above) || math.IsNaN(below) || math.IsInf(slack, 0) {
			continue
		}
		if above < within.Low || -below > within.High || max(above, below) < least {
			return false
		}
	}
	return true
}
