package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Capacity is how many instances a location of a managed fleet shall have.
type Capacity struct {
	Desired int `json:"desired"`
	Min     int `json:"min"`
	Max     int `json:"max"`

	// FromZero has Muster take the location to no instances when it was idle for
	// the time, and back to one when a game session is asked for there
	// (SCALE_TO_AND_FROM_ZERO); Min is then Muster's own.
	FromZero  bool          `json:"from_zero,omitzero"`
	IdleAfter time.Duration `json:"idle_after,omitzero"`
}

// newCapacity is what each location starts with (developer guide, "Create a
// managed fleet": one instance in each location).
var newCapacity = Capacity{Desired: 1, Min: 0, Max: 1}

// DefaultIdleAfter is ScaleInAfterInactivityMinutes where it is not given.
const DefaultIdleAfter = 30 * time.Minute

// CapacityInput patches the capacity of one location: nil members stay.
type CapacityInput struct {
	FleetID, Location string // location "" is the home region
	Desired, Min, Max *int
	FromZero          *bool
	IdleAfter         *time.Duration
}

// UpdateCapacity changes how many instances a location shall have; making and
// removing them takes its time.
// Errors: NotFound, InvalidRequest, InvalidFleetStatus.
func (s *Service) UpdateCapacity(ctx context.Context, in CapacityInput) (*Fleet, error) {
	return s.updateCapacity.Do(ctx, in)
}

func (s *Service) runUpdateCapacity(tx *store.Tx, in CapacityInput) (*Fleet, error) {
	f, err := s.managed(tx, in.FleetID)
	if err != nil {
		return nil, err
	}
	l, err := f.scalableLocation(in.Location)
	if err != nil {
		return nil, err
	}
	c, err := in.on(l.Capacity)
	if err != nil {
		return nil, err
	}
	s.setCapacity(tx, f, l, c, "asked for")
	return f, nil
}

// on gives the capacity that a change makes of another.
func (in CapacityInput) on(c Capacity) (Capacity, error) {
	set(&c.FromZero, in.FromZero)
	if c.FromZero && in.Min != nil {
		return c, fault.Invalid("MinSize: not allowed with SCALE_TO_AND_FROM_ZERO, which sets it itself")
	}
	if !c.FromZero && in.IdleAfter != nil {
		return c, fault.Invalid("ManagedCapacityConfiguration.ScaleInAfterInactivityMinutes: allowed with SCALE_TO_AND_FROM_ZERO only")
	}
	set(&c.Min, in.Min)
	set(&c.Max, in.Max)
	set(&c.Desired, in.Desired)
	set(&c.IdleAfter, in.IdleAfter)
	switch {
	case !c.FromZero:
		c.IdleAfter = 0
	case c.IdleAfter == 0:
		c.IdleAfter = DefaultIdleAfter
	}
	if c.FromZero {
		c.Min = max(0, min(1, c.Desired))
	}
	switch {
	case c.Min < 0 || c.Max < 0 || c.Desired < 0:
		return c, fault.Invalid("DesiredInstances, MinSize, MaxSize: must not be negative")
	case c.Min > c.Max:
		return c, fault.Invalid("MinSize: %d is above MaxSize %d", c.Min, c.Max)
	case c.Desired < c.Min || c.Desired > c.Max:
		return c, fault.Invalid("DesiredInstances: %d is not between MinSize %d and MaxSize %d", c.Desired, c.Min, c.Max)
	}
	return c, nil
}

// SetDesired changes how many instances an ACTIVE location shall have, held to
// its limits, for a reason that its event tells. Others it leaves alone.
func (s *Service) SetDesired(tx *store.Tx, fleetID, location string, n int, why string) {
	old := s.t.fleets.Get(tx, fleetID)
	if old == nil || old.Managed == nil || old.Status != Active {
		return
	}
	f := old.clone()
	l, err := f.activeLocation(location)
	if err != nil {
		return
	}
	c := l.Capacity
	c.Desired = max(c.Min, min(c.Max, n))
	s.setCapacity(tx, f, l, c, why)
}

// setCapacity puts a copy of a fleet with another capacity of its location l.
func (s *Service) setCapacity(tx *store.Tx, f *Fleet, l *LocationState, c Capacity, why string) {
	was := l.Capacity
	if c == was {
		return
	}
	l.Capacity = c
	l.WaitsForHost = l.WaitsForHost && c.Desired > 0
	s.t.fleets.Put(tx, f)
	s.record(tx, event.FleetScaling, f, l.Location, fmt.Sprintf(
		"Capacity of %s: desired %d (was %d), minimum %d, maximum %d; %s", l.Location, c.Desired, was.Desired, c.Min, c.Max, why))
	tx.OnCommit(s.wished)
}

// scalableLocation gives a location of the fleet, "" being home, whose capacity may
// be changed: an ACTIVE one, and of an ACTIVE fleet the home region on its way there
// (API reference, UpdateFleetCapacity). So a home region that no host ever joins can
// be scaled to zero.
func (f *Fleet) scalableLocation(name string) (*LocationState, error) {
	if l := f.Place(name); l != nil && l.Location == f.Home && f.Status == Active && l.Status.Walking() {
		return l, nil
	}
	return f.activeLocation(name)
}

// activeLocation gives a location of the fleet, "" being home, to be changed.
func (f *Fleet) activeLocation(name string) (*LocationState, error) {
	l := f.Place(name)
	switch {
	case l == nil:
		return nil, fault.Missing("Location: %s is not a location of fleet %s", name, f.ID)
	case l.Status != Active:
		return nil, fault.New(fault.InvalidFleetStatus, "Location: %s of fleet %s is in status %s; it must be ACTIVE", l.Location, f.ID, l.Status)
	}
	return l, nil
}

// Place gives the state of a location of the fleet, "" being its home region,
// or nil. It points into the fleet.
func (f *Fleet) Place(location string) *LocationState {
	if location == "" {
		location = f.Home
	}
	at := slices.IndexFunc(f.Locations, func(l LocationState) bool { return l.Location == location })
	if at < 0 {
		return nil
	}
	return &f.Locations[at]
}

type actionsArgs struct {
	FleetID, Location string
	Stopped           bool
}

// StopScaling has automatic scaling leave a location alone, "" being the home
// region; its policies stay. Errors: NotFound, InvalidRequest, InvalidFleetStatus.
func (s *Service) StopScaling(ctx context.Context, fleetID, location string) (*Fleet, error) {
	return s.setScaling.Do(ctx, actionsArgs{fleetID, location, true})
}

// StartScaling takes StopScaling back.
func (s *Service) StartScaling(ctx context.Context, fleetID, location string) (*Fleet, error) {
	return s.setScaling.Do(ctx, actionsArgs{fleetID, location, false})
}

func (s *Service) runSetScaling(tx *store.Tx, a actionsArgs) (*Fleet, error) {
	f, err := s.managed(tx, a.FleetID)
	if err != nil {
		return nil, err
	}
	l, err := f.scalableLocation(a.Location)
	if err != nil || l.ScalingStopped == a.Stopped {
		return f, err
	}
	l.ScalingStopped = a.Stopped
	s.t.fleets.Put(tx, f)
	s.record(tx, event.FleetUpdated, f, l.Location, fmt.Sprintf("Automatic scaling is stopped: %t", a.Stopped))
	return f, nil
}
