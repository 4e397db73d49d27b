package fleet

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
)

// UpdateInput patches a fleet: nil members leave the value unchanged.
type UpdateInput struct {
	FleetID           string
	Name, Description *string
	Protection        *Protection
	CreationLimit     *CreationLimit
	MetricGroups      []string
	Cost              *string
}

func (s *Service) runUpdate(tx *store.Tx, in UpdateInput) (*Fleet, error) {
	f, err := s.changeable(tx, in.FleetID)
	if err != nil {
		return nil, err
	}
	if err := f.refuseContainers("use UpdateContainerFleet"); err != nil {
		return nil, err
	}
	was := f.Protection
	patch.Set(&f.Name, in.Name)
	patch.Set(&f.Description, in.Description)
	patch.Set(&f.Protection, in.Protection)
	patch.Set(&f.Cost, in.Cost)
	if in.CreationLimit != nil {
		f.CreationLimit = in.CreationLimit
	}
	if in.MetricGroups != nil {
		f.MetricGroups = in.MetricGroups
	}
	s.table.Put(tx, f)
	if f.Protection != was {
		s.record(tx, event.FleetProtectionPolicyUpdated, f, "", "New game sessions are created with %s, before %s", f.Protection, was)
	} else {
		s.record(tx, event.FleetUpdated, f, "", "Fleet attributes were updated")
	}
	return f, nil
}

// RuntimeInput replaces a fleet's runtime configuration.
type RuntimeInput struct {
	FleetID string
	Runtime Runtime
}

func (s *Service) runUpdateRuntime(tx *store.Tx, a RuntimeInput) (*Fleet, error) {
	old, err := s.Find(tx, a.FleetID)
	if err != nil {
		return nil, err
	}
	if old.Status == Deleting {
		return nil, fault.New(fault.InvalidFleetStatus, "fleet %s is in status %s; its runtime configuration cannot be updated any more", old.ID, old.Status)
	}
	if err := old.refuseContainers("what its instances run is in its container group definitions; use UpdateContainerFleet"); err != nil {
		return nil, err
	}
	f := old.clone()
	if err := a.Runtime.Validate(); err != nil {
		return nil, err
	}
	if f.Managed != nil && len(a.Runtime.Processes) == 0 {
		return nil, fault.Invalid("RuntimeConfiguration.ServerProcesses: at least one is required for a fleet with ComputeType EC2")
	}
	f.Runtime = a.Runtime
	s.table.Put(tx, f)
	s.record(tx, event.FleetUpdated, f, "", "The runtime configuration was replaced")
	for _, notify := range s.onRuntime {
		tx.OnCommit(func() { notify(f.ID) })
	}
	return f, nil
}

// LocationsInput lists locations to add to a fleet or to remove from it.
type LocationsInput struct {
	FleetID   string
	Locations []string
}

func (s *Service) runAddLocations(tx *store.Tx, a LocationsInput) (*Fleet, error) {
	f, err := s.changeable(tx, a.FleetID)
	if err != nil {
		return nil, err
	}
	if f.Status == Updating {
		return nil, fault.New(fault.InvalidFleetStatus, "fleet %s is in status %s; locations can be added when its deployment has ended", f.ID, f.Status)
	}
	known := len(f.Locations)
	for i, name := range a.Locations {
		if f.Place(name) != nil {
			return nil, fault.Invalid("Locations.%d.Location: %q is a location of fleet %s already", i+1, name, f.ID)
		}
	}
	if err := s.checkLocations(tx, f.Managed != nil, known, a.Locations); err != nil {
		return nil, err
	}
	f.addLocations(a.Locations, s.tags.Of(tx, s.home.OfFleet(f.ID)))
	if f.Containers != nil {
		s.begin(tx, f, f.Locations[known:])
	} else {
		for _, l := range f.Locations[known:] {
			s.recordLocation(tx, f, &l)
		}
	}
	s.putDesired(tx, f)
	return f, nil
}

