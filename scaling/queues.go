package scaling

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// queued is what waits in the queues that lead to a fleet.
type queued struct {
	pending int
	wait    time.Duration
}

// queues tells at one moment what is queued for fleets. It asks once for each
// fleet, however many locations it has: an answer walks what waits.
type queues struct {
	s     *Service
	r     store.Reader
	now   time.Time
	known map[string]queued
}

func (s *Service) queues(r store.Reader, now time.Time) *queues {
	return &queues{s: s, r: r, now: now, known: map[string]queued{}}
}

func (q *queues) of(fleetID string) queued {
	v, ok := q.known[fleetID]
	if !ok {
		v.pending, v.wait = q.s.opts.Queued(q.r, fleetID, q.now)
		q.known[fleetID] = v
	}
	return v
}
