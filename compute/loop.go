package compute

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// Nudge makes Run check again whether the deletion of a fleet can continue. It is called
// when something that a deletion may wait for is gone.
func (s *Service) Nudge() { s.loop.Nudge() }

// Run finishes what Restart has left, and then ends what is overdue until ctx ends.
func (s *Service) Run(ctx context.Context) {
	s.finishRestart(ctx)
	s.loop.Run(ctx)
}

// next returns when the loop has something to do: the earliest deadline, or now when
// the deletion of a fleet or location can make a step.
func (s *Service) next() time.Time {
	view := s.st.View()
	for f := range s.fleets.Leaving(view) {
		if s.canLeave(view, f) {
			return time.Now()
		}
	}
	return s.due.NextDue(view)
}

func (s *Service) runSweep(tx *store.Tx, _ struct{}) error {
	for p := range s.due.Due(tx, tx.Now()) {
		s.overdue(tx, p)
	}
	for f := range s.fleets.Leaving(tx) {
		s.leave(tx, f)
	}
	return nil
}

// canLeave reports whether leave would change something.
func (s *Service) canLeave(r store.Reader, f *fleet.Fleet) bool {
	for _, location := range leaving(f) {
		waiting, running := s.hosting.Left(r, f.ID, location)
		if running {
			return true
		}
		for p := range s.Processes(r, f.ID, location) {
			if p.Status != Terminating {
				return true
			}
			waiting = true
		}
		if !waiting {
			return true
		}
	}
	return false
}

// leave takes the deletion of a fleet, or of locations of it, one step further:
// processes are told to stop; when none is left the computes are deleted, and then
// the fleet or the location.
func (s *Service) leave(tx *store.Tx, f *fleet.Fleet) {
	for _, location := range leaving(f) {
		waiting := s.hosting.Clear(tx, f.ID, location)
		for p := range s.Processes(tx, f.ID, location) {
			waiting = true
			if p.Status != Terminating {
				s.stop(tx, p, stopArgs{why: event.FleetDeleting, grace: s.opts.StopGrace, text: "fleet or location is being deleted"})
			}
		}
		if waiting {
			continue
		}
		for c := range s.InFleet(tx, f.ID, location, "") {
			s.remove(tx, c)
		}
		if location == "" {
			s.fleets.Finish(tx, f.ID)
		} else {
			s.fleets.FinishLocation(tx, f.ID, location)
		}
	}
}

// leaving returns the locations of a fleet that are being deleted; "" is the whole fleet.
func leaving(f *fleet.Fleet) []string {
	if f.Status == fleet.Deleting {
		return []string{""}
	}
	var names []string
	for _, l := range f.Locations {
		if l.Status == fleet.Deleting {
			names = append(names, l.Location)
		}
	}
	return names
}
