package ruleset

import "math"

// measurements reads the expressions of a rule. fits returns what is wrong with an
// expression's type for the rule, or "".
func (s *scope) measurements(o object, r *Rule, fits func(exprType) string) {
	n := o.get("measurements")
	if n == nil || n.kind == isList && len(n.items) == 0 {
		o.bad("measurements", MissingProperty, "at least one expression is required")
		return
	}
	if n.kind == isText {
		s.measurement(n, o.place("measurements"), r, fits)
		return
	}
	for i, item := range o.list("measurements") {
		s.measurement(item, at(o.place("measurements"), i), r, fits)
	}
}

func (s *scope) measurement(n *node, path string, r *Rule, fits func(exprType) string) {
	if n.kind != isText {
		s.fail(n.at, path, WrongType, "must be a string that holds an expression, not %s", n.kind)
		return
	}
	if e := s.expr(n, path, fits); e != nil {
		r.Measurements = append(r.Measurements, e)
	}
}

// expr parses the expression in a string. It returns nil after recording an error.
func (s *scope) expr(n *node, path string, fits func(exprType) string) *Expr {
	e, bad := s.rs.parseExpr(n.text)
	if bad != nil {
		s.failIn(n, bad, path)
		return nil
	}
	if wrong := fits(e.typ); wrong != "" && e.typ.base != unknown {
		s.fail(n.at+1, path, ExprType, "%s; this is %s", wrong, e.typ)
		return nil
	}
	return e
}

func (s *scope) comparison(o object, r *Rule) {
	reference := o.get("referenceValue")
	s.measurements(o, r, func(t exprType) string {
		switch {
		case t.base != numbers && t.base != strs:
			return "a comparison needs numbers or strings"
		case reference == nil && t.depth == 0:
			return "a comparison without referenceValue needs a list"
		}
		return ""
	})
	if reference != nil {
		s.comparisonReference(o, r, reference)
	}
	s.comparisonOperation(o, r)
	s.party(o, r, "avg", "min", "max")
}

func (s *scope) comparisonOperation(o object, r *Rule) {
	if o.get("operation") == nil {
		o.bad("operation", BadOperation, "is required: <, <=, =, !=, > or >=")
		return
	}
	r.Operation = o.word("operation", BadOperation, "<", "<=", "=", "!=", ">", ">=")
	if r.Operation == "" || r.Operation == "=" || r.Operation == "!=" {
		return
	}
	if o.get("referenceValue") == nil {
		o.bad("referenceValue", BadReference, "is required but for = and !=")
	}
	for _, m := range r.Measurements {
		if m.typ.base == strs {
			o.bad("operation", BadOperation, "strings have only = and !=")
			return
		}
	}
}

// comparisonReference reads one number or string of the measurements' type. A
// numeric string is a number where the measurements are numbers.
func (s *scope) comparisonReference(o object, r *Rule, n *node) {
	want := s.measured(r)
	switch {
	case n.kind == isNumber:
		v, ok := n.asNumber()
		r.Reference.Number = Bound{Value: v, Set: true}
		if want == strs {
			o.bad("referenceValue", BadReference, "must be a string, as the measurements are")
		} else if !ok {
			o.bad("referenceValue", BadReference, "must be a finite number")
		}
	case n.kind == isText && isExpression(n.text):
		r.Reference.Expr = s.expr(n, o.place("referenceValue"), func(t exprType) string {
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
		r.Reference.Number = Bound{Value: v, Set: true}
	case n.kind == isText:
		r.Reference.Text = &n.text
	default:
		o.bad("referenceValue", BadReference, "must be a number, a string or an expression, not %s", n.kind)
	}
}

// measured returns the type of the rule's measurements, or unknown if they differ or have
// errors.
func (s *scope) measured(r *Rule) base {
	want := unknown
	for _, m := range r.Measurements {
		if want != unknown && m.typ.base != want {
			return unknown
		}
		want = m.typ.base
	}
	return want
}

func (s *scope) distance(o object, r *Rule) {
	s.measurements(o, r, func(t exprType) string { return need(t.base == numbers, "a distance needs numbers") })
	s.distanceReference(o, r)
	s.bounds(o, r, "minDistance", "maxDistance")
	if !r.Min.Set && !r.Max.Set {
		o.bad("maxDistance", BadBounds, "minDistance or maxDistance is required")
	}
	s.party(o, r, "avg", "min", "max")
}

func (s *scope) distanceReference(o object, r *Rule) {
	n := o.get("referenceValue")
	if n == nil {
		o.bad("referenceValue", BadReference, "is required")
		return
	}
	if n.kind == isText && isExpression(n.text) {
		r.Reference.Expr = s.expr(n, o.place("referenceValue"), func(t exprType) string {
			return need(t.base == numbers && t.depth == 0, "the reference must be one number")
		})
		return
	}
	v, ok := n.asNumber()
	if !ok {
		o.bad("referenceValue", BadReference, "must be a number or an expression")
	}
	r.Reference.Number = Bound{Value: v, Set: true}
}

func (s *scope) collection(o object, r *Rule) {
	s.measurements(o, r, func(t exprType) string {
		return need(t.base == strs && t.depth >= 1, "a collection needs lists of strings")
	})
	if o.get("operation") == nil {
		o.bad("operation", BadOperation, "is required: intersection, contains or reference_intersection_count")
	} else {
		r.Operation = o.word("operation", BadOperation, Intersection, Contains, ReferenceIntersectionCount)
	}
	s.collectionReference(o, r)
	s.bounds(o, r, "minCount", "maxCount")
	o.whole("minCount", r.Min)
	o.whole("maxCount", r.Max)
	if !r.Min.Set && !r.Max.Set {
		r.Min = Bound{Value: 1, Set: true}
	}
	s.party(o, r, "union", "intersection")
}

// whole records an error for a count that is not a whole number.
func (o object) whole(name string, b Bound) {
	if b.Set && b.Value != math.Trunc(b.Value) && !math.IsNaN(b.Value) {
		o.bad(name, BadBounds, "must be a whole number")
	}
}

func (s *scope) collectionReference(o object, r *Rule) {
	n := o.get("referenceValue")
	switch {
	case r.Operation == Contains:
		s.containsReference(o, r, n)
	case r.Operation == ReferenceIntersectionCount:
		s.referenceSet(o, r, n)
	}
}

func (s *scope) containsReference(o object, r *Rule, n *node) {
	switch {
	case n == nil:
		o.bad("referenceValue", BadReference, "is required with contains")
	case n.kind != isText:
		o.bad("referenceValue", BadReference, "must be a string with contains, not %s", n.kind)
	case isExpression(n.text):
		s.expr(n, o.place("referenceValue"), func(exprType) string { return "contains looks for one string" })
	default:
		r.Reference.Text = &n.text
	}
}

func (s *scope) referenceSet(o object, r *Rule, n *node) {
	switch {
	case n == nil:
		o.bad("referenceValue", BadReference, "is required with reference_intersection_count")
	case n.kind == isText && isExpression(n.text):
		r.Reference.Expr = s.expr(n, o.place("referenceValue"), func(t exprType) string {
			return need(t.base == strs && t.depth == 1, "the reference must be one list of strings")
		})
	case n.kind == isText:
		r.Reference.Strings = []string{n.text}
	default:
		set, ok := n.asStrings()
		if !ok {
			o.bad("referenceValue", BadReference, "must be a string, a list of strings or an expression")
		}
		r.Reference.Strings = set
	}
}
