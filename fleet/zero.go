package fleet

import (
	"context"

	"github.com/musterhq/muster/internal/store"
)

// Asleep reports whether the location has no instances and gets one as soon as a game
// session is requested there (SCALE_TO_AND_FROM_ZERO).
func (l *LocationState) Asleep() bool {
	return l.zeroes() && l.Capacity.Desired == 0 && l.Capacity.Max > 0
}

// Rests reports whether the location is scaled to zero once it has been idle for its
// Capacity.IdleAfter.
func (l *LocationState) Rests() bool { return l.zeroes() && l.Capacity.Desired > 0 }

func (l *LocationState) zeroes() bool {
	return l.Status == Active && l.Capacity.FromZero && !l.ScalingStopped
}

type wakeArgs struct{ FleetID, Location, Why string }

// Wake requests an instance for a location that is asleep; why describes the cause. Other locations are unaffected.
func (s *Service) Wake(ctx context.Context, fleetID, location, why string) error {
	_, err := s.wake.Do(ctx, wakeArgs{fleetID, location, why})
	return err
}

func (s *Service) runWake(tx *store.Tx, a wakeArgs) (struct{}, error) {
	s.WakeIn(tx, a.FleetID, a.Location, a.Why)
	return struct{}{}, nil
}

// WakeIn is like Wake, in a transaction of the caller.
func (s *Service) WakeIn(tx *store.Tx, fleetID, location, why string) {
	s.turn(tx, fleetID, location, (*LocationState).Asleep, 1, "scaled from zero: "+why)
}

// Rest scales a location to zero if it Rests.
func (s *Service) Rest(tx *store.Tx, fleetID, location, why string) {
	s.turn(tx, fleetID, location, (*LocationState).Rests, 0, "scaled to zero: "+why)
}

// turn sets the minimum and desired instances of a location for which may returns true.
func (s *Service) turn(tx *store.Tx, fleetID, location string, may func(*LocationState) bool, n int, why string) {
	old := s.t.fleets.Get(tx, fleetID)
	if old == nil || old.Managed == nil || old.Status != Active {
		return
	}
	f := old.clone()
	l := f.Place(location)
	if l == nil || !may(l) {
		return
	}
	c := l.Capacity
	c.Min, c.Desired = n, n
	s.setCapacity(tx, f, l, c, why)
}
