package fleet

import (
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
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

// Within returns the number of instances closest to n that the limits allow.
func (c Capacity) Within(n int) int { return max(c.Min, min(c.Max, n)) }

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

// Capacities are the capacities of managed fleets in their locations.
type Capacities struct {
	fleets *Fleets
	// Update changes how many instances a location should have. They are created and
	// removed asynchronously.
	// Errors: NotFound, InvalidRequest, InvalidFleetStatus.
	Update *store.Command[CapacityInput, *Fleet]
	// SetScaling stops automatic scaling of a location, or starts it again. The location's
	// policies remain.
	// Errors: NotFound, InvalidRequest, InvalidFleetStatus.
	SetScaling *store.Command[ScalingInput, *Fleet]
	// Wake requests an instance for a location that is asleep. Other locations are
	// unaffected.
	Wake *store.Action[WakeInput]
}

func newCapacities(st *store.Store, fleets *Fleets) *Capacities {
	s := &Capacities{fleets: fleets}
	s.Update = store.NewCommand(st, "fleet.update_capacity", s.runUpdate)
	s.SetScaling = store.NewCommand(st, "fleet.set_scaling", s.runSetScaling)
	s.Wake = store.NewAction(st, "fleet.wake", s.runWake)
	return s
}

func (s *Capacities) runUpdate(tx *store.Tx, in CapacityInput) (*Fleet, error) {
	f, err := s.fleets.changeableManaged(tx, in.FleetID)
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
	s.put(tx, f, l, c, "asked for")
	return f, nil
}

// on returns c with the change applied.
func (in CapacityInput) on(c Capacity) (Capacity, error) {
	patch.Set(&c.FromZero, in.FromZero)
	if c.FromZero && in.Min != nil {
		return c, fault.Invalid("MinSize: not allowed with SCALE_TO_AND_FROM_ZERO, which sets it itself")
	}
	if !c.FromZero && in.IdleAfter != nil {
		return c, fault.Invalid("ManagedCapacityConfiguration.ScaleInAfterInactivityMinutes: allowed with SCALE_TO_AND_FROM_ZERO only")
	}
	patch.Set(&c.Min, in.Min)
	patch.Set(&c.Max, in.Max)
	patch.Set(&c.Desired, in.Desired)
	patch.Set(&c.IdleAfter, in.IdleAfter)
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
func (s *Capacities) SetDesired(tx *store.Tx, fleetID, location string, n int, why string) {
	f, err := s.fleets.changeableManaged(tx, fleetID)
	if err != nil {
		return
	}
	if l := f.Place(location); l != nil && l.Status.Serves() {
		c := l.Capacity
		c.Desired = c.Within(n)
		s.put(tx, f, l, c, why)
	}
}

// put puts the copy f of a fleet with another capacity of its location l.
func (s *Capacities) put(tx *store.Tx, f *Fleet, l *LocationState, c Capacity, why string) {
	was := l.Capacity
	if c == was {
		return
	}
	l.Capacity = c
	l.WaitsForHost, l.Unused = l.WaitsForHost && c.Desired > 0, false
	s.fleets.putDesired(tx, f)
	s.fleets.record(tx, event.FleetScaling, f, l.Location,
		"Capacity of %s: desired %d (was %d), minimum %d, maximum %d; %s", l.Location, c.Desired, was.Desired, c.Min, c.Max, why)
}

// scalableLocation returns a location of the fleet whose capacity may be changed, ""
// being the home region: an ACTIVE one, or the home region of an ACTIVE fleet before it
// is ACTIVE (API reference, UpdateFleetCapacity). So a home region that no host ever
// joins can be scaled to zero.
func (f *Fleet) scalableLocation(name string) (*LocationState, error) {
	if l := f.Place(name); l != nil && f.Scalable(*l) {
		return l, nil
	}
	return f.activeLocation(name)
}

// Scalable reports whether the capacity of a location of the fleet may be changed.
func (f *Fleet) Scalable(l LocationState) bool {
	return f.Status.Serves() && (l.Status.Serves() || l.Location == f.Home && l.Status.Starting())
}

// Removable reports whether a location may be taken out of the fleet.
func (f *Fleet) Removable(l LocationState) bool {
	return f.Status.Serves() && l.Location != f.Home && l.Status != Deleting
}

// activeLocation returns an ACTIVE location of the fleet to modify, "" being the home
// region.
func (f *Fleet) activeLocation(name string) (*LocationState, error) {
	l := f.Place(name)
	switch {
	case l == nil:
		return nil, fault.Missing("Location: %s is not a location of fleet %s", name, f.ID)
	case !l.Status.Serves():
		return nil, fault.New(fault.InvalidFleetStatus, "Location: %s of fleet %s is in status %s; it must be ACTIVE", l.Location, f.ID, l.Status)
	}
	return l, nil
}

// ScalingInput says whether a location is scaled automatically.
type ScalingInput struct {
	FleetID, Location string // Location "" is the home region
	Stopped           bool
}

func (s *Capacities) runSetScaling(tx *store.Tx, a ScalingInput) (*Fleet, error) {
	f, err := s.fleets.changeableManaged(tx, a.FleetID)
	if err != nil {
		return nil, err
	}
	l, err := f.scalableLocation(a.Location)
	if err != nil || l.ScalingStopped == a.Stopped {
		return f, err
	}
	l.ScalingStopped = a.Stopped
	s.fleets.table.Put(tx, f)
	s.fleets.record(tx, event.FleetUpdated, f, l.Location, "Automatic scaling is stopped: %t", a.Stopped)
	return f, nil
}

// Asleep reports whether the location has no instances and gets one as soon as a game
// session is requested there (SCALE_TO_AND_FROM_ZERO).
func (l *LocationState) Asleep() bool {
	return l.zeroes() && l.Capacity.Desired == 0 && l.Capacity.Max > 0
}

// Rests reports whether the location is scaled to zero once it has been idle for its
// Capacity.IdleAfter.
func (l *LocationState) Rests() bool { return l.zeroes() && l.Capacity.Desired > 0 }

func (l *LocationState) zeroes() bool {
	return l.Status.Serves() && l.Capacity.FromZero && !l.ScalingStopped
}

// WakeInput names a location to wake, and the cause.
type WakeInput struct{ FleetID, Location, Why string }

func (s *Capacities) runWake(tx *store.Tx, a WakeInput) error {
	s.WakeIn(tx, a.FleetID, a.Location, a.Why)
	return nil
}

// WakeIn is like Wake, in a transaction of the caller.
func (s *Capacities) WakeIn(tx *store.Tx, fleetID, location, why string) {
	s.turn(tx, fleetID, location, (*LocationState).Asleep, 1, "scaled from zero: "+why)
}

// Rest scales a location to zero if it Rests.
func (s *Capacities) Rest(tx *store.Tx, fleetID, location, why string) {
	s.turn(tx, fleetID, location, (*LocationState).Rests, 0, "scaled to zero: "+why)
}

// turn sets the minimum and desired instances of a location for which may returns true.
func (s *Capacities) turn(tx *store.Tx, fleetID, location string, may func(*LocationState) bool, n int, why string) {
	f, err := s.fleets.changeableManaged(tx, fleetID)
	if err != nil {
		return
	}
	if l := f.Place(location); l != nil && may(l) {
		c := l.Capacity
		c.Min, c.Desired = n, n
		s.put(tx, f, l, c, why)
	}
}
