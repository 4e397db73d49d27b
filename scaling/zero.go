package scaling

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// place is a location of a fleet.
type place struct{ FleetID, Location string }

// restAll scales locations to zero, if they are configured so, once they have been idle
// for Capacity.IdleAfter: no game session, and no placement waiting for one. Idle times
// are in memory only, so they begin anew after a restart.
func (s *Service) restAll(ctx context.Context, view store.Reader, waiting *queues) error {
	idle := map[place]time.Time{}
	for f := range s.Fleets.Managed(view) {
		for _, l := range f.Locations {
			at := place{f.ID, l.Location}
			if !l.Rests() || s.busy(view, waiting, f, l.Location) {
				continue
			}
			since, known := s.idle[at]
			if !known {
				since = waiting.now
			}
			idle[at] = since
			if waiting.now.Sub(since) < l.Capacity.IdleAfter {
				continue
			}
			if err := s.rest.Do(ctx, at); err != nil {
				return err
			}
		}
	}
	s.idle = idle
	return nil
}

// busy reports whether a location has game sessions, or placements that may need it are
// waiting.
func (s *Service) busy(r store.Reader, waiting *queues, f *fleet.Fleet, location string) bool {
	if waiting.of(f.ID).pending > 0 {
		return true
	}
	for p := range s.Computes.Processes(r, f.ID, location) {
		if p.GameSessionID != "" {
			return true
		}
	}
	return false
}

func (s *Service) runRest(tx *store.Tx, at place) error {
	f := s.Fleets.Get(tx, at.FleetID)
	if f == nil || s.busy(tx, s.queues(tx, tx.Now()), f, at.Location) {
		return nil
	}
	if l := f.Place(at.Location); l != nil {
		s.Fleets.Capacities.Rest(tx, at.FleetID, at.Location, fmt.Sprintf("no game session for %s", l.Capacity.IdleAfter))
	}
	return nil
}
