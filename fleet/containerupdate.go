package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
)

// ContainerUpdate patches a container fleet: nil members leave the value unchanged.
type ContainerUpdate struct {
	FleetID           string
	Description       *string
	Game, PerInstance *string // names or ARNs of definitions
	NoPerInstance     bool    // RemoveAttributes
	Copies            *int
	Ports             *PortSpan
	Authorize, Revoke []Permission
	Protection        *Protection
	CreationLimit     *CreationLimit
	MetricGroups      []string
	Logs              *Logs
	Deployment        DeploymentInput
}

// DeploymentInput says how the deployment of an update proceeds; nil members mean
// DefaultDeployment.
type DeploymentInput struct {
	Protect    *bool
	MinHealthy *int
	Rollback   *bool
}

// DefaultDeployment is how a deployment proceeds unless a request says otherwise: it ends no
// protected game session, keeps as many groups ready as it may, and returns to the former
// version if the new one fails.
var DefaultDeployment = DeploymentConfig{Protect: true, MinHealthy: 75, Rollback: true}

// complete returns the configuration with the defaults filled in.
func (in DeploymentInput) complete() DeploymentConfig {
	c := DefaultDeployment
	patch.Set(&c.Protect, in.Protect)
	patch.Set(&c.MinHealthy, in.MinHealthy)
	patch.Set(&c.Rollback, in.Rollback)
	return c
}

func (s *Service) runUpdateContainer(tx *store.Tx, in ContainerUpdate) (*Fleet, error) {
	old, err := s.FindContainer(tx, in.FleetID)
	if err != nil {
		return nil, err
	}
	if err := s.mayUpdate(tx, old); err != nil {
		return nil, err
	}
	f := old.cloneContainers()
	if err := f.permit(PortsInput{Authorize: in.Authorize, Revoke: in.Revoke}, "InstanceInboundPermissionRevocations"); err != nil {
		return nil, err
	}
	patch.Set(&f.Description, in.Description)
	patch.Set(&f.Protection, in.Protection)
	f.CreationLimit = cmp.Or(in.CreationLimit, f.CreationLimit)
	if in.MetricGroups != nil {
		f.MetricGroups = in.MetricGroups
	}
	if err := s.patchContainers(tx, f.Containers, &in); err != nil {
		return nil, err
	}
	if err := f.checkContainers(); err != nil {
		return nil, err
	}
	if f.Protection != old.Protection {
		s.record(tx, event.FleetProtectionPolicyUpdated, f, "", "New game sessions are created with %s, before %s", f.Protection, old.Protection)
	} else {
		s.record(tx, event.FleetUpdated, f, "", "Fleet attributes were updated")
	}
	if s.deploys(tx, old, f, &in) {
		s.Deployments.start(tx, f, old, in.Deployment.complete())
	} else {
		s.putDesired(tx, f)
	}
	return f, nil
}

// mayUpdate checks that the fleet can be updated: it is set up, or what it should run
// cannot be. Errors: NotReady, InvalidRequest (DELETING).
func (s *Service) mayUpdate(r store.Reader, f *Fleet) error {
	switch f.Status {
	case Deleting:
		return fault.Invalid("FleetId: fleet %s is in status %s; it cannot be updated any more", f.ID, f.Status)
	case Pending, Creating:
		if d := s.Deployments.Get(r, f.Containers.Deployment); d == nil || d.Status != DeploymentImpaired {
			return fault.New(fault.NotReady, "FleetId: fleet %s is in status %s; wait until it is CREATED, ACTIVATING or ACTIVE", f.ID, f.Status)
		}
	}
	return nil
}

// patchContainers applies the members of an update that are about container groups.
func (s *Service) patchContainers(r store.Reader, c *Containers, in *ContainerUpdate) (err error) {
	if in.NoPerInstance && in.PerInstance != nil {
		return fault.Invalid("RemoveAttributes: PER_INSTANCE_CONTAINER_GROUP_DEFINITION cannot be combined with %s; give one of them", perInstanceMember)
	}
	if in.Game != nil {
		if c.Game, c.FollowsGame, err = s.findGroup(r, gameMember, *in.Game, false); err != nil {
			return err
		}
	}
	if in.PerInstance != nil {
		if c.PerInstance, c.FollowsPerInstance, err = s.findGroup(r, perInstanceMember, *in.PerInstance, true); err != nil {
			return err
		}
	}
	if in.NoPerInstance {
		c.PerInstance, c.FollowsPerInstance = nil, false
	}
	patch.Set(&c.Copies, in.Copies)
	patch.Set(&c.Ports, in.Ports)
	if in.Logs != nil {
		c.Logs = *in.Logs
		c.Logs.Destination = cmp.Or(c.Logs.Destination, logsCloudWatch)
	}
	return nil
}

// deploys reports whether an update from old to f starts a deployment, by the list of the API
// reference (UpdateContainerFleet). Naming a version again deploys it again if that was
// IMPAIRED.
func (s *Service) deploys(r store.Reader, old, f *Fleet, in *ContainerUpdate) bool {
	a, b := old.Containers, f.Containers
	if b.Game == nil {
		return false
	}
	if !a.Game.is(b.Game) || !a.PerInstance.is(b.PerInstance) || old.Slots() != f.Slots() || a.Ports != b.Ports || a.Logs != b.Logs ||
		!slices.Equal(old.Managed.Inbound, f.Managed.Inbound) {
		return true
	}
	d := s.Deployments.Get(r, a.Deployment)
	return d != nil && d.Status == DeploymentImpaired && (in.Game != nil || in.PerInstance != nil)
}

// Follow deploys a version that has become READY to the fleets that follow its definition.
// A fleet on whose instances it does not fit keeps its version, and an event says why.
func (s *Service) Follow(tx *store.Tx, d Definition) {
	for old := range s.OfDefinition(tx, d.Name) {
		f := old.cloneContainers()
		c := f.Containers
		switch {
		case f.Status == Deleting:
			continue
		case c.FollowsGame && c.Game.Name == d.Name && c.Game.Version < d.Version:
			c.Game = &d.Group
		case c.FollowsPerInstance && c.PerInstance.Name == d.Name && c.PerInstance.Version < d.Version:
			c.PerInstance = &d.Group
		default:
			continue
		}
		if refusal, bad := fault.As(f.checkContainers()); bad {
			s.record(tx, event.GenericEvent, old, "", "Version %d of %s is not deployed: %s", d.Version, d.Name, refusal.Message)
			continue
		}
		if c.Game == nil {
			s.table.Put(tx, f)
			continue
		}
		s.Deployments.start(tx, f, old, DefaultDeployment)
	}
}

// UsesVersion returns a fleet that runs a version of a container group definition, deploys
// it, or may roll back to it; or "".
func (s *Service) UsesVersion(r store.Reader, name string, number int) string {
	g := &Group{Name: name, Version: number}
	for f := range s.OfDefinition(r, name) {
		if f.Containers.runs(g) {
			return f.ID
		}
	}
	for d := range s.Deployments.ofVersion.Equal(r, g.String()) {
		if s.Deployments.lingers(r, d) {
			return d.FleetID
		}
	}
	return ""
}

// cloneContainers returns a copy of a container fleet whose Containers can be changed too.
func (f *Fleet) cloneContainers() *Fleet {
	c := f.clone()
	containers := *f.Containers
	c.Containers = &containers
	return c
}

// describe says what a deployment runs.
func describe(game, perInstance *Group) string {
	if perInstance == nil {
		return game.String()
	}
	return fmt.Sprintf("%s beside %s", game, perInstance)
}