func (s *Service) runRemoveLocations(tx *store.Tx, a LocationsInput) (*Fleet, error) {
	f, err := s.changeable(tx, a.FleetID)
	if err != nil {
		return nil, err
	}
	for i, name := range a.Locations {
		at := slices.IndexFunc(f.Locations, func(l LocationState) bool { return l.Location == name })
		if name == f.Home {
			return nil, fault.Invalid("Locations.%d: %s is the home region of the fleet and cannot be removed", i+1, name)
		}
		if at < 0 {
			return nil, fault.Invalid("Locations.%d: %s is not a location of fleet %s", i+1, name, f.ID)
		}
		if f.Locations[at].Status == Deleting {
			return nil, fault.Invalid("Locations.%d: %s is being removed already", i+1, name)
		}
		f.moveAt(&f.Locations[at], Deleting)
		s.record(tx, event.LocationStateDeleting, f, name, "Location %s changed state to DELETING", name)
	}
	s.table.Put(tx, f)
	notify(tx, s.onDeleting)
	s.Deployments.settle(tx, f)
	return s.table.Get(tx, f.ID), nil
}

// FinishLocation removes a DELETING location from a fleet.
func (s *Service) FinishLocation(tx *store.Tx, fleetID, location string) {
	f := s.table.Get(tx, fleetID).clone()
	f.Locations = slices.DeleteFunc(f.Locations, func(l LocationState) bool { return l.Location == location })
	s.table.Put(tx, f)
	s.record(tx, event.LocationStateDeleted, f, location, "Location %s was removed", location)
}

// addLocations adds locations in their initial state, with one desired instance in a managed
// fleet. The first location of a managed fleet is its home region. tags are the fleet's.
func (f *Fleet) addLocations(names []string, tags map[string]string) {
	if f.Managed != nil && len(f.Locations) == 0 {
		names = append([]string{f.Home}, slices.DeleteFunc(slices.Clone(names), func(l string) bool { return l == f.Home })...)
	}
	for _, name := range names {
		l := LocationState{Location: name}
		if f.Managed != nil {
			l.Capacity = newCapacity
			l.Unused = f.unusedBy(tags, name)
		}
		f.moveAt(&l, f.first())
		f.Locations = append(f.Locations, l)
	}
}

// CapacityTag is the tag in which 'muster apply' and 'muster deploy' keep the capacity that a file
// specifies for the home region of a fleet. Those of other locations have a colon and the location after that.
const CapacityTag = "muster:capacity"

// unusedBy reports whether a location is to have no instances by the fleet's tags.
func (f *Fleet) unusedBy(tags map[string]string, location string) bool {
	key := CapacityTag
	if location != f.Home {
		key += ":" + location
	}
	return slices.Contains(strings.Fields(tags[key]), "DesiredInstances=0")
}

// first returns the initial status of the fleet and its locations.
func (f *Fleet) first() Status {
	switch {
	case f.Containers != nil:
		return Pending
	case f.Managed != nil:
		return Made
	}
	return Active
}

// checkLocations returns an error unless a fleet that already has some locations may add
// others.
func (s *Service) checkLocations(r store.Reader, managed bool, has int, names []string) error {
	if q := s.quotas.LocationsPerFleet; q > 0 && has+len(names) > q {
		return fault.New(fault.LimitExceeded, "Locations: %d locations; the quota a fleet is %d", has+len(names), q)
	}
	for i, name := range names {
		if !IsCustom(name) && !managed {
			return fault.Invalid("Locations.%d.Location: %q is not a custom location; an ANYWHERE fleet takes names that begin with %s", i+1, name, CustomPrefix)
		}
		if !s.Locations.Known(r, name) {
			return fault.Invalid("Locations.%d.Location: %q does not exist; create it with CreateLocation", i+1, name)
		}
		if slices.Contains(names[:i], name) {
			return fault.Invalid("Locations.%d.Location: %q is listed twice", i+1, name)
		}
	}
	return nil
}
