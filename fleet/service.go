package fleet

import (
	"context"
	"iter"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

// Options of the service.
type Options struct {
	Home    arn.Home
	Regions []string // location names besides the home region that ListLocations shows as AWS's own
	Quotas  Quotas
	Builds  Builds // nil: managed fleets cannot be created
}

// Quotas bound how many resources there may be; 0 means no bound.
// AWS's defaults are in docs/divergences.md.
type Quotas struct {
	Fleets, Aliases, Locations, LocationsPerFleet int
}

// Service is what doors and the packages above call.
type Service struct {
	st     *store.Store
	opts   Options
	events *event.Log
	tags   *tag.Service
	t      tables

	create          *store.Command[CreateInput, *Fleet]
	update          *store.Command[UpdateInput, *Fleet]
	updateRuntime   *store.Command[runtimeArgs, *Fleet]
	updatePorts     *store.Command[PortsInput, *Fleet]
	updateCapacity  *store.Command[CapacityInput, *Fleet]
	wake            *store.Command[wakeArgs, struct{}]
	setScaling      *store.Command[actionsArgs, *Fleet]
	del             *store.Command[string, struct{}]
	addLocations    *store.Command[locationsArgs, *Fleet]
	removeLocations *store.Command[locationsArgs, *Fleet]
	createLocation  *store.Command[locationArgs, *Location]
	deleteLocation  *store.Command[string, struct{}]
	createAlias     *store.Command[AliasInput, *Alias]
	updateAlias     *store.Command[AliasUpdate, *Alias]
	deleteAlias     *store.Command[string, struct{}]
	onDeleting      func()
	onWish          []func()
	onRuntime       func(fleetID string)
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, events *event.Log, tags *tag.Service, opts Options) *Service {
	s := &Service{st: st, opts: opts, events: events, tags: tags, t: newTables(st), onDeleting: func() {}, onRuntime: func(string) {}}
	s.create = store.NewCommand(st, "fleet.create", s.runCreate)
	s.update = store.NewCommand(st, "fleet.update", s.runUpdate)
	s.updateRuntime = store.NewCommand(st, "fleet.update_runtime", s.runUpdateRuntime)
	s.updatePorts = store.NewCommand(st, "fleet.update_ports", s.runUpdatePorts)
	s.updateCapacity = store.NewCommand(st, "fleet.update_capacity", s.runUpdateCapacity)
	s.wake = store.NewCommand(st, "fleet.wake", s.runWake)
	s.setScaling = store.NewCommand(st, "fleet.set_scaling", s.runSetScaling)
	s.del = store.NewCommand(st, "fleet.delete", s.runDelete)
	s.addLocations = store.NewCommand(st, "fleet.add_locations", s.runAddLocations)
	s.removeLocations = store.NewCommand(st, "fleet.remove_locations", s.runRemoveLocations)
	s.createLocation = store.NewCommand(st, "location.create", s.runCreateLocation)
	s.deleteLocation = store.NewCommand(st, "location.delete", s.runDeleteLocation)
	s.createAlias = store.NewCommand(st, "alias.create", s.runCreateAlias)
	s.updateAlias = store.NewCommand(st, "alias.update", s.runUpdateAlias)
	s.deleteAlias = store.NewCommand(st, "alias.delete", s.runDeleteAlias)
	s.registerTaggable()
	return s
}

func (s *Service) registerTaggable() {
	s.tags.Kind("fleet", func(r store.Reader, a string) bool { return s.t.fleets.Get(r, arn.ID("fleet", a)) != nil })
	s.tags.Kind("alias", func(r store.Reader, a string) bool { return s.t.aliases.Get(r, arn.ID("alias", a)) != nil })
	s.tags.Kind("location", func(r store.Reader, a string) bool {
		return s.t.locations.Get(r, arn.ID("location", a)) != nil
	})
}

// OnDeleting says what to call, after commit, when fleets or their locations
// start to be deleted; compute ends what runs there.
func (s *Service) OnDeleting(f func()) { s.onDeleting = f }

// OnWish says what to call, after commit, when what managed fleets wish of
// hosts may have changed.
func (s *Service) OnWish(f func()) { s.onWish = append(s.onWish, f) }

func (s *Service) wished() {
	for _, f := range s.onWish {
		f()
	}
}

// Home names the deployment that the fleets belong to.
func (s *Service) Home() arn.Home { return s.opts.Home }

// CreateInput says what fleet to create.
type CreateInput struct {
	Name, Description string
	ComputeType       ComputeType
	Locations         []string
	Protection        Protection
	CreationLimit     *CreationLimit
	MetricGroups      []string
	Cost              string
	LogPaths          []string
	Runtime           Runtime
	Managed           *Managed // with ComputeType EC2
	Tags              map[string]string
}

// Create makes a fleet. An ANYWHERE fleet is ACTIVE at once; a managed one is
// NEW and goes its way (walk.go).
// Errors: InvalidRequest, NotFound (build), LimitExceeded, TaggingFailed.
func (s *Service) Create(ctx context.Context, in CreateInput) (*Fleet, error) {
	return s.create.Do(ctx, in)
}

func (s *Service) runCreate(tx *store.Tx, in CreateInput) (*Fleet, error) {
	if in.Managed != nil {
		m := *in.Managed
		in.Managed = &m
	}
	if err := s.checkCreate(tx, &in); err != nil {
		return nil, err
	}
	f := &Fleet{
		ID: tx.ID("fleet-"), Name: in.Name, Description: in.Description, ComputeType: in.ComputeType,
		Created: tx.Now(), Protection: in.Protection, CreationLimit: in.CreationLimit,
		MetricGroups: in.MetricGroups, Cost: in.Cost, LogPaths: in.LogPaths, Home: s.opts.Home.Region, Runtime: in.Runtime,
		Managed: in.Managed,
	}
	if f.Protection == "" {
		f.Protection = NoProtection
	}
	if f.MetricGroups == nil {
		f.MetricGroups = []string{"default"}
	}
	if err := s.tags.Put(tx, s.opts.Home.Of("fleet", f.ID), in.Tags); err != nil {
		return nil, err
	}
	s.record(tx, event.FleetCreated, f, "", "Fleet "+f.ID+" was created")
	if f.Managed != nil {
		f.move(Made)
		f.addLocations(in.Locations)
	} else {
		f.move(Active)
		f.addLocations(in.Locations)
		s.record(tx, event.FleetStateActive, f, "", "Fleet "+f.ID+" changed state to ACTIVE")
	}
	s.t.fleets.Put(tx, f)
	tx.OnCommit(s.wished)
	return f, nil
}

// addLocations adds locations as they start: NEW with one instance wished for,
// or ACTIVE in an Anywhere fleet. The home region of a managed fleet is the first.
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

func (s *Service) checkCreate(tx *store.Tx, in *CreateInput) error {
	if in.ComputeType == Anywhere && len(in.Locations) == 0 {
		return fault.Invalid("Locations: an ANYWHERE fleet needs at least one custom location")
	}
	if (in.ComputeType == EC2) != (in.Managed != nil) {
		return fault.Invalid("ComputeType: %q is not %s or %s", in.ComputeType, EC2, Anywhere)
	}
	if err := s.checkLocations(tx, in.Managed != nil, in.Locations); err != nil {
		return err
	}
	if in.Managed != nil {
		if err := s.checkManaged(tx, in); err != nil {
			return err
		}
	}
	if q := s.opts.Quotas.Fleets; q > 0 && s.t.fleets.Len(tx) >= q {
		return fault.New(fault.LimitExceeded, "there are %d fleets; the quota is %d", s.t.fleets.Len(tx), q)
	}
	return in.Runtime.Validate()
}

// checkLocations holds each location to what a fleet may list.
func (s *Service) checkLocations(r store.Reader, managed bool, names []string) error {
	if q := s.opts.Quotas.LocationsPerFleet; q > 0 && len(names) > q {
		return fault.New(fault.LimitExceeded, "Locations: %d locations; the quota a fleet is %d", len(names), q)
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

// Known tells whether a location of the name exists: a region or a custom one.
func (s *Service) Known(r store.Reader, location string) bool {
	return slices.Contains(s.Regions(), location) || s.t.locations.Get(r, location) != nil
}

// UpdateInput patches a fleet: nil members stay as they are.
type UpdateInput struct {
	FleetID           string
	Name, Description *string
	Protection        *Protection
	CreationLimit     *CreationLimit
	MetricGroups      []string
	Cost              *string
}

// Update changes attributes of a fleet; a new protection policy binds new sessions only.
// Errors: NotFound, InvalidFleetStatus.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*Fleet, error) {
	return s.update.Do(ctx, in)
}

func (s *Service) runUpdate(tx *store.Tx, in UpdateInput) (*Fleet, error) {
	f, err := s.changeable(tx, in.FleetID)
	if err != nil {
		return nil, err
	}
	was := f.Protection
	set(&f.Name, in.Name)
	set(&f.Description, in.Description)
	set(&f.Protection, in.Protection)
	set(&f.Cost, in.Cost)
	if in.CreationLimit != nil {
		f.CreationLimit = in.CreationLimit
	}
	if in.MetricGroups != nil {
		f.MetricGroups = in.MetricGroups
	}
	s.t.fleets.Put(tx, f)
	code, text := event.FleetUpdated, "Fleet attributes were updated"
	if f.Protection != was {
		code, text = event.FleetProtectionPolicyUpdated, "New game sessions are created with "+string(f.Protection)+", before "+string(was)
	}
	s.record(tx, code, f, "", text)
	return f, nil
}

// OnRuntime says what to call, after commit, when a fleet's runtime
// configuration was replaced.
func (s *Service) OnRuntime(f func(fleetID string)) { s.onRuntime = f }

func (s *Service) rerun(fleetID string) func() { return func() { s.onRuntime(fleetID) } }

type runtimeArgs struct {
	FleetID string
	Runtime Runtime
}

// UpdateRuntime replaces a fleet's runtime configuration.
// Errors: NotFound, InvalidFleetStatus, InvalidRequest.
func (s *Service) UpdateRuntime(ctx context.Context, fleetID string, r Runtime) (*Fleet, error) {
	return s.updateRuntime.Do(ctx, runtimeArgs{fleetID, r})
}

func (s *Service) runUpdateRuntime(tx *store.Tx, a runtimeArgs) (*Fleet, error) {
	f, err := s.changeable(tx, a.FleetID)
	if err != nil {
		return nil, err
	}
	if err := a.Runtime.Validate(); err != nil {
		return nil, err
	}
	if f.Managed != nil && len(a.Runtime.Processes) == 0 {
		return nil, fault.Invalid("RuntimeConfiguration.ServerProcesses: at least one is required for a fleet with ComputeType EC2")
	}
	f.Runtime = a.Runtime
	s.t.fleets.Put(tx, f)
	s.record(tx, event.FleetUpdated, f, "", "The runtime configuration was replaced")
	tx.OnCommit(s.rerun(f.ID))
	return f, nil
}

// Delete starts the end of a fleet: its processes are told to stop, and when the
// last is gone the fleet vanishes. Errors: NotFound, InvalidFleetStatus.
func (s *Service) Delete(ctx context.Context, fleetID string) error {
	_, err := s.del.Do(ctx, fleetID)
	return err
}

func (s *Service) runDelete(tx *store.Tx, fleetID string) (struct{}, error) {
	old, err := s.Find(tx, fleetID)
	if err != nil {
		return struct{}{}, err
	}
	if old.Status == Deleting {
		return struct{}{}, fault.New(fault.InvalidFleetStatus, "Cannot delete fleet %s that is in status of %s", old.ID, old.Status)
	}
	f := old.clone()
	f.move(Deleting)
	s.t.fleets.Put(tx, f)
	s.record(tx, event.FleetDeleting, f, "", "Fleet "+f.ID+" changed state to DELETING")
	tx.OnCommit(s.onDeleting)
	return struct{}{}, nil
}

// Finish lets a DELETING fleet go when nothing runs there any more.
func (s *Service) Finish(tx *store.Tx, fleetID string) {
	f := s.t.fleets.Get(tx, fleetID).clone()
	f.move(Terminated)
	f.Terminated = tx.Now()
	s.t.fleets.Delete(tx, fleetID)
	s.tags.Drop(tx, s.opts.Home.Of("fleet", fleetID))
	s.record(tx, event.FleetDeleted, f, "", "Fleet "+f.ID+" was deleted")
	tx.OnCommit(s.wished)
}

// Get gives a fleet by id or ARN, or nil.
func (s *Service) Get(r store.Reader, idOrARN string) *Fleet {
	return s.t.fleets.Get(r, arn.ID("fleet", idOrARN))
}

// Find gives a fleet by id or ARN. Errors: NotFound.
func (s *Service) Find(r store.Reader, idOrARN string) (*Fleet, error) {
	if f := s.Get(r, idOrARN); f != nil {
		return f, nil
	}
	return nil, fault.Missing("FleetId: fleet %s does not exist", idOrARN)
}

// All gives every fleet after an id, oldest first.
func (s *Service) All(r store.Reader, after string) iter.Seq[*Fleet] {
	return s.t.fleets.After(r, after)
}

// Leaving gives the fleets that are being deleted, or lose a location.
func (s *Service) Leaving(r store.Reader) iter.Seq[*Fleet] { return s.t.leaving.Equal(r, "") }

// changeable gives a copy of a fleet that may still be changed.
func (s *Service) changeable(tx *store.Tx, idOrARN string) (*Fleet, error) {
	f, err := s.Find(tx, idOrARN)
	if err != nil {
		return nil, err
	}
	if f.Status != Active {
		return nil, fault.New(fault.InvalidFleetStatus, "fleet %s is in status %s; it must be ACTIVE", f.ID, f.Status)
	}
	return f.clone(), nil
}

func (s *Service) record(tx *store.Tx, code event.Code, f *Fleet, location, text string) {
	s.events.Append(tx, event.Event{Code: code, FleetID: f.ID, Location: location, Message: text})
}

// set takes over a value that was given.
func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
