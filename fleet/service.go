package fleet

import (
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/tracing"
)

// Deps are the service's dependencies.
type Deps struct {
	Events *event.Log
	Tags   *tag.Service
}

// Options are the options of a Service.
type Options struct {
	Home        arn.Home
	Regions     []string // of the deployment; may be nil if that has the home region alone
	Quotas      Quotas
	Builds      Builds      // if nil, fleets with a build cannot be created
	Definitions Definitions // if nil, container fleets run nothing

	Tracer *tracing.Tracer // of what requests cause; nil remembers nothing
}

// Quotas limits how many resources there may be; 0 means unlimited. AWS's defaults are in
// docs/divergences.md.
type Quotas struct {
	Fleets, Aliases, Locations, LocationsPerFleet int
}

// Service provides fleets, locations and aliases to the doors and the packages above.
type Service struct {
	*Fleets
	Capacities  *Capacities
	Locations   *Locations
	Aliases     *Aliases
	Deployments *Deployments

	// Create creates a fleet. An ANYWHERE fleet is ACTIVE immediately; a managed one is NEW
	// and becomes ACTIVE step by step (Advance).
	// Errors: InvalidRequest, NotFound (build), LimitExceeded, TaggingFailed.
	Create *store.Command[CreateInput, *Fleet]
	// CreateContainer creates a container fleet. It is PENDING and becomes ACTIVE step by step
	// (Advance), or is CREATED if it has no game server container group.
	// Errors: InvalidRequest, LimitExceeded, TaggingFailed.
	CreateContainer *store.Command[ContainerInput, *Fleet]
	// UpdateContainer changes a container fleet. If its instances have to run something else,
	// a deployment begins, which cancels one that has not ended.
	// Errors: NotFound (fleet, definition), InvalidRequest, NotReady.
	UpdateContainer *store.Command[ContainerUpdate, *Fleet]
	// DeleteContainer is like Delete for container fleets. Errors: NotFound, InvalidRequest
	// (DELETING already, or a fleet of another kind).
	DeleteContainer *store.Action[string]
	// Update changes attributes of a fleet. A new protection policy applies to new game
	// sessions only.
	// Errors: NotFound, InvalidFleetStatus.
	Update *store.Command[UpdateInput, *Fleet]
	// UpdatePorts changes the inbound permissions of a managed fleet: revocations
	// first, each of which must match a permission.
	// Errors: NotFound, InvalidRequest, InvalidFleetStatus.
	UpdatePorts *store.Command[PortsInput, *Fleet]
	// UpdateRuntime replaces a fleet's runtime configuration, even before the fleet is
	// ACTIVE (API reference, UpdateRuntimeConfiguration).
	// Errors: NotFound, InvalidFleetStatus (DELETING), InvalidRequest.
	UpdateRuntime *store.Command[RuntimeInput, *Fleet]
	// AddLocations adds locations to a fleet. Those of an Anywhere fleet are ACTIVE
	// immediately, those of a managed one are NEW.
	// Errors: NotFound, InvalidRequest, InvalidFleetStatus, LimitExceeded.
	AddLocations *store.Command[LocationsInput, *Fleet]
	// RemoveLocations starts the removal of locations from a fleet: processes there are
	// told to stop, and the locations are removed when these have ended.
	// Errors: NotFound, InvalidRequest (home region, not in the fleet), InvalidFleetStatus.
	RemoveLocations *store.Command[LocationsInput, *Fleet]
	// Delete starts the deletion of a fleet: its processes are told to stop, and the fleet is
	// removed when the last one has ended. Errors: NotFound, InvalidRequest (DELETING
	// already; Terraform depends on the exact message to keep waiting).
	Delete *store.Action[string]

	quotas      Quotas
	builds      Builds
	definitions Definitions
	tags        *tag.Service

	onDeleting []func()
	onRuntime  []func(fleetID string)
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	t := newFleets(st, d.Events, o.Home)
	t.tracer = o.Tracer
	s := &Service{
		Fleets: t, Capacities: newCapacities(st, t), Locations: newLocations(st, t, d.Tags, &o),
		Aliases: newAliases(st, t, d.Tags, o.Quotas.Aliases), quotas: o.Quotas, builds: o.Builds, definitions: o.Definitions, tags: d.Tags,
		Deployments: newDeployments(st, t),
	}
	s.Create = store.NewCommand(st, "fleet.create", s.runCreate)
	s.CreateContainer = store.NewCommand(st, "fleet.create_container", s.runCreateContainer)
	s.UpdateContainer = store.NewCommand(st, "fleet.update_container", s.runUpdateContainer)
	s.DeleteContainer = store.NewAction(st, "fleet.delete_container", s.runDeleteContainer)
	s.Update = store.NewCommand(st, "fleet.update", s.runUpdate)
	s.UpdateRuntime = store.NewCommand(st, "fleet.update_runtime", s.runUpdateRuntime)
	s.UpdatePorts = store.NewCommand(st, "fleet.update_ports", s.runUpdatePorts)
	s.Delete = store.NewAction(st, "fleet.delete", s.runDelete)
	s.AddLocations = store.NewCommand(st, "fleet.add_locations", s.runAddLocations)
	s.RemoveLocations = store.NewCommand(st, "fleet.remove_locations", s.runRemoveLocations)
	for _, kind := range []string{"fleet", "containerfleet"} {
		d.Tags.Kind(kind, func(r store.Reader, a string) bool { return t.Get(r, a) != nil })
	}
	return s
}

// OnDeleting registers f to be called, after commit, when the deletion of fleets or their
// locations starts. Package compute then ends what runs there.
func (s *Service) OnDeleting(f func()) { s.onDeleting = append(s.onDeleting, f) }

// OnRuntime registers f to be called, after commit, when a fleet's runtime configuration
// is replaced.
func (s *Service) OnRuntime(f func(fleetID string)) { s.onRuntime = append(s.onRuntime, f) }
