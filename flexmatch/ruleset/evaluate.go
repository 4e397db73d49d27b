package ruleset

import "slices"

// view evaluates the expressions of one rule over one lineup.
type view struct {
	lineup *Lineup
	party  string // how parties are aggregated; "" if each player counts alone
	sets   bool   // party aggregates lists of strings, not numbers
	once   bool   // a party is one element, not one for each player
}

// view returns how a rule sees parties. A comparison of players with each other sees
// individuals, unless it has a partyAggregation.
func (r *Rule) view(lineup *Lineup) *view {
	across := r.Type == Comparison && !r.Reference.given()
	switch {
	case across && !r.PartyGiven:
		return &view{lineup: lineup}
	case r.Type == Collection:
		return &view{lineup: lineup, party: r.Party, sets: true}
	}
	return &view{lineup: lineup, party: r.Party, once: across}
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

// many reports whether a path begins with a list of teams.
func (e *Expr) many() bool {
	inner := 0
	if e.part != partTeams {
		inner++
	}
	if e.typ.set {
		inner++
	}
	return e.typ.depth > inner
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

// again reports whether the one element of a member's party is in the list already.
func (v *view) again(e *Expr, before []Member, m Member) bool {
	return v.once && e.part == partAttribute && e.typ.base == numbers && m.Party.together() && seen(before, m.Party)
}

func seen(members []Member, p *Party) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.Party == p })
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
		if v.sets {
			return num(m.Counted(e.attribute, ""))
		}
		return num(m.Counted(e.attribute, v.party))
	}
	return datum{form: isThing}
}

func (v *view) keyed(e *Expr, m Member) datum {
	value, ok := m.player().Values[e.attribute].Map[e.key]
	if v.party != "" && !v.sets && m.Party.together() {
		value, ok = m.Party.PartyKey(e.attribute, e.key, v.party)
	}
	if !ok {
		return datum{}
	}
	return num(value)
}

// Notes records verdicts on single rules.
type Notes interface {
	Note(rule int, held bool)
}

// Holds reports whether a lineup passes one rule. A rule whose measurement or reference
// is undefined passes, so a rule about an empty team does not prevent a match.
func (l *Level) Holds(rule int, lineup *Lineup) bool { return l.holds(rule, lineup, nil) }

// holds is like Holds. For a compound rule it also notes the verdict on each rule that the
// statement names, once for each time it is named.
func (l *Level) holds(rule int, lineup *Lineup, notes Notes) bool {
	r := l.Rules[rule]
	switch r.Type {
	case Comparison, Distance, Collection:
		return r.measure(lineup)
	case BatchDistance:
		return r.batch(lineup)
	case Latency:
		return len(l.Locations(lineup, []int{rule})) > 0
	case Compound:
		return r.Statement.holds(func(i int) bool {
			held := l.holds(i, lineup, notes)
			if notes != nil {
				notes.Note(i, held)
			}
			return held
		})
	}
	return true // sort rules never reject
}

// Keeps reports whether a lineup passes rules, and notes the verdict on each rule judged.
// Located rules are judged last: they must share a location.
func (l *Level) Keeps(rules []int, lineup *Lineup, notes Notes) bool {
	var located []int
	for _, i := range rules {
		if l.Rules[i].Traits.Located() {
			located = append(located, i)
			continue
		}
		held := l.holds(i, lineup, notes)
		notes.Note(i, held)
		if !held {
			return false
		}
	}
	if len(located) == 0 {
		return true
	}
	met := len(l.Locations(lineup, located)) > 0
	for _, i := range located {
		notes.Note(i, met)
	}
	return met
}

// Judge returns the first enforced rule that a lineup breaks, or nil. Located rules must
// share a location: if there are any, Judge returns the locations that qualify for all of
// them.
func (l *Level) Judge(lineup *Lineup) (broken *Rule, locations []string) {
	asked := false
	for i, r := range l.Rules {
		switch {
		case !r.Enforced:
		case r.Traits.Located() && !asked:
			asked, locations = true, l.Locations(lineup, []int{i})
		case r.Traits.Located():
			locations = slices.DeleteFunc(locations, func(location string) bool { return !r.qualifies(location, lineup) })
		case !l.Holds(i, lineup):
			return r, nil
		}
		if asked && len(locations) == 0 {
			return r, nil
		}
	}
	return nil, locations
}
