package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// shapeContainerFleet waits until a container fleet is ACTIVE, and changes what is not as it is
// to be. A change of what runs is a deployment of the server's, which is waited for.
func (m *maker) shapeContainerFleet(ctx context.Context, key string) error {
	w, id := m.want.ContainerFleets[key], *m.containerFleets[key].FleetId
	if err := m.active(ctx, setup.ContainerFleetKind, key, id, m.unused(w.Placement()), nil); err != nil {
		return err
	}
	out, err := m.API.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: &id})
	if err != nil {
		return err
	}
	h, _, err := (&reader{State: m.State, api: m.API}).containerFleet(ctx, out.ContainerFleet)
	if err != nil {
		return err
	}
	changes := setup.Differences(setup.ContainerFleetKind, w, h)
	own := []string{
		"Description", "GameServerContainerGroupDefinition", "PerInstanceContainerGroupDefinition", "GameServerContainerGroupsPerInstance", "GameSessionCreationLimitPolicy",
		"InstanceConnectionPortRange", "InstanceInboundPermissions", "LogConfiguration", "MetricGroups", "NewGameSessionProtectionPolicy",
	}
	if touched(changes, own...) {
		in := &gamelift.UpdateContainerFleetInput{
			FleetId: &id, Description: w.Description, GameServerContainerGroupsPerInstance: w.GameServerContainerGroupsPerInstance, GameSessionCreationLimitPolicy: w.GameSessionCreationLimitPolicy,
			InstanceConnectionPortRange: w.InstanceConnectionPortRange, LogConfiguration: w.LogConfiguration, MetricGroups: w.MetricGroups, NewGameSessionProtectionPolicy: w.NewGameSessionProtectionPolicy,
		}
		if touched(changes, "GameServerContainerGroupDefinition") {
			in.GameServerContainerGroupDefinitionName = some(w.GameServerContainerGroupDefinition)
		}
		if touched(changes, "PerInstanceContainerGroupDefinition") {
			in.PerInstanceContainerGroupDefinitionName = some(w.PerInstanceContainerGroupDefinition)
		}
		if touched(changes, "InstanceInboundPermissions") {
			in.InstanceInboundPermissionAuthorizations, in.InstanceInboundPermissionRevocations = permissions(w.InstanceInboundPermissions, h.InstanceInboundPermissions)
		}
		out, err := m.API.UpdateContainerFleet(ctx, in)
		if err != nil {
			return err
		}
		if err := m.deploys(ctx, key, out.ContainerFleet); err != nil {
			return err
		}
	}
	f := identity{key, id, m.arns[setup.ContainerFleetKind][key]}
	if err := m.shapePlaces(ctx, f, w.Placement(), h.Placement(), false); err != nil {
		return err
	}
	if err := m.note(ctx, f, setup.GivenBy(w.Placement())); err != nil {
		return err
	}
	return m.retag(ctx, f.arn, w.Tags, changes)
}

// follow waits for the deployments of a new version of a container group definition: the file's fleets that
// name no version get the newest one.
func (m *maker) follow(ctx context.Context, definition string) error {
	for _, key := range slices.Sorted(maps.Keys(m.want.ContainerFleets)) {
		f, ok := m.containerFleets[key]
		if !ok || val(f.GameServerContainerGroupDefinitionName) != definition && val(f.PerInstanceContainerGroupDefinitionName) != definition {
			continue
		}
		out, err := m.API.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: f.FleetId})
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := m.deploys(ctx, key, out.ContainerFleet); err != nil {
			return fmt.Errorf("container fleet %s: %w", key, err)
		}
	}
	return nil
}

// deploys waits for the end of the deployment that a change of a container fleet has begun, if it has.
func (m *maker) deploys(ctx context.Context, key string, f *types.ContainerFleet) error {
	if f.DeploymentDetails == nil || f.Status != types.ContainerFleetStatusUpdating {
		return nil
	}
	in := &gamelift.DescribeFleetDeploymentInput{FleetId: f.FleetId, DeploymentId: f.DeploymentDetails.LatestDeploymentId}
	return m.wait(ctx, "container fleet "+key, func(ctx context.Context) (bool, string, error) {
		out, err := m.API.DescribeFleetDeployment(ctx, in)
		if err != nil {
			return false, "", err
		}
		switch d := out.FleetDeployment; d.DeploymentStatus {
		case types.DeploymentStatusComplete:
			return true, "", nil
		case types.DeploymentStatusPending, types.DeploymentStatusInProgress, types.DeploymentStatusRollbackInProgress:
			news := "its deployment is " + string(d.DeploymentStatus)
			if event := newest(m.eventsOf(ctx, d), nil); event != "" {
				news += " (" + event + ")"
			}
			return false, news, nil
		default:
			return false, "", fmt.Errorf("its deployment is %s: %s. %s", d.DeploymentStatus, m.impairment(ctx, d), afterwards(d.DeploymentStatus))
		}
	})
}

// eventsOf returns the events of a fleet since a deployment has begun, as far as they can be had, without
// those that say no more than the state of a location.
func (m *maker) eventsOf(ctx context.Context, d *types.FleetDeployment) []types.Event {
	out, err := m.API.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: d.FleetId, StartTime: d.CreationTime})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(out.Events, func(e types.Event) bool { return strings.HasPrefix(string(e.EventCode), "LOCATION_STATE_") })
}

// impairment returns why a deployment has failed, as the server's events say it.
func (m *maker) impairment(ctx context.Context, d *types.FleetDeployment) string {
	for _, e := range m.eventsOf(ctx, d) {
		if strings.HasPrefix(val(e.Message), "Deployment "+*d.DeploymentId+" is IMPAIRED in ") {
			return *e.Message
		}
	}
	return "see the events of the fleet"
}

// afterwards says what a container fleet runs after a deployment that ended without success, and what
// can be done.
func afterwards(status types.DeploymentStatus) string {
	switch status {
	case types.DeploymentStatusRollbackComplete:
		return "It runs what it ran before; remove the cause, and run the command again"
	case types.DeploymentStatusCancelled:
		return "Another deployment has begun since; run the command again when that has ended"
	}
	return "Some of it may run what it ran before; remove the cause, and run the command again"
}
