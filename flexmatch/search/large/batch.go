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
	location   string
	candidates []*search.Candidate
	players    int
}

func newBatch(location string, candidates []*search.Candidate) batch {
	b := batch{location: location, candidates: candidates}
	for _, c := range candidates {
		b.players += c.Size + c.Held
	}
	return b
}

func (b batch) oldest() *search.Ticket {
	return slices.MinFunc(b.candidates, func(x, y *search.Candidate) int { return search.Older(x.Ticket, y.Ticket) }).Ticket
}

// batches returns the batches of a partition in the order in which they are tried.
// Without latency rules there is one.
func (s *Search) batches(candidates []*search.Candidate) []batch {
	if !s.rules.Set.HasLatency {
		return []batch{newBatch("", candidates)}
	}
	all, longest := map[string]bool{}, 0
	for _, c := range candidates {
		locations := s.locationsOf(c)
		longest = max(longest, len(locations))
		for _, location := range locations {
			all[location] = true
		}
	}
	fastest := s.rules.Set.Algorithm.Batching == ruleset.FastestRegion
	var out []batch
	for _, location := range slices.Sorted(maps.Keys(all)) {
		if fastest {
			out = append(out, s.fastest(location, candidates, longest))
		} else {
			out = append(out, s.ranked(location, candidates, longest))
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
func (s *Search) fastest(location string, candidates []*search.Candidate, longest int) batch {
	for depth := 0; ; depth++ {
		b := s.ranked(location, candidates, depth)
		if len(b.candidates) > 0 && b.players >= s.rules.Least || depth > longest {
			return b
		}
	}
}

// ranked returns the tickets for which at most depth locations are better.
func (s *Search) ranked(location string, candidates []*search.Candidate, depth int) batch {
	return newBatch(location, slices.DeleteFunc(slices.Clone(candidates), func(c *search.Candidate) bool {
		rank := slices.Index(s.locations[c], location)
		return rank < 0 || rank > depth
	}))
}

// locationsOf returns the locations that a ticket's latencies allow at some age, best
// first.
func (s *Search) locationsOf(c *search.Candidate) []string {
	if known, ok := s.locations[c]; ok {
		return known
	}
	type option struct {
		location string
		latency  float64
	}
	var options []option
	level := s.rules.Set.Level(0)
	how := level.Rules[level.Located()[0]].Traits.Column.(ruleset.AtLocation).Party // there is one: batches checked HasLatency
	alone := &ruleset.Lineup{Parties: []*ruleset.Party{c.Party}}
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
	s.locations[c] = out
	return out
}
