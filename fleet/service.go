package fleet

import (
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

// Deps are the service's dependencies.
type Deps struct {
	Events *event.Log
	Tags   *tag.Service
}

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
	*Fleets
	Capacities *Capacities
	Locations  *Locations
	Aliases    *Aliases

	quotas Quotas
	builds Builds
	tags   *tag.Service

	create          *store.Command[CreateInput, *Fleet]
	update          *store.Command[UpdateInput, *Fleet]
	updateRuntime   *store.Command[runtimeArgs, *Fleet]
	updatePorts     *store.Command[PortsInput, *Fleet]
	remove          *store.Action[string]
	addLocations    *store.Command[locationsArgs, *Fleet]
	removeLocations *store.Command[locationsArgs, *Fleet]

	onDeleting []func()
	onRuntime  []func(fleetID string)
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	t := newFleets(st, d.Events, o.Home)
	s := &Service{
		Fleets: t, Capacities: newCapacities(st, t), Locations: newLocations(st, t, d.Tags, o.Quotas.Locations),
		Aliases: newAliases(st, t, d.Tags, o.Quotas.Aliases), quotas: o.Quotas, builds: o.Builds, tags: d.Tags,
	}
	s.create = store.NewCommand(st, "fleet.create", s.runCreate)
	s.update = store.NewCommand(st, "fleet.update", s.runUpdate)
	s.updateRuntime = store.NewCommand(st, "fleet.update_runtime", s.runUpdateRuntime)
	s.updatePorts = store.NewCommand(st, "fleet.update_ports", s.runUpdatePorts)
	s.remove = store.NewAction(st, "fleet.delete", s.runDelete)
	s.addLocations = store.NewCommand(st, "fleet.add_locations", s.runAddLocations)
	s.removeLocations = store.NewCommand(st, "fleet.remove_locations", s.runRemoveLocations)
	d.Tags.Kind("fleet", func(r store.Reader, a string) bool { return t.Get(r, a) != nil })
	return s
}

// OnDeleting registers f to be called, after commit, when the deletion of fleets or their
// locations starts. Package compute then ends what runs there.
func (s *Service) OnDeleting(f func()) { s.onDeleting = append(s.onDeleting, f) }

// OnRuntime registers f to be called, after commit, when a fleet's runtime configuration
// is replaced.
func (s *Service) OnRuntime(f func(fleetID string)) { s.onRuntime = append(s.onRuntime, f) }
