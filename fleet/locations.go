package fleet

import (
	"context"
	"iter"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

type locationArgs struct {
	Name string
	Tags map[string]string
}

// CreateLocation creates a custom location.
// Errors: Conflict (name taken), LimitExceeded, TaggingFailed.
func (s *Service) CreateLocation(ctx context.Context, name string, tags map[string]string) (*Location, error) {
	return s.createLocation.Do(ctx, locationArgs{name, tags})
}

func (s *Service) runCreateLocation(tx *store.Tx, a locationArgs) (*Location, error) {
	if s.t.locations.Get(tx, a.Name) != nil {
		return nil, fault.New(fault.Conflict, "LocationName: location %s exists already", a.Name)
	}
	if q := s.opts.Quotas.Locations; q > 0 && s.t.locations.Len(tx) >= q {
		return nil, fault.New(fault.LimitExceeded, "there are %d custom locations; the quota is %d", s.t.locations.Len(tx), q)
	}
	l := &Location{Name: a.Name, Created: tx.Now()}
	resource := s.opts.Home.Of("location", a.Name)
	if err := s.tags.Put(tx, resource, a.Tags); err != nil {
		return nil, err
	}
	s.t.locations.Put(tx, l)
	s.events.Append(tx, event.Event{Code: event.LocationCreated, Location: a.Name, Resource: resource})
	return l, nil
}

// DeleteLocation removes a custom location, by name or ARN, that no fleet uses.
// Errors: NotFound, InvalidRequest (in use).
func (s *Service) DeleteLocation(ctx context.Context, nameOrARN string) error {
	_, err := s.deleteLocation.Do(ctx, nameOrARN)
	return err
}

func (s *Service) runDeleteLocation(tx *store.Tx, nameOrARN string) (struct{}, error) {
	name := s.opts.Home.ID("location", nameOrARN)
	if s.t.locations.Get(tx, name) == nil {
		return struct{}{}, fault.Missing("LocationName: location %s does not exist", nameOrARN)
	}
	if f := s.t.using.First(tx, name); f != nil {
		return struct{}{}, fault.Invalid("LocationName: location %s is used by fleet %s; remove it there first", name, f.ID)
	}
	resource := s.opts.Home.Of("location", name)
	s.t.locations.Delete(tx, name)
	s.tags.Drop(tx, resource)
	s.events.Append(tx, event.Event{Code: event.LocationDeleted, Location: name, Resource: resource})
	return struct{}{}, nil
}

// Locations returns an iterator over the custom locations after a name, in order of
// names.
func (s *Service) Locations(r store.Reader, after string) iter.Seq[*Location] {
	return s.t.locations.After(r, after)
}

type locationsArgs struct {
	FleetID   string
	Locations []string
}

// AddLocations adds locations to a fleet. Those of an Anywhere fleet are ACTIVE
// immediately, those of a managed one are NEW.
// Errors: NotFound, InvalidRequest, InvalidFleetStatus, LimitExceeded.
func (s *Service) AddLocations(ctx context.Context, fleetID string, locations []string) (*Fleet, error) {
	return s.addLocations.Do(ctx, locationsArgs{fleetID, locations})
}

func (s *Service) runAddLocations(tx *store.Tx, a locationsArgs) (*Fleet, error) {
	f, err := s.changeable(tx, a.FleetID)
	if err != nil {
		return nil, err
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
	f.addLocations(a.Locations)
	for _, l := range f.Locations[known:] {
		s.recordLocation(tx, f, &l)
	}
	s.t.fleets.Put(tx, f)
	tx.OnCommit(s.wished)
	return f, nil
}

// RemoveLocations starts the removal of locations from a fleet: processes there are told
// to stop, and the locations are removed when these have ended.
// Errors: NotFound, InvalidRequest (home region, not in the fleet), InvalidFleetStatus.
func (s *Service) RemoveLocations(ctx context.Context, fleetID string, locations []string) (*Fleet, error) {
	return s.removeLocations.Do(ctx, locationsArgs{fleetID, locations})
}

func (s *Service) runRemoveLocations(tx *store.Tx, a locationsArgs) (*Fleet, error) {
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
		f.Locations[at].move(Deleting)
		s.record(tx, event.LocationStateDeleting, f, name, "Location "+name+" changed state to DELETING")
	}
	s.t.fleets.Put(tx, f)
	tx.OnCommit(s.onDeleting)
	return f, nil
}

// FinishLocation removes a DELETING location from a fleet.
func (s *Service) FinishLocation(tx *store.Tx, fleetID, location string) {
	f := s.t.fleets.Get(tx, fleetID).clone()
	f.Locations = slices.DeleteFunc(f.Locations, func(l LocationState) bool { return l.Location == location })
	s.t.fleets.Put(tx, f)
	s.record(tx, event.LocationStateDeleted, f, location, "Location "+location+" was removed")
}

// addLocations adds locations in their initial state: NEW with one desired instance, or
// ACTIVE in an Anywhere fleet. The first location of a managed fleet is its home region.
func (f *Fleet) addLocations(names []string) {
	if f.Managed != nil && len(f.Locations) == 0 {
		names = append([]string{f.Home}, slices.DeleteFunc(slices.Clone(names), func(l string) bool { return l == f.Home })...)
	}
	for _, name := range names {
		l := LocationState{Location: name}
		if f.Managed != nil {
			l.Capacity = newCapacity
			l.move(Made)
		} else {
			l.move(Active)
		}
		f.Locations = append(f.Locations, l)
	}
}

// checkLocations checks whether a fleet that has some locations already may add others.
func (s *Service) checkLocations(r store.Reader, managed bool, has int, names []string) error {
	if q := s.opts.Quotas.LocationsPerFleet; q > 0 && has+len(names) > q {
		return fault.New(fault.LimitExceeded, "Locations: %d locations; the quota a fleet is %d", has+len(names), q)
	}
	for i, name := range names {
		if !IsCustom(name) && !managed {
			return fault.Invalid("Locations.%d.Location: %q is not a custom location; an ANYWHERE fleet takes names that begin with %s", i+1, name, CustomPrefix)
		}
		if !s.Known(r, name) {
			return fault.Invalid("Locations.%d.Location: %q does not exist; create it with CreateLocation", i+1, name)
		}
		if slices.Contains(names[:i], name) {
			return fault.Invalid("Locations.%d.Location: %q is listed twice", i+1, name)
		}
	}
	return nil
}

// Known reports whether a location exists: a region or a custom one.
func (s *Service) Known(r store.Reader, location string) bool {
	return slices.Contains(s.Regions(), location) || s.t.locations.Get(r, location) != nil
}
