package ruleset

// traits returns the rule's traits at its level. Those of a compound follow from those of
// the rules that it names, at all levels.
func (r *Rule) traits(rs *RuleSet) Traits {
	switch r.Type {
	case Comparison, Distance, Collection:
		return r.measuredTraits(rs)
	case Compound:
		t := Traits{Flat: true, Symmetric: true, Reads: &Reads{Attributes: make([]bool, len(rs.Attributes))}}
		r.Statement.all(func(i int) bool {
			t.join(&rs.traits[i], len(rs.Attributes))
			return true
		})
		return Traits{Flat: t.Flat, Symmetric: t.Symmetric, Reads: t.Reads}
	}
	t := Traits{Flat: true, Symmetric: true, Reads: &Reads{Attributes: make([]bool, len(rs.Attributes))}}
	if r.Attribute >= 0 {
		t.Reads.Attributes[r.Attribute] = true
	}
	switch {
	case r.Type == Latency:
		t.Shrinks, t.Reads.Latency = !r.Max.Set || r.FromMin, true
		t.Column = AtLocation{Party: r.Party, Most: r.MaxLatency, Alone: !r.Max.Set}
	case r.Type != BatchDistance:
		t.Sorts = true
	case rs.Attributes[r.Attribute].Type == String:
		t.Shrinks, t.Column = true, Partition{r.Attribute}
	default:
		t.Shrinks, t.Column = true, Window{r.Attribute, r.Party, r.Max.Value}
	}
	return t
}

func (r *Rule) measuredTraits(rs *RuleSet) Traits {
	t := Traits{Flat: true, Symmetric: true, Reads: &Reads{Attributes: make([]bool, len(rs.Attributes))}}
	for _, e := range append(r.Measurements[:len(r.Measurements):len(r.Measurements)], r.Reference.Expr) {
		if e == nil {
			continue
		}
		t.Flat = t.Flat && e.flat(len(rs.Instances))
		leaf := e.leaf()
		t.Symmetric = t.Symmetric && len(leaf.instances) == len(rs.Instances)
		switch leaf.part {
		case partIDs:
			t.Reads.IDs = true
		case partAttribute:
			t.Reads.Attributes[leaf.attribute] = true
		}
	}
	if t.Flat {
		t.Shrinks, t.Column = r.shrinks(), r.column(rs)
	}
	return t
}

func (r *Rule) column(rs *RuleSet) Column {
	constant := r.Reference.given() && r.Reference.Expr == nil && r.elementwise()
	path := r.Measurements[0].leaf()
	switch {
	case constant && (r.Type != Collection || r.Operation == ReferenceIntersectionCount):
		return PerTicket{}
	case r.Type == Distance && r.Max.Set && r.spread() && path.part == partAttribute && !path.hasKey:
		return Window{path.attribute, r.Party, r.Max.Value}
	case r.Type == Comparison && r.Operation == "=" && !r.Reference.given() && !r.PartyGiven && len(r.Measurements) == 1 &&
		r.Measurements[0].listsPlayers() && path.part == partAttribute && rs.Attributes[path.attribute].Type == String:
		return Partition{path.attribute}
	}
	return nil
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

// TeamAverage is one side of a rule about averages of teams.
type TeamAverage struct {
	Instances []int // the teams
	Whole     bool  // one average over all their players, not one for each team
}

// Averages is a limit on the distance between averages of teams, of one attribute, with
// parties counted by their average.
type Averages struct {
	Attribute           int
	Measured, Reference TeamAverage
	Min, Max            Bound
}

// Averages returns the limit that a rule sets for averages of teams, and false for other
// rules.
func (r *Rule) Averages() (Averages, bool) {
	if r.Type != Distance || len(r.Measurements) != 1 || r.Reference.Expr == nil || r.Party != "avg" {
		return Averages{}, false
	}
	a, measured, okA := average(r.Measurements[0])
	b, reference, okB := average(r.Reference.Expr)
	return Averages{a, measured, reference, r.Min, r.Max}, okA && okB && a == b
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
