package search

import (
	"cmp"
	"maps"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// group is the tickets that may play at a location, by priority and age.
type group struct {
	location string
	entries  []*entry
	players  int
}

// groups returns the groups of a part in the order in which they are tried. Without
// latency rules there is one group.
func (s *searcher) groups(part []*entry) []group {
	if !s.rs.HasLatency {
		return []group{newGroup("", part)}
	}
	choices := make(map[*entry][]string, len(part))
	all := map[string]bool{}
	for _, e := range part {
		choices[e] = s.acceptable(e)
		for _, location := range choices[e] {
			all[location] = true
		}
	}
	var out []group
	for _, location := range slices.Sorted(maps.Keys(all)) {
		if s.rs.Algorithm.Batching == ruleset.FastestRegion {
			out = append(out, s.fastest(location, part, choices))
			continue
		}
		out = append(out, newGroup(location, slices.DeleteFunc(slices.Clone(part), func(e *entry) bool {
			return !slices.Contains(choices[e], location)
		})))
	}
	if s.rs.Algorithm.Batching == ruleset.FastestRegion {
		slices.SortStableFunc(out, func(a, b group) int { return older(a.oldest(), b.oldest()) })
	} else {
		slices.SortStableFunc(out, func(a, b group) int { return b.players - a.players })
	}
	return out
}

func newGroup(location string, entries []*entry) group {
	g := group{location: location, entries: entries}
	for _, e := range entries {
		g.players += e.size + e.held
	}
	return g
}

func (g group) oldest() *Ticket {
	return slices.MinFunc(g.entries, func(a, b *entry) int { return older(a.ticket, b.ticket) }).ticket
}

// fastest gathers the tickets for which location is best, then those for which it is
// second best, and so on until the smallest match is possible.
func (s *searcher) fastest(location string, part []*entry, choices map[*entry][]string) group {
	deepest := len(choices[longest(part, choices)])
	for depth := 0; ; depth++ {
		entries := slices.DeleteFunc(slices.Clone(part), func(e *entry) bool {
			rank := slices.Index(choices[e], location)
			return rank < 0 || rank > depth
		})
		g := newGroup(location, entries)
		if len(entries) > 0 && g.players >= s.least() || depth > deepest {
			return g
		}
	}
}

func longest(part []*entry, choices map[*entry][]string) *entry {
	return slices.MaxFunc(part, func(a, b *entry) int { return len(choices[a]) - len(choices[b]) })
}

// acceptable returns the locations that a ticket's latencies allow at some age, best
// first.
func (s *searcher) acceptable(e *entry) []string {
	if e.near != nil {
		return e.near
	}
	type option struct {
		location string
		latency  float64
	}
	var options []option
	first := s.rs.Level(0).Located()[0] // there is one: groups checked HasLatency
	how := s.rs.Level(0).Rules[first].Traits.Column.(ruleset.AtLocation).Party
	for location := range e.party.Players[0].Latency {
		if latency, ok := e.party.PartyLatency(location, how); ok && s.allowed(e, location) {
			options = append(options, option{location, latency})
		}
	}
	slices.SortFunc(options, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.latency, b.latency), cmp.Compare(a.location, b.location))
	})
	e.near = make([]string, len(options))
	for i, o := range options {
		e.near[i] = o.location
	}
	return e.near
}

func (s *searcher) allowed(e *entry, location string) bool {
	l := &ruleset.Lineup{Parties: []*ruleset.Party{e.party}}
	return slices.ContainsFunc(s.rs.Levels(), func(level *ruleset.Level) bool {
		return slices.Contains(level.Locations(l, level.Located()), location)
	})
}
