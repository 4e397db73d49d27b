package ruleset

import (
	"math"
	"slices"
)

// Locations returns the locations that qualify for a lineup under all of the rules, which
// must be Located, in alphabetical order. A location qualifies only if every player reports
// it: a match has one location.
func (l *Level) Locations(lineup *Lineup, rules []int) []string {
	if len(lineup.Parties) == 0 || len(lineup.Parties[0].Players) == 0 {
		return nil
	}
	var out []string
	for location := range lineup.Parties[0].Players[0].Latency {
		if !slices.ContainsFunc(rules, func(i int) bool { return !l.Rules[i].qualifies(location, lineup) }) {
			out = append(out, location)
		}
	}
	slices.Sort(out)
	return out
}

// Located returns the enforced rules that require a location.
func (l *Level) Located() []int {
	var out []int
	for i, r := range l.Rules {
		if r.Enforced && r.Traits.Located() {
			out = append(out, i)
		}
	}
	return out
}

func (r *Rule) qualifies(location string, lineup *Lineup) bool {
	total, low, players := 0.0, math.Inf(1), 0
	for _, p := range lineup.Parties {
		together, known := r.togetherAt(p, location)
		for i := range p.Players {
			v, ok := r.latencyAt(p, i, location, together, known)
			if !ok || r.MaxLatency.Set && v > r.MaxLatency.Value {
				return false
			}
			total, low, players = total+v, min(low, v), players+1
		}
	}
	if !r.Max.Set {
		return true
	}
	reference := total / float64(players)
	if r.FromMin {
		reference = low
	}
	return !slices.ContainsFunc(lineup.Parties, func(p *Party) bool { return !r.near(p, location, reference) })
}

// near reports whether each of the party's values is within the maximum distance of a
// reference.
func (r *Rule) near(p *Party, location string, reference float64) bool {
	together, known := r.togetherAt(p, location)
	for i := range p.Players {
		if v, _ := r.latencyAt(p, i, location, together, known); max(v-reference, reference-v) > r.Max.Value {
			return false
		}
	}
	return true
}

// togetherAt returns a party's aggregated latency. known is false if the party's values
// are not aggregated or a player does not report the location.
func (r *Rule) togetherAt(p *Party, location string) (v float64, known bool) {
	if !p.together() {
		return 0, false
	}
	return p.PartyLatency(location, r.Party)
}

// latencyAt returns the latency with which a player counts, and false if there is none.
func (r *Rule) latencyAt(p *Party, player int, location string, together float64, known bool) (float64, bool) {
	if p.together() {
		return together, known
	}
	v, ok := p.Players[player].Latency[location]
	return v, ok
}

// LatencyValues returns the latencies with which a party's players count, and false
// unless every player reports the location.
func (r *Rule) LatencyValues(p *Party, location string) ([]float64, bool) {
	out := make([]float64, len(p.Players))
	together, known := r.togetherAt(p, location)
	for i := range p.Players {
		v, ok := r.latencyAt(p, i, location, together, known)
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}
