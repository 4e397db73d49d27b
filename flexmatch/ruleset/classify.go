package ruleset

// Flat reports whether, at every level, a rule's verdict on a lineup does not depend on
// how players are distributed over teams.
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

// Symmetric reports whether, at every level, a rule's verdict stays the same when whole
// teams are exchanged.
func (rs *RuleSet) Symmetric(rule int) bool {
	for _, l := range rs.levels {
		if !rs.symmetric(l, rule) {
			return false
		}
	}
	return true
}

func (rs *RuleSet) symmetric(l *Level, rule int) bool {
	r := l.Rules[rule]
	everyTeam := func(e *Expr) bool { return len(e.leaf().instances) == len(rs.Instances) }
	switch r.Type {
	case Comparison, Distance, Collection:
		for _, m := range r.Measurements {
			if !everyTeam(m) {
				return false
			}
		}
		return r.Reference.Expr == nil || everyTeam(r.Reference.Expr)
	case Compound:
		return r.Statement.all(func(i int) bool { return rs.symmetric(l, i) })
	}
	return true
}

// all reports whether f returns true for every rule that the statement names.
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

// Shrinking reports whether, at every level, a rule broken by some players stays broken
// when more join. It returns true only for flat rules.
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

// elementwise reports whether every measurement lists the players' own values, so that a
// value stays in the list when players join.
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

// spread reports whether the rule limits the distance of the highest from the lowest
// value, which only grows as players join.
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

// same reports whether two flattened paths read the same values.
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

// leaf returns the path at the bottom of an expression.
func (e *Expr) leaf() *Expr {
	for e.function != "" {
		e = e.argument
	}
	return e
}

// Partition returns the attribute that must be equal for all players of a match, if the
// rule requires just that, else -1.
func (rs *RuleSet) Partition(rule int) int {
	r := rs.levels[0].Rules[rule]
	switch {
	case !r.Enforced:
	case r.Type == BatchDistance && rs.Attributes[r.Attribute].Type == String:
		return r.Attribute
	case !rs.constant(rule):
	case r.Type == Comparison && r.Operation == "=" && !r.Reference.given() && !r.PartyGiven && len(r.Measurements) == 1 &&
		r.Measurements[0].listsPlayers() && rs.Flat(rule) && r.Measurements[0].argument.part == partAttribute &&
		rs.Attributes[r.Measurements[0].argument.attribute].Type == String:
		return r.Measurements[0].argument.attribute
	}
	return -1
}

// constant reports whether no expansion changes the rule.
func (rs *RuleSet) constant(rule int) bool {
	for _, l := range rs.levels {
		if l.Rules[rule] != rs.levels[0].Rules[rule] {
			return false
		}
	}
	return true
}

// Window returns the number attribute whose spread over the match the rule limits at
// every level, and how parties are aggregated. The attribute is -1 for other rules.
func (rs *RuleSet) Window(rule int) (attribute int, party string) {
	attribute = -1
	for i, l := range rs.levels {
		r := l.Rules[rule]
		of := -1
		switch {
		case !r.Enforced || !r.Max.Set:
		case r.Type == BatchDistance && rs.Attributes[r.Attribute].Type == Number:
			of = r.Attribute
		case r.Type == Distance && rs.Flat(rule) && r.spread():
			if path := r.Measurements[0].argument.argument; path.part == partAttribute && !path.hasKey {
				of = path.attribute
			}
		}
		if of < 0 || i > 0 && (of != attribute || r.Party != party) {
			return -1, ""
		}
		attribute, party = of, r.Party
	}
	return attribute, party
}

// PerTicket reports whether, at every level, a match passes the rule exactly if each of
// its tickets passes it alone.
func (rs *RuleSet) PerTicket(rule int) bool {
	if !rs.Flat(rule) {
		return false
	}
	for _, l := range rs.levels {
		r := l.Rules[rule]
		constant := r.Reference.given() && r.Reference.Expr == nil && r.elementwise()
		if !constant || r.Type != Comparison && r.Type != Distance && (r.Type != Collection || r.Operation != ReferenceIntersectionCount) {
			return false
		}
	}
	return true
}

// TeamAverage is one side of a rule about averages of teams.
type TeamAverage struct {
	Instances []int // the teams
	Whole     bool  // one average over all their players, not one for each team
}

// Averages analyzes a rule that, at the level, limits the distance between averages of
// teams: of one attribute, with parties counted by their average. It returns false for
// other rules.
func (rs *RuleSet) Averages(l *Level, rule int) (attribute int, measured, reference TeamAverage, ok bool) {
	r := l.Rules[rule]
	if r.Type != Distance || !r.Enforced || len(r.Measurements) != 1 || r.Reference.Expr == nil || r.Party != "avg" {
		return 0, measured, reference, false
	}
	a, measured, okA := average(r.Measurements[0])
	b, reference, okB := average(r.Reference.Expr)
	return a, measured, reference, okA && okB && a == b
}

func average(e *Expr) (int, TeamAverage, bool) {
	if e.function != fnAvg {
		return 0, TeamAverage{}, false
	}
	path := e.leaf()
	whole := e.argument.function == fnFlatten && e.argument.argument == path
	if e.argument != path && !whole || path.part != partAttribute || path.hasKey {
		return 0, TeamAverage{}, false
	}
	return path.attribute, TeamAverage{Instances: path.instances, Whole: whole}, true
}
