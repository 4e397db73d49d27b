package placement

import (
	"iter"

	"github.com/musterhq/muster/internal/store"
)

// RequestOf returns the request of a placement, or nil if the placement is not in memory.
func (s *Service) RequestOf(r store.Reader, id string) *Request { return s.t.requests.Get(r, id) }

// CapsAt yields the queues that can place game sessions in a location, in order of names,
// each with its latency caps in the order in which they apply. Queues without caps are left
// out.
func (s *Service) CapsAt(r store.Reader, location string) iter.Seq2[string, []Cap] {
	return func(yield func(string, []Cap) bool) {
		for q := range s.t.queues.All(r) {
			if len(q.Policies) > 0 && q.allows(location) && s.leadsTo(r, q, location) && !yield(q.Name, capsOver(ascending(q.Policies))) {
				return
			}
		}
	}
}

// leadsTo reports whether a destination of a queue is in a location.
func (s *Service) leadsTo(r store.Reader, q *Queue, location string) bool {
	away := s.away.known(r)
	for _, destination := range q.Destinations {
		if k := away[destination]; k != nil && k.at(location) != nil {
			return true
		}
		if f, _ := s.resolve(r, destination); f != nil && f.Place(location) != nil {
			return true
		}
	}
	return false
}
