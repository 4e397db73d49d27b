package ruleset

import (
	"maps"
	"slices"
)

// Locations gives the locations that qualify for a lineup under every one of the
// latency rules, in alphabetical order. A location qualifies only if every
// player reports it: a match has one location.
func (l *Level) Locations(lineup *Lineup, rules []*Rule) []string {
	if len(lineup.Parties) == 0 || len(lineup.Parties[0].Players) == 0 {
		return nil
	}
	known := slices.Sorted(maps.Keys(lineup.Parties[0].Players[0].Latency))
	return slices.DeleteFunc(known, func(location string) bool {
		return slices.ContainsFunc(rules, func(r *Rule) bool { return !r.qualifies(location, lineup) })
	})
}

// LatencyRules gives the enforced latency rules of the level.
func (l *Level) LatencyRules() []*Rule {
	return slices.DeleteFunc(slices.Clone(l.Rules), func(r *Rule) bool { return !r.Enforced || r.Type != Latency })
}

func (r *Rule) qualifies(location string, lineup *Lineup) bool {
	var values []float64 // one for each player
	for _, p := range lineup.Parties {
		of, ok := r.LatencyValues(p, location)
		if !ok {
			return false
		}
		values = append(values, of...)
	}
	return !slices.ContainsFunc(values, func(v float64) bool { return v > r.MaxLatency.Value && r.MaxLatency.Set }) &&
		r.near(values)
}

// near judges the distance of every value from the lowest or the average one.
func (r *Rule) near(values []float64) bool {
	if !r.Max.Set {
		return true
	}
	reference := sum(values) / float64(len(values))
	if r.FromMin {
		reference = slices.Min(values)
	}
	return !slices.ContainsFunc(values, func(v float64) bool {
		return max(v-reference, reference-v) > r.Max.Value
	})
}

// LatencyValues gives the latencies with which a party's players count; false
// unless every player reports the location.
func (r *Rule) LatencyValues(p *Party, location string) ([]float64, bool) {
	out := make([]float64, len(p.Players))
	for i := range p.Players {
		v, ok := p.Players[i].Latency[location]
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	if p.together() {
		v, _ := aggregate(r.Party, out)
		for i := range out {
			out[i] = v
		}
	}
	return out, true
}
