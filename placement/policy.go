package placement

import (
	"cmp"
	"slices"
	"time"
)

// noCap means that there is no cap.
const noCap = 0

// capAt returns the latency cap in force after a placement has waited for a time, in
// milliseconds or noCap, and when it changes next, counted from the start (zero means
// never). The policies, in ascending order, each apply for their duration. One without a
// duration applies until the timeout. After the last there is no cap (API reference,
// PlayerLatencyPolicy).
func capAt(policies []LatencyPolicy, waited time.Duration) (limit int, until time.Duration) {
	var end time.Duration
	for _, p := range policies {
		if p.Duration == 0 {
			return p.Max, 0
		}
		end += p.Duration
		if waited < end {
			return p.Max, end
		}
	}
	return noCap, 0
}

// ascending returns policies in the order in which they apply: the strictest first,
// regardless of their order in the queue.
func ascending(policies []LatencyPolicy) []LatencyPolicy {
	return slices.SortedStableFunc(slices.Values(policies), func(a, b LatencyPolicy) int { return cmp.Compare(a.Max, b.Max) })
}

// share makes latencies of the same player or location share one string. A decoder makes
// 200 strings for 20 players and 5 locations, and the row stays in memory for minutes.
func share(latencies []Latency) {
	seen := make(map[string]string)
	one := func(s *string) {
		if same, ok := seen[*s]; ok {
			*s = same
			return
		}
		seen[*s] = *s
	}
	for i := range latencies {
		one(&latencies[i].PlayerID)
		one(&latencies[i].Location)
	}
}

// summarize returns the latencies by location, in order of location names.
func summarize(latencies []Latency) []LocationLatency {
	type sum struct {
		LocationLatency
		total float64
		n     int
	}
	sums := map[string]*sum{}
	for _, l := range latencies {
		s := sums[l.Location]
		if s == nil {
			s = &sum{LocationLatency: LocationLatency{Location: l.Location, Max: -1}}
			sums[l.Location] = s
		}
		s.total += float64(l.Millis)
		s.n++
		if l.Millis > s.Max {
			s.Max, s.Slowest = l.Millis, l.PlayerID
		}
	}
	out := make([]LocationLatency, 0, len(sums))
	for _, s := range sums {
		s.Mean = s.total / float64(s.n)
		out = append(out, s.LocationLatency)
	}
	slices.SortFunc(out, func(a, b LocationLatency) int { return cmp.Compare(a.Location, b.Location) })
	return out
}

// at returns the latencies of the request's players to a location, or nil.
func (r *Request) at(location string) *LocationLatency {
	i, found := slices.BinarySearchFunc(r.Summary, location, func(l LocationLatency, name string) int { return cmp.Compare(l.Location, name) })
	if !found {
		return nil
	}
	return &r.Summary[i]
}
