package fleet

import (
	"context"

	"github.com/musterhq/muster/internal/store"
)

// Asleep tells whether the location has no instances and is to have one as soon
// as a game session is asked for there (SCALE_TO_AND_FROM_ZERO).
func (l *LocationState) Asleep() bool {
	return l.zeroes() && l.Capacity.Desired == 0 && l.Capacity.Max > 0
}

// Rests tells whether the location goes to no instances once it has been idle
// for its Capacity.IdleAfter.
func (l *LocationState) Rests() bool { return l.zeroes() && l.Capacity.Desired > 0 }

func (l *LocationState) zeroes() bool {
	return l.Status == Active && l.Capacity.FromZero && !l.ScalingStopped
}

type wakeArgs struct{ FleetID, Location, Why string }

// Wake has a location that is asleep get an instance, because of a request that
// why names. Others it leaves alone.
func (s *Service) Wake(ctx context.Context, fleetID, location, why string) error {
	_, err := s.wake.Do(ctx, wakeArgs{fleetID, location, why})
	return err
}

func (s *Service) runWake(tx *store.Tx, a wakeArgs) (struct{}, error) {
	s.WakeIn(tx, a.FleetID, a.Location, a.Why)
	return struct{}{}, nil
}

// WakeIn is Wake in a transaction of the caller.
func (s *Service) WakeIn(tx *store.Tx, fleetID, location, why string) {
	s.turn(tx, fleetID, location, (*LocationState).Asleep, 1, "scaled from zero: "+why)
}

// Rest takes a location that rests to no instances.
func (s *Service) Rest(tx *store.Tx, fleetID, location, why string) {
	s.turn(tx, fleetID, location, (*LocationState).Rests, 0, "scaled to zero: "+why)
}

// turn sets the minimum and the wish of a location that is as it must be for it.
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
