package placement

import (
	"cmp"
	"slices"
	"strconv"
)

// candidate is a fleet's location as a queue may use it.
type candidate struct {
	Place
	destination int     // index among the queue's destinations
	cost        float64 // of the fleet, an hour; 0 where it has none
	usable      Outcome // "" or why it cannot be used at all
}

// ranking orders candidates for one request.
type ranking struct {
	request   *Request
	criteria  []Criterion
	locations []string // LocationOrder in force
	override  []string // locations of the override, before all others
	tried     []Place  // places that failed this placement come last
}

func newRanking(q *Queue, p *Placement, r *Request) ranking {
	rank := ranking{request: r, criteria: q.criteria(len(r.Summary) > 0), locations: q.LocationOrder, tried: p.Tried}
	if r.Override != nil {
		rank.locations, rank.override = r.Override.LocationOrder, r.Override.LocationOrder
	}
	return rank
}

// sort puts candidates in the order in which they shall be tried.
func (k ranking) sort(cs []candidate) { slices.SortStableFunc(cs, k.compare) }

func (k ranking) compare(a, b candidate) int {
	if c := cmp.Compare(k.failures(a), k.failures(b)); c != 0 {
		return c
	}
	if c := before(slices.Contains(k.override, a.Location), slices.Contains(k.override, b.Location)); c != 0 {
		return c
	}
	for _, criterion := range k.criteria {
		if c := k.by(criterion, a, b); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.destination, b.destination), cmp.Compare(a.Location, b.Location))
}

func (k ranking) failures(c candidate) int {
	n := 0
	for _, t := range k.tried {
		if t == c.Place {
			n++
		}
	}
	return n
}

func (k ranking) by(criterion Criterion, a, b candidate) int {
	switch criterion {
	case ByLatency:
		return k.byLatency(a, b)
	case ByCost:
		return cmp.Compare(a.cost, b.cost)
	case ByDestination:
		return cmp.Compare(a.destination, b.destination)
	}
	return k.byLocation(a, b)
}

// byLatency: the lower mean of the players' latencies first, locations that no
// player reported last. Without latencies in the request all are equal.
func (k ranking) byLatency(a, b candidate) int {
	la, lb := k.request.at(a.Location), k.request.at(b.Location)
	if la == nil || lb == nil {
		return before(la != nil, lb != nil)
	}
	return cmp.Compare(la.Mean, lb.Mean)
}

// byLocation: in the order of the list, then the others by name.
func (k ranking) byLocation(a, b candidate) int {
	ia, ib := slices.Index(k.locations, a.Location), slices.Index(k.locations, b.Location)
	if ia < 0 || ib < 0 {
		return cmp.Or(before(ia >= 0, ib >= 0), cmp.Compare(a.Location, b.Location))
	}
	return cmp.Compare(ia, ib)
}

// before orders what is so before what is not.
func before(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// price reads a fleet's cost; a fleet without one costs nothing.
func price(cost string) float64 {
	v, err := strconv.ParseFloat(cost, 64)
	if err != nil {
		return 0
	}
	return v
}
