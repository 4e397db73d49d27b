package ruleset

import (
	"fmt"
	"slices"
)

// view evaluates the expressions of one rule over one lineup.
type view struct {
	lineup *Lineup
	party  string // how parties are aggregated; "" if each player counts alone
	sets   bool   // party aggregates lists of strings, not numbers
	once   bool   // a party is one element, not one for each player
}

func (v *view) eval(e *Expr) datum {
	if path := e.counted(); path != nil {
		return v.aggregate(e, path)
	}
	if e.function != "" {
		return e.function.run(v.eval(e.argument), e.argument.typ.depth)
	}
	list := make([]datum, len(e.instances))
	for i, instance := range e.instances {
		list[i] = v.team(e, v.lineup.Teams[instance])
	}
	if e.many() {
		return seq(list)
	}
	return list[0]
}

func (v *view) team(e *Expr, members []Member) datum {
	if e.part == partTeams {
		return datum{form: isThing}
	}
	out := make([]datum, 0, len(members))
	for i, m := range members {
		if !v.again(e, members[:i], m) {
			out = append(out, v.member(e, m))
		}
	}
	return seq(out)
}

// again reports whether the element of m's party, which is one element for all of its
// players, is in the list already.
func (v *view) again(e *Expr, before []Member, m Member) bool {
	return v.once && e.part == partAttribute && e.typ.base == numbers && m.Party.together() &&
		slices.ContainsFunc(before, func(o Member) bool { return o.Party == m.Party })
}

func (v *view) member(e *Expr, m Member) datum {
	switch {
	case e.part == partPlayers:
		return datum{form: isThing}
	case e.part == partIDs:
		return str(m.player().ID)
	case e.part == partAttribute && m.player().Values[e.attribute].isAbsent():
		return datum{}
	case e.hasKey:
		return v.keyed(e, m)
	case e.typ.set:
		if v.sets && m.Party.together() {
			return texts(m.Party.partyStrings(e.attribute, v.party))
		}
		return texts(m.player().Values[e.attribute].Strings)
	case e.typ.base == strs:
		return str(m.player().Values[e.attribute].String)
	case e.typ.base == numbers:
		return num(m.counted(e.attribute, v.party))
	}
	return datum{form: isThing}
}

func (v *view) keyed(e *Expr, m Member) datum {
	value, ok := m.player().Values[e.attribute].Map[e.key]
	if v.party != "" && m.Party.together() {
		value, ok = m.Party.PartyKey(e.attribute, e.key, v.party)
	}
	if !ok {
		return datum{}
	}
	return num(value)
}

// aggregate applies e's function to the players' numbers that path reads. The result is the
// same as from evaluating path to a list first, but aggregate builds no list: most rules are
// of this kind and judge every match of a pass.
func (v *view) aggregate(e, path *Expr) datum {
	players := 0
	for _, instance := range path.instances {
		players += len(v.lineup.Teams[instance])
	}
	values := make([]float64, 0, players)
	if e.argument == path && path.many() {
		out := make([]datum, len(path.instances))
		for i, instance := range path.instances {
			out[i] = e.function.of(v.numbers(values, path, instance))
		}
		return seq(out)
	}
	for _, instance := range path.instances {
		values = v.numbers(values, path, instance)
	}
	return e.function.of(values)
}

func (v *view) numbers(list []float64, path *Expr, instance int) []float64 {
	members := v.lineup.Teams[instance]
	for i, m := range members {
		if v.again(path, members[:i], m) {
			continue
		}
		if d := v.member(path, m); d.form == isNum {
			list = append(list, d.num)
		}
	}
	return list
}

// Evaluate returns the value of an expression over a lineup: a number, a string, a list
// of values, or nil if undefined.
func (rs *RuleSet) Evaluate(expression string, lineup *Lineup) (any, error) {
	e, bad := rs.parseExpr(expression)
	if bad != nil {
		return nil, fmt.Errorf("%s at %d: %s", bad.code, bad.at+1, bad.text)
	}
	v := &view{lineup: lineup}
	return v.eval(e).show(), nil
}

func (d datum) show() any {
	switch d.form {
	case isNum:
		return d.num
	case isStr:
		return d.str
	case isSeq:
		return each(d.list, datum.show)
	}
	return nil
}
