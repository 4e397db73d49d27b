package ruleset

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Player is a player as rules see one: with a value for every declared attribute.
type Player struct {
	ID      string
	Values  []Value            // by attribute
	Latency map[string]float64 // milliseconds by location
}

// Party is a ticket: its players go into one team, and rules see them through
// partyAggregation.
type Party struct {
	Players []Player

	// Individuals says that the players are in a game session already: they may be in
	// several teams, and each counts alone.
	Individuals bool

	by        uint8     // the aggregation of latencies, by its place in aggregations; 0 if they are not set
	latencies []Latency // PartyLatency of the locations that every player reports, by location; set by SetLatencies
}

// Latency is a latency to a location.
type Latency struct {
	Location string
	Millis   float64
}

// aggregations are the ways to aggregate latencies.
var aggregations = [...]string{"", "avg", "min", "max"}

// together reports whether the party's values are aggregated.
func (p *Party) together() bool { return !p.Individuals && len(p.Players) > 1 }

// Member is one player of a party.
type Member struct {
	Party *Party
	Index int
}

func (m Member) player() *Player { return &m.Party.Players[m.Index] }

// Lineup says who would play in which team. Teams contains every party's players.
type Lineup struct {
	Parties []*Party
	Teams   [][]Member // by instance, in order of joining
}

// Add adds a party whose players all join one team.
func (l *Lineup) Add(p *Party, team int) {
	l.Parties = append(l.Parties, p)
	for i := range p.Players {
		l.Teams[team] = append(l.Teams[team], Member{Party: p, Index: i})
	}
}

// reported returns the locations that the first player reports, or those that the whole
// first party does: no other location can qualify.
func (l *Lineup) reported() iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(l.Parties) > 0 {
			l.Parties[0].reported(yield)
		}
	}
}

func (p *Party) reported(yield func(string) bool) {
	if p.by > 0 {
		for i := range p.latencies {
			if !yield(p.latencies[i].Location) {
				return
			}
		}
		return
	}
	if len(p.Players) == 0 {
		return
	}
	for location := range p.Players[0].Latency {
		if !yield(location) {
			return
		}
	}
}

// Given is an attribute value from a request.
type Given struct {
	Type AttributeType
	Value
}

// Resolve returns a player's values: the request's, else the default. It also returns the
// names of attributes that have neither; if there are any, the player can never be
// matched.
func (rs *RuleSet) Resolve(given map[string]Given) (values []Value, missing []string) {
	values = make([]Value, len(rs.Attributes))
	return values, rs.ResolveInto(values, given)
}

// ResolveInto is Resolve with values of the caller, one for each declared attribute.
func (rs *RuleSet) ResolveInto(values []Value, given map[string]Given) (missing []string) {
	for i := range rs.Attributes {
		a := &rs.Attributes[i]
		g, ok := given[a.Name]
		switch {
		case ok && g.Type == a.Type:
			values[i] = g.Value
			values[i].Strings = distinct(g.Strings)
		case a.Default != nil:
			values[i] = *a.Default
		default:
			values[i] = absent()
			missing = append(missing, a.Name)
		}
	}
	return missing
}

// distinct returns the list without later copies of a string.
func distinct(list []string) []string {
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			return intersect([][]string{list})
		}
	}
	return list
}

// aggregate is the min, max or avg of values added one by one.
type aggregate struct {
	n     int
	total float64
}

func (a *aggregate) add(how string, v float64) {
	switch {
	case a.n > 0 && how == "min":
		a.total = min(a.total, v)
	case a.n > 0 && how == "max":
		a.total = max(a.total, v)
	default:
		a.total += v
	}
	a.n++
}

// value returns the aggregate, 0 if there are no values.
func (a *aggregate) value(how string) float64 {
	if how == "min" || how == "max" || a.n == 0 {
		return a.total
	}
	return a.total / float64(a.n)
}

