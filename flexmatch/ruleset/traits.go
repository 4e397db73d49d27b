package ruleset

import (
	"math"
	"slices"
)

// Traits are what a search may rely on about the verdicts of a rule. The zero value
// promises nothing: such a rule is judged on complete matches only, which is always correct.
// A Rule has the traits of one level; RuleSet.Traits returns those that hold at all levels.
type Traits struct {
	Flat      bool    // the verdict does not depend on how players are distributed over teams
	Symmetric bool    // it stays the same when whole teams are exchanged
	Shrinks   bool    // flat, and once broken by some players, broken when more join
	InTeam    bool    // a match passes exactly if each ticket would alone in its team
	Sorts     bool    // the rule orders candidates and never rejects a match
	Column    Column  // the rule as a condition on each ticket's own data; nil if it is not one
	Spread    *Spread // what the rule says about the spread of a number; nil if nothing
	Marks     bool    // a match passes if its tickets have a mark in common (Rule.Marks)
	OnlyMarks bool    // and no other match does
	Reads     *Reads  // the data that the verdict depends on; nil if that may be any

	names []int // of a compound: the rules that it names
}

// independent returns the traits of a rule that does not depend on teams and reads some
// attributes only.
func (rs *RuleSet) independent(attributes ...int) Traits {
	t := Traits{Flat: true, Symmetric: true, Reads: &Reads{Attributes: make([]bool, len(rs.Attributes))}}
	for _, i := range attributes {
		t.Reads.Attributes[i] = true
	}
	return t
}

// Column is a rule as a condition on data that can be stored with each ticket: Partition,
// Window, PerTicket or AtLocation.
type Column interface{ column() }

func (Partition) column()  {}
func (Window) column()     {}
func (PerTicket) column()  {}
func (AtLocation) column() {}

// Partition requires a string attribute to be equal for all players.
type Partition struct{ Attribute int }

// Window limits the distance of the highest from the lowest value of a number attribute
// (Party.Span).
type Window struct {
	Attribute int
	Party     string  // how parties are aggregated
	Limit     float64 // of several levels, the greatest
}

// Spread bounds the verdicts of a rule by the distance of the highest from the lowest value of
// a number attribute, where Window decides: no match passes with a distance above Most, and
// each does with one of at most Enough.
type Spread struct {
	Attribute    int
	Party        string // how parties are aggregated
	Most, Enough float64
}

// PerTicket says that a match passes exactly if each of its tickets passes alone.
type PerTicket struct{}

// AtLocation requires a location that every player reports and that is near enough to
// each. All such rules of a level must have one location in common.
type AtLocation struct {
	Party string // how parties are aggregated
	Most  Bound  // the highest latency allowed; of several levels, the loosest
	Alone bool   // a location qualifies exactly if it does for each ticket alone
}

// common returns the column that holds at both of two levels, or nil.
func common(a, b Column) Column {
	switch a := a.(type) {
	case Window:
		b, ok := b.(Window)
		if ok && a.Attribute == b.Attribute && a.Party == b.Party {
			a.Limit = max(a.Limit, b.Limit)
			return a
		}
	case AtLocation:
		b, ok := b.(AtLocation)
		if ok {
			a.Most = Bound{Value: max(a.Most.Value, b.Most.Value), Set: a.Most.Set && b.Most.Set}
			a.Alone = a.Alone && b.Alone
			return a
		}
	default:
		if a == b {
			return a
		}
	}
	return nil
}

// Worst returns the highest latency with which one of a party's players counts, and false
// unless every player reports the location.
func (c AtLocation) Worst(p *Party, location string) (float64, bool) {
	if p.together() || p.by > 0 {
		return p.PartyLatency(location, c.Party)
	}
	worst := math.Inf(-1)
	for i := range p.Players {
		v, ok := p.Players[i].Latency[location]
		if !ok {
			return 0, false
		}
		worst = max(worst, v)
	}
	return worst, true
}

// Allows reports whether a party alone may play at a location, as far as its latency to
// it is limited.
func (c AtLocation) Allows(p *Party, location string) bool {
	worst, ok := c.Worst(p, location)
	return ok && !(c.Most.Set && worst > c.Most.Value)
}

// Located reports whether the rule requires a location (AtLocation).
func (t *Traits) Located() bool {
	_, ok := t.Column.(AtLocation)
	return ok
}

// Reads is the data that some rules depend on.
type Reads struct {
	Attributes []bool // by attribute
	IDs        bool   // player IDs
	Latency    bool
}

// Traits returns what holds for a rule at every level.
func (rs *RuleSet) Traits(rule int) *Traits { return &rs.traits[rule] }

// Reads returns the data that some rules depend on at any level.
func (rs *RuleSet) Reads(rules []int) Reads {
	all := rs.independent()
	for _, i := range rules {
		all.join(&rs.traits[i])
	}
	if all.Reads == nil {
		return Reads{Attributes: slices.Repeat([]bool{true}, len(rs.Attributes)), IDs: true, Latency: true}
	}
	return *all.Reads
}

// finish sets what follows from the rules once they are read. It does so in their order,
// since the traits of a compound follow from those of rules before it.
func (rs *RuleSet) finish() {
	rs.traits = make([]Traits, len(rs.levels[0].Rules))
	named := make([]bool, len(rs.traits))
	for i := range rs.traits {
		for n, r := range rs.versions(i) {
			r.Traits = r.traits(rs)
			if n == 0 {
				rs.traits[i] = r.Traits
			}
			rs.traits[i].join(&r.Traits)
		}
		for _, n := range rs.traits[i].names {
			named[n] = true
		}
		rs.HasLatency = rs.HasLatency || rs.traits[i].Located()
	}
	for i, t := range rs.traits {
		for _, r := range rs.versions(i) {
			r.Enforced = len(t.names) > 0 || !named[i] && !t.Sorts
		}
	}
}

// versions returns a rule as it is at the first level, and after each change.
func (rs *RuleSet) versions(rule int) []*Rule {
	return slices.Compact(each(rs.levels, func(l *Level) *Rule { return l.Rules[rule] }))
}

// join limits t to what o promises too.
func (t *Traits) join(o *Traits) {
	t.Flat = t.Flat && o.Flat
	t.Symmetric = t.Symmetric && o.Symmetric
	t.Shrinks = t.Shrinks && o.Shrinks
	t.InTeam = t.InTeam && o.InTeam
	t.Marks, t.OnlyMarks = t.Marks && o.Marks, t.OnlyMarks && o.OnlyMarks
	t.Sorts = t.Sorts && o.Sorts
	t.Column = common(t.Column, o.Column)
	t.Spread = nil // it differs from level to level
	if t.Reads == nil || o.Reads == nil {
		t.Reads = nil
		return
	}
	both := &Reads{IDs: t.Reads.IDs || o.Reads.IDs, Latency: t.Reads.Latency || o.Reads.Latency}
	for i, read := range t.Reads.Attributes {
		both.Attributes = append(both.Attributes, read || o.Reads.Attributes[i])
	}
	t.Reads = both
}

// Same reports whether a rule is judged by the same values at two levels.
func (rs *RuleSet) Same(rule int, a, b *Level) bool {
	r := a.Rules[rule]
	return r == b.Rules[rule] && !slices.ContainsFunc(r.Traits.names, func(i int) bool { return !rs.Same(i, a, b) })
}
