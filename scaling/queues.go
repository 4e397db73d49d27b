package scaling

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// queued is the placements waiting in the queues that lead to a fleet.
type queued struct {
	pending int
	wait    time.Duration
}

// queues caches what is queued for fleets at one time. It calls Options.Queued once for
// each fleet, regardless of its number of locations, because that iterates over all
// waiting placements.
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
