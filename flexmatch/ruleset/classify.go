package ruleset

// Flat tells whether a rule judges a lineup the same however its players are
// spread over the teams, at every level.
func (rs *RuleSet) Flat(rule int) bool {
	for _, l := range rs.levels {
		if !rs.flat(l, rule) {
			return false
		}
	}
	return true
}

func (rs *RuleSet) flat(l *Level, rule int) bool {
	r := l.Rules[rule]
	switch r.Type {
	case Comparison, Distance, Collection:
		for _, m := range r.Measurements {
			if !m.flat(len(rs.Instances)) {
				return false
			}
		}
		return r.Reference.Expr == nil || r.Reference.Expr.flat(len(rs.Instances))
	case Compound:
		return r.Statement.all(func(i int) bool { return rs.flat(l, i) })
	}
	return true
}

// all tells whether f holds for every rule that the statement names.
func (st *Statement) all(f func(int) bool) bool {
	if st.Operator == "" {
		return f(st.Rule)
	}
	for _, part := range st.Parts {
		if !part.all(f) {
			return false
		}
	}
	return true
}

// Shrinking tells whether a rule that some players break stays broken when more
// join, at every level. Only flat rules are told to shrink.
func (rs *RuleSet) Shrinking(rule int) bool {
	if !rs.Flat(rule) {
		return false
	}
	for _, l := range rs.levels {
		if !l.Rules[rule].shrinks() {
			return false
		}
	}
	return true
}

func (r *Rule) shrinks() bool {
	switch r.Type {
	case BatchDistance:
		return true
	case Latency:
		return !r.Max.Set || r.FromMin
	case Comparison:
		return r.elementwise() && r.Reference.Expr == nil
	case Distance:
		return r.elementwise() && r.Reference.Expr == nil || r.spread()
	case Collection:
		return r.elementwise() && r.collectionShrinks()
	}
	return false
}

// elementwise tells whether every measurement lists the players' own values, so
// that a value once in the list stays in it.
func (r *Rule) elementwise() bool {
	for _, m := range r.Measurements {
		if m.function != fnFlatten || m.argument.function != "" || r.Type != Collection && m.typ.depth != 1 {
			return false
		}
		if m.argument.typ.set && m.typ.depth < 2 {
			return false
		}
	}
	return true
}

// spread recognises the distance of the highest from the lowest value, which
// only grows.
func (r *Rule) spread() bool {
	if r.Reference.Expr == nil || len(r.Measurements) != 1 || r.Min.Set {
		return false
	}
	high, low := r.Measurements[0], r.Reference.Expr
	return (high.function == fnMax && low.function == fnMin || high.function == fnMin && low.function == fnMax) &&
		high.argument.listsPlayers() && high.argument.same(low.argument)
}

func (e *Expr) listsPlayers() bool {
	return e.function == fnFlatten && e.argument.function == "" && e.typ.depth == 1
}

// same tells whether two flattened paths read the same values.
func (e *Expr) same(o *Expr) bool {
	return o.listsPlayers() && e.argument.attribute == o.argument.attribute && e.argument.key == o.argument.key
}

func (r *Rule) collectionShrinks() bool {
	atLeast, atMost := r.Min.Set && r.Min.Value > 0, r.Max.Set
	switch r.Operation {
	case Intersection:
		return !atMost
	case Contains:
		return !atLeast
	}
	ref := r.Reference.Expr
	switch {
	case ref == nil:
		return true
	case ref.function == fnIntersection && ref.argument.function == fnFlatten:
		return !atMost
	}
	return ref.listsPlayers() && !atLeast
}

// ReadsPlayerIDs tells whether any rule looks at player ids.
func (rs *RuleSet) ReadsPlayerIDs() bool {
	for _, l := range rs.levels {
		for _, r := range l.Rules {
			for _, e := range append(r.Measurements[:len(r.Measurements):len(r.Measurements)], r.Reference.Expr) {
				if e != nil && e.leaf().part == partIDs {
					return true
				}
			}
		}
	}
	return false
}

// leaf gives the path at the bottom of an expression.
func (e *Expr) leaf() *Expr {
	for e.function != "" {
		e = e.argument
	}
	return e
}
