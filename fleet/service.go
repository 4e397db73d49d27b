package fleet

import (
	"iter"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

// Options are the options of a Service.
type Options struct {
	Home   arn.Home
	Quotas Quotas
	Builds Builds // if nil, managed fleets cannot be created
}

// Quotas limits how many resources there may be; 0 means unlimited. AWS's defaults are in
// docs/divergences.md.
type Quotas struct {
	Fleets, Aliases, Locations, LocationsPerFleet int
}

// Service provides fleets, locations and aliases to the doors and the packages above.
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
	s.tags.Kind("fleet", func(r store.Reader, a string) bool { return s.t.fleets.Get(r, s.opts.Home.ID("fleet", a)) != nil })
	s.tags.Kind("alias", func(r store.Reader, a string) bool { return s.t.aliases.Get(r, s.opts.Home.ID("alias", a)) != nil })
	s.tags.Kind("location", func(r store.Reader, a string) bool {
		return s.t.locations.Get(r, s.opts.Home.ID("location", a)) != nil
	})
}

// OnDeleting sets the function to call, after commit, when the deletion of fleets or
// their locations starts. Package compute then ends what runs there.
func (s *Service) OnDeleting(f func()) { s.onDeleting = f }

// OnWish adds a function to call, after commit, when the instances that managed fleets
// need may have changed.
func (s *Service) OnWish(f func()) { s.onWish = append(s.onWish, f) }

func (s *Service) wished() {
	for _, f := range s.onWish {
		f()
	}
}

// Home returns the deployment that the fleets belong to.
func (s *Service) Home() arn.Home { return s.opts.Home }

// Get returns a fleet by id or ARN, or nil.
func (s *Service) Get(r store.Reader, idOrARN string) *Fleet {
	return s.t.fleets.Get(r, s.opts.Home.ID("fleet", idOrARN))
}

// Find returns a fleet by id or ARN. Errors: NotFound.
func (s *Service) Find(r store.Reader, idOrARN string) (*Fleet, error) {
	if f := s.Get(r, idOrARN); f != nil {
		return f, nil
	}
	return nil, fault.Missing("FleetId: fleet %s does not exist", idOrARN)
}

// All returns an iterator over the fleets after an id, oldest first.
func (s *Service) All(r store.Reader, after string) iter.Seq[*Fleet] {
	return s.t.fleets.After(r, after)
}

// Leaving returns an iterator over the fleets that are being deleted or lose a location.
func (s *Service) Leaving(r store.Reader) iter.Seq[*Fleet] { return s.t.leaving.Equal(r, "") }

// changeable returns a copy of an ACTIVE fleet.
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
