package placement

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

// judge applies the rules currently in force to one waiting placement.
type judge struct {
	request  *Request
	rank     ranking
	now      time.Time
	waited   time.Duration
	cap      int           // latency cap in force, ms, or noCap
	capUntil time.Duration // when the cap changes, since the start; 0 means never
}

func newJudge(rules *rules, p *Placement, r *Request, now time.Time) judge {
	x := judge{request: r, rank: newRanking(rules, p, r), now: now, waited: now.Sub(p.Started)}
	if len(r.Summary) > 0 {
		x.cap, x.capUntil = capAt(rules.policies, x.waited)
	}
	return x
}

// forbids returns why the placement may not use a candidate, or "".
func (x *judge) forbids(c *candidate) Outcome {
	switch {
	case c.usable != "":
		return c.usable
	case x.rank.shunned(c.Place, x.now) != nil:
		return RemoteAway
	case x.onlyOverride() && !slices.Contains(x.rank.override, c.Location):
		return NotInOverride
	case x.overCap(c.Location):
		return OverLatencyCap
	}
	return ""
}

func (x *judge) onlyOverride() bool {
	return x.request.Override != nil && x.request.Override.Fallback == NoFallback
}

// overCap reports whether any player's latency to a location is above the cap. A player
// who did not report the location does not count.
func (x *judge) overCap(location string) bool {
	if x.cap == noCap {
		return false
	}
	at := x.request.at(location)
	return at != nil && at.Max > float32(x.cap)
}

// next returns when the cap changes, or a place that refused the placement may be used again;
// zero if neither ever does.
func (x *judge) next(p *Placement) (at time.Time) {
	if x.capUntil != 0 {
		at = p.Started.Add(x.capUntil)
	}
	for i := range p.Failures {
		if until := p.Failures[i].Until; until.After(x.now) {
			at = wake.Earliest(at, until)
		}
	}
	return at
}

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