// PartyNumber returns a number attribute's value for the whole party.
func (p *Party) PartyNumber(attribute int, how string) float64 {
	var a aggregate
	for i := range p.Players {
		a.add(how, p.Players[i].Values[attribute].Number)
	}
	return a.value(how)
}

// PartyKey aggregates a map attribute's value at a key over the players that have the
// key. It returns false if none has.
func (p *Party) PartyKey(attribute int, key, how string) (float64, bool) {
	var a aggregate
	for i := range p.Players {
		if v, ok := p.Players[i].Values[attribute].Map[key]; ok {
			a.add(how, v)
		}
	}
	return a.value(how), a.n > 0
}

// SetLatencies computes the party's latencies under an aggregation, which PartyLatency then
// looks up. The players' latencies must not change any more. The names of locations are kept
// as name returns them: equal strings in the same memory are compared fastest.
func (p *Party) SetLatencies(how string, name func(location string) string) {
	by := slices.Index(aggregations[:], how)
	if by <= 0 || p.Individuals || len(p.Players) == 0 {
		return
	}
	list := make([]Latency, 0, len(p.Players[0].Latency))
	for location := range p.Players[0].Latency {
		if v, ok := p.PartyLatency(location, how); ok {
			list = append(list, Latency{location, v})
		}
	}
	slices.SortFunc(list, func(a, b Latency) int { return cmp.Compare(a.Location, b.Location) })
	for i := range list { // in order, since name may number them
		list[i].Location = name(list[i].Location)
	}
	p.by, p.latencies = uint8(by), list
}

// Latencies returns what SetLatencies has set, by location, and false if nothing is set.
func (p *Party) Latencies() ([]Latency, bool) { return p.latencies, p.by > 0 }

// fewLocations is the most locations of a party that are compared one after the other.
const fewLocations = 8

// latency looks a location up among those that SetLatencies has set.
func (p *Party) latency(location string) (float64, bool) {
	list := p.latencies
	if len(list) > fewLocations {
		at, ok := slices.BinarySearchFunc(list, location, func(l Latency, location string) int { return cmp.Compare(l.Location, location) })
		if !ok {
			return 0, false
		}
		return list[at].Millis, true
	}
	for i := range list {
		if list[i].Location == location {
			return list[i].Millis, true
		}
	}
	return 0, false
}

// PartyLatency returns the party's latency to a location, and false unless every player
// reports it.
func (p *Party) PartyLatency(location, how string) (float64, bool) {
	if p.by > 0 && aggregations[p.by] == how {
		return p.latency(location)
	}
	var a aggregate
	for i := range p.Players {
		v, ok := p.Players[i].Latency[location]
		if !ok {
			return 0, false
		}
		a.add(how, v)
	}
	return a.value(how), a.n > 0
}

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

// counted returns the number with which a player counts if its party is aggregated by
// party.
func (m Member) counted(attribute int, party string) float64 {
	if party != "" && m.Party.together() {
		return m.Party.PartyNumber(attribute, party)
	}
	return m.player().Values[attribute].Number
}

// FirstString returns a string attribute's value of the first player, "" if there is none.
func (p *Party) FirstString(attribute int) string {
	if len(p.Players) == 0 {
		return ""
	}
	return p.Players[0].Values[attribute].String
}

// partyStrings returns the union or intersection of the players' lists.
func (p *Party) partyStrings(attribute int, how string) []string {
	lists := make([][]string, len(p.Players))
	for i := range p.Players {
		lists[i] = p.Players[i].Values[attribute].Strings
	}
	if how == "intersection" {
		return intersect(lists)
	}
	return distinct(slices.Concat(lists...))
}

// intersect returns the distinct strings that are in every list, in the first list's
// order.
func intersect(lists [][]string) []string {
	out := []string{}
	for _, s := range lists[0] {
		if !slices.Contains(out, s) && !slices.ContainsFunc(lists[1:], func(o []string) bool { return !slices.Contains(o, s) }) {
			out = append(out, s)
		}
	}
	return out
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
