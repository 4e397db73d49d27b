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

// Capacity is how many instances a location of a managed fleet should have.
type Capacity struct {
	Desired int `json:"desired"`
	Min     int `json:"min"`
	Max     int `json:"max"`

	// FromZero makes Muster scale the location to zero instances after it was idle for
	// IdleAfter, and back to one when a game session is requested there
	// (SCALE_TO_AND_FROM_ZERO). Muster then sets Min itself.
	FromZero  bool          `json:"from_zero,omitzero"`
	IdleAfter time.Duration `json:"idle_after,omitzero"`
}

// newCapacity is the initial capacity of each location (developer guide, "Create a
// managed fleet": one instance in each location).
var newCapacity = Capacity{Desired: 1, Min: 0, Max: 1}

// DefaultIdleAfter is the default of ScaleInAfterInactivityMinutes.
const DefaultIdleAfter = 30 * time.Minute

// CapacityInput patches the capacity of one location: nil members leave the value
// unchanged.
type CapacityInput struct {
	FleetID, Location string // Location "" is the home region
	Desired, Min, Max *int
	FromZero          *bool
	IdleAfter         *time.Duration
}

// UpdateCapacity changes how many instances a location should have. They are created and
// removed asynchronously.
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

// on returns the capacity c after the change.
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

// SetDesired changes how many instances an ACTIVE location should have, within its
// limits. The event contains the reason why. Locations that are not ACTIVE are
// unaffected.
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

// setCapacity puts the copy f of a fleet with another capacity of its location l.
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

// scalableLocation returns a location of the fleet whose capacity may be changed, ""
// being the home region: an ACTIVE one, or the home region of an ACTIVE fleet before it
// is ACTIVE (API reference, UpdateFleetCapacity). So a home region that no host ever
// joins can be scaled to zero.
func (f *Fleet) scalableLocation(name string) (*LocationState, error) {
	if l := f.Place(name); l != nil && l.Location == f.Home && f.Status == Active && l.Status.Walking() {
		return l, nil
	}
	return f.activeLocation(name)
}

// activeLocation returns an ACTIVE location of the fleet to modify, "" being the home
// region.
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

// Place returns a pointer into the fleet to the state of a location, "" being the home
// region, or nil.
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

// StopScaling stops automatic scaling of a location, "" being the home region. Its
// policies remain.
// Errors: NotFound, InvalidRequest, InvalidFleetStatus.
func (s *Service) StopScaling(ctx context.Context, fleetID, location string) (*Fleet, error) {
	return s.setScaling.Do(ctx, actionsArgs{fleetID, location, true})
}

// StartScaling reverts StopScaling.
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
