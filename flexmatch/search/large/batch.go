package large

import (
	"cmp"
	"maps"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// batch is the tickets that may play at a location, by priority and age.
type batch struct {
	location string
	members  []*member
	players  int
}

func newBatch(location string, members []*member) batch {
	b := batch{location: location, members: members}
	for _, c := range members {
		b.players += c.players
	}
	return b
}

func (b batch) oldest() *search.Ticket {
	return slices.MinFunc(b.members, func(x, y *member) int { return search.Older(x.Ticket, y.Ticket) }).Ticket
}

// batches returns the batches of a partition in the order in which they are tried.
// Without latency rules there is one.
func (s *Search) batches(members []*member) []batch {
	if !s.rules.Set.HasLatency {
		return []batch{newBatch("", members)}
	}
	all, longest := map[string]bool{}, 0
	for _, c := range members {
		longest = max(longest, len(c.locations))
		for _, location := range c.locations {
			all[location] = true
		}
	}
	fastest := s.rules.Set.Algorithm.Batching == ruleset.FastestRegion
	var out []batch
	for _, location := range slices.Sorted(maps.Keys(all)) {
		if fastest {
			out = append(out, s.fastest(location, members, longest))
		} else {
			out = append(out, ranked(location, members, longest))
		}
	}
	if fastest {
		slices.SortStableFunc(out, func(a, b batch) int { return search.Older(a.oldest(), b.oldest()) })
	} else {
		slices.SortStableFunc(out, func(a, b batch) int { return b.players - a.players })
	}
	return out
}

// fastest returns the tickets for which location is best, then those for which it is
// second best, and so on until the smallest match is possible.
func (s *Search) fastest(location string, members []*member, longest int) batch {
	for depth := 0; ; depth++ {
		b := ranked(location, members, depth)
		if len(b.members) > 0 && b.players >= s.rules.Least || depth > longest {
			return b
		}
	}
}

// ranked returns the tickets for which at most depth locations are better.
func ranked(location string, members []*member, depth int) batch {
	return newBatch(location, slices.DeleteFunc(slices.Clone(members), func(c *member) bool {
		rank := slices.Index(c.locations, location)
		return rank < 0 || rank > depth
	}))
}

// allowed returns the locations that a ticket's latencies allow at some age, best first.
func (s *Search) allowed(c *search.Candidate) []string {
	type option struct {
		location string
		latency  float64
	}
	var options []option
	level := s.rules.Set.Level(0)
	how := level.Rules[level.Located()[0]].Traits.Column.(ruleset.AtLocation).Party // there is one: batches checked HasLatency
	alone := &ruleset.Lineup{Parties: []*ruleset.Party{&c.Party}}
	for location := range c.Party.Players[0].Latency {
		latency, ok := c.Party.PartyLatency(location, how)
		if ok && slices.ContainsFunc(s.rules.Set.Levels(), func(level *ruleset.Level) bool { return level.Allows(location, alone) }) {
			options = append(options, option{location, latency})
		}
	}
	slices.SortFunc(options, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.latency, b.latency), cmp.Compare(a.location, b.location))
	})
	out := make([]string, len(options))
	for i, o := range options {
		out[i] = o.location
	}
	return out
}
