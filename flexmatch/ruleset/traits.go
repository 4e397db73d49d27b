package ruleset

import (
	"math"
	"slices"
)

// Traits are what a search may rely on about the verdicts of a rule. The zero value
// promises nothing: such a rule is judged on complete matches only, which is always right.
// A Rule has those of one level, RuleSet.Traits returns those of all levels together.
type Traits struct {
	Flat      bool   // the verdict does not depend on how players are distributed over teams
	Symmetric bool   // it stays the same when whole teams are exchanged
	Shrinks   bool   // flat, and once broken by some players, broken when more join
	Sorts     bool   // the rule orders candidates and never rejects a match
	Column    Column // the rule as a condition on each ticket's own data; nil if it is none
	Reads     *Reads // the data that the verdict depends on; nil if that may be any
}

// Column is a rule as a condition on data that can be stored with each ticket: Partition,
// Window, PerTicket or AtLocation.
type Column interface {
	// join returns the column that holds at both of two levels, or nil.
	join(Column) Column
}

// Partition requires a string attribute to be equal for all players.
type Partition struct{ Attribute int }

// Window limits the distance of the highest from the lowest value of a number attribute
// (Party.Span).
type Window struct {
	Attribute int
	Party     string  // how parties are aggregated
	Limit     float64 // of several levels, the greatest
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

func (c Partition) join(o Column) Column {
	if o == c {
		return c
	}
	return nil
}

func (c Window) join(o Column) Column {
	w, ok := o.(Window)
	if !ok || w.Attribute != c.Attribute || w.Party != c.Party {
		return nil
	}
	c.Limit = max(c.Limit, w.Limit)
	return c
}

func (c PerTicket) join(o Column) Column {
	if o == c {
		return c
	}
	return nil
}

func (c AtLocation) join(o Column) Column {
	a, ok := o.(AtLocation)
	if !ok {
		return nil
	}
	c.Most = Bound{Value: max(c.Most.Value, a.Most.Value), Set: c.Most.Set && a.Most.Set}
	c.Alone = c.Alone && a.Alone
	return c
}

// Worst returns the highest latency with which one of a party's players counts, and false
// unless every player reports the location.
func (c AtLocation) Worst(p *Party, location string) (float64, bool) {
	if p.together() {
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

func (r *Reads) add(o *Reads) {
	for i, read := range o.Attributes {
		r.Attributes[i] = r.Attributes[i] || read
	}
	r.IDs, r.Latency = r.IDs || o.IDs, r.Latency || o.Latency
}

// Traits returns what holds for a rule at every level.
func (rs *RuleSet) Traits(rule int) *Traits { return &rs.traits[rule] }

// Reads returns the data that some rules depend on at any level.
func (rs *RuleSet) Reads(rules []int) Reads {
	out := Reads{Attributes: make([]bool, len(rs.Attributes))}
	for _, i := range rules {
		if of := rs.traits[i].Reads; of != nil {
			out.add(of)
		} else {
			out = Reads{Attributes: slices.Repeat([]bool{true}, len(rs.Attributes)), IDs: true, Latency: true}
		}
	}
	return out
}

// deriveTraits sets the traits of every rule, in order, since those of a compound follow
// from those of rules before it.
func (rs *RuleSet) deriveTraits() {
	rs.traits = make([]Traits, len(rs.levels[0].Rules))
	for i := range rs.traits {
		all := &rs.traits[i]
		var last *Rule
		for _, l := range rs.levels {
			r := l.Rules[i]
			if r == last {
				continue
			}
			r.Traits = r.traits(rs)
			if last == nil {
				*all = r.Traits
			} else {
				all.join(&r.Traits, len(rs.Attributes))
			}
			last = r
		}
	}
}

// join limits t to what o promises too.
func (t *Traits) join(o *Traits, attributes int) {
	t.Flat, t.Symmetric, t.Shrinks, t.Sorts = t.Flat && o.Flat, t.Symmetric && o.Symmetric, t.Shrinks && o.Shrinks, t.Sorts && o.Sorts
	if t.Column != nil {
		t.Column = t.Column.join(o.Column)
	}
	if t.Reads == nil || o.Reads == nil {
		t.Reads = nil
		return
	}
	both := &Reads{Attributes: make([]bool, attributes)}
	both.add(t.Reads)
	both.add(o.Reads)
	t.Reads = both
}

// Same reports whether a rule is judged by the same values at two levels.
func (rs *RuleSet) Same(rule int, a, b *Level) bool {
	r := a.Rules[rule]
	return r == b.Rules[rule] && (r.Statement == nil || r.Statement.all(func(i int) bool { return rs.Same(i, a, b) }))
}
