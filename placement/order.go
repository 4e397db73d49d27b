package placement

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// candidate is a fleet's location as a queue may use it.
type candidate struct {
	Place
	destination int     // index among the queue's destinations
	cost        float64 // of the fleet, per hour; 0 if it has none
	usable      Outcome // "" or why it cannot be used at all
	why         string  // of RemoteAway
	neighbor    bool    // of another region of this deployment
}

// rules are a queue's rules about order and caps, prepared for many requests.
type rules struct {
	policies               []LatencyPolicy // ascending
	withLatency, noLatency []Criterion
	locations              []string // LocationOrder
}

func newRules(q *Queue) rules {
	return rules{ascending(q.Policies), q.criteria(true), q.criteria(false), q.LocationOrder}
}

// ranking orders candidates for one request.
type ranking struct {
	request   *Request
	criteria  []Criterion
	locations []string  // the queue's LocationOrder
	override  []string  // locations of the request's override, which precede all others
	failures  []Failure // places where this placement failed, which come last
}

func newRanking(rules *rules, p *Placement, r *Request) ranking {
	rank := ranking{request: r, criteria: rules.noLatency, locations: rules.locations, failures: p.Failures}
	if len(r.Summary) > 0 {
		rank.criteria = rules.withLatency
	}
	if r.Override != nil {
		rank.override = r.Override.LocationOrder
	}
	return rank
}

// sort sorts candidates in the order in which they are tried.
func (k *ranking) sort(cs []candidate) {
	slices.SortStableFunc(cs, func(a, b candidate) int { return k.compare(&a, &b) })
}

// compare defines a total order: places with fewer failures first, then those of the
// override, then by the criteria, and finally by destination and location name.
func (k *ranking) compare(a, b *candidate) int {
	if len(k.failures) > 0 {
		if c := cmp.Compare(k.failed(a.Place), k.failed(b.Place)); c != 0 {
			return c
		}
	}
	if c := listed(k.override, a.Location, b.Location); c != 0 {
		return c
	}
	for _, criterion := range k.criteria {
		if c := k.by(criterion, a, b); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.destination, b.destination), cmp.Compare(a.Location, b.Location))
}

// shunned returns the failure that excludes a place, or nil.
func (k *ranking) shunned(at Place, now time.Time) *Failure {
	for i := range k.failures {
		if f := &k.failures[i]; f.Place == at && f.Until.After(now) {
			return f
		}
	}
	return nil
}

// failed returns how often the placement failed at a place.
func (k *ranking) failed(at Place) int {
	for _, f := range k.failures {
		if f.Place == at {
			return f.Times
		}
	}
	return 0
}

func (k *ranking) by(criterion Criterion, a, b *candidate) int {
	switch criterion {
	case ByLatency:
		return k.byLatency(a, b)
	case ByCost:
		return cmp.Compare(a.cost, b.cost)
	case ByDestination:
		return cmp.Compare(a.destination, b.destination)
	}
	return cmp.Or(listed(k.locations, a.Location, b.Location), cmp.Compare(a.Location, b.Location))
}

// byLatency orders by mean latency of the players, lowest first, and locations that no
// player reported last. Without latencies in the request all are equal.
func (k *ranking) byLatency(a, b *candidate) int {
	la, lb := k.request.at(a.Location), k.request.at(b.Location)
	switch {
	case la == nil && lb == nil:
		return 0
	case la == nil:
		return 1
	case lb == nil:
		return -1
	}
	return cmp.Compare(la.Mean, lb.Mean)
}

// listed orders by position in a list. Values that are not in the list come last and are
// equal.
func listed(list []string, a, b string) int {
	if len(list) == 0 || a == b {
		return 0
	}
	at := func(v string) int {
		if i := slices.Index(list, v); i >= 0 {
			return i
		}
		return len(list)
	}
	return cmp.Compare(at(a), at(b))
}

// price parses a fleet's cost. A fleet without one costs 0.
func price(cost string) float64 {
	v, err := strconv.ParseFloat(cost, 64)
	if err != nil {
		return 0
	}
	return v
}
