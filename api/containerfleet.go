package api

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

func (h handlers) registerContainerFleets(srv *awsrpc.Server) {
	on(srv, "CreateContainerFleet", h.createContainerFleet)
	on(srv, "UpdateContainerFleet", h.updateContainerFleet)
	on(srv, "DescribeContainerFleet", h.describeContainerFleet)
	on(srv, "ListContainerFleets", h.listContainerFleets)
	on(srv, "DeleteContainerFleet", h.deleteContainerFleet)
	on(srv, "DescribeFleetDeployment", h.describeFleetDeployment)
	on(srv, "ListFleetDeployments", h.listFleetDeployments)
	on(srv, "DescribeContainerGroupPortMappings", h.describeContainerGroupPortMappings)
}

func (h handlers) createContainerFleet(ctx context.Context, in *gamelift.CreateContainerFleetInput) (*gamelift.CreateContainerFleetOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	f, err := h.Fleets.CreateContainer.Do(ctx, fleet.ContainerInput{
		Description: val(in.Description), Locations: locationsIn(in.Locations),
		Game: val(in.GameServerContainerGroupDefinitionName), PerInstance: val(in.PerInstanceContainerGroupDefinitionName),
		Copies: int(val(in.GameServerContainerGroupsPerInstance)), Ports: val(portSpanIn(in.InstanceConnectionPortRange)),
		Inbound: permissionsIn(in.InstanceInboundPermissions), InstanceType: val(in.InstanceType), BillingType: val(in.BillingType),
		Role: *in.FleetRoleArn, Protection: fleet.Protection(val(in.NewGameSessionProtectionPolicy)),
		CreationLimit: sessionLimit(in.GameSessionCreationLimitPolicy), MetricGroups: in.MetricGroups,
		Logs: val(logsIn(in.LogConfiguration)), Gateway: fleet.Gateway{Mode: val(in.PlayerGatewayMode)}, Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateContainerFleetOutput{ContainerFleet: new(h.containerFleetOut(ctx, f))}, nil
}

func (h handlers) updateContainerFleet(ctx context.Context, in *gamelift.UpdateContainerFleetInput) (*gamelift.UpdateContainerFleetOutput, error) {
	f, err := h.Fleets.UpdateContainer.Do(ctx, fleet.ContainerUpdate{
		FleetID: *in.FleetId, Description: in.Description,
		Game: in.GameServerContainerGroupDefinitionName, PerInstance: in.PerInstanceContainerGroupDefinitionName,
		NoPerInstance: len(in.RemoveAttributes) > 0, // the only attribute that can be removed
		Copies:        count(in.GameServerContainerGroupsPerInstance), Ports: portSpanIn(in.InstanceConnectionPortRange),
		Authorize: permissionsIn(in.InstanceInboundPermissionAuthorizations), Revoke: permissionsIn(in.InstanceInboundPermissionRevocations),
		Protection: as[fleet.Protection](in.NewGameSessionProtectionPolicy), CreationLimit: sessionLimit(in.GameSessionCreationLimitPolicy),
		MetricGroups: in.MetricGroups, Logs: logsIn(in.LogConfiguration), Deployment: deploymentIn(val(in.DeploymentConfiguration)),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateContainerFleetOutput{ContainerFleet: new(h.containerFleetOut(ctx, f))}, nil
}

func (h handlers) describeContainerFleet(ctx context.Context, in *gamelift.DescribeContainerFleetInput) (*gamelift.DescribeContainerFleetOutput, error) {
	f, err := h.Fleets.FindContainer(h.Store.View(), *in.FleetId)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeContainerFleetOutput{ContainerFleet: new(h.containerFleetOut(ctx, f))}, nil
}

func (h handlers) deleteContainerFleet(ctx context.Context, in *gamelift.DeleteContainerFleetInput) (*gamelift.DeleteContainerFleetOutput, error) {
	return &gamelift.DeleteContainerFleetOutput{}, h.Fleets.DeleteContainer.Do(ctx, *in.FleetId)
}

func (h handlers) listContainerFleets(ctx context.Context, in *gamelift.ListContainerFleetsInput) (*gamelift.ListContainerFleetsOutput, error) {
	view := h.Store.View()
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*fleet.Fleet] {
		all := filtered(h.Fleets.All(view, after), func(f *fleet.Fleet) bool { return f.Containers != nil })
		if in.ContainerGroupDefinitionName != nil {
			name, number, _ := strings.Cut(h.Home.ID(containerGroupKind, *in.ContainerGroupDefinitionName), ":")
			all = filtered(h.Fleets.OfDefinition(view, name), func(f *fleet.Fleet) bool {
				return f.ID > after && (number == "" || runsVersion(f.Containers, name, number))
			})
		}
		return reached(ctx, all, h.arnOfFleet)
	}, fleetID, "ListContainerFleets", val(in.ContainerGroupDefinitionName))
	if err != nil {
		return nil, err
	}
	out := list(page, func(f *fleet.Fleet) gamelift.ContainerFleet { return h.containerFleetOut(ctx, f) })
	return &gamelift.ListContainerFleetsOutput{ContainerFleets: out, NextToken: next}, nil
}

// containerGroupKind is the kind of container group definitions in ARNs.
const containerGroupKind = "containergroupdefinition"

// runsVersion reports whether one of a fleet's groups is of a version.
func runsVersion(c *fleet.Containers, name, number string) bool {
	for _, g := range []*fleet.Group{c.Game, c.PerInstance} {
		if g != nil && g.Name == name && strconv.Itoa(g.Version) == number {
			return true
		}
	}
	return false
}

func (h handlers) describeFleetDeployment(ctx context.Context, in *gamelift.DescribeFleetDeploymentInput) (*gamelift.DescribeFleetDeploymentOutput, error) {
	view := h.Store.View()
	f, err := h.Fleets.FindContainer(view, *in.FleetId)
	if err != nil {
		return nil, err
	}
	d := h.Fleets.Deployments.Get(view, cmp.Or(val(in.DeploymentId), f.Containers.Deployment))
	switch {
	case d == nil && in.DeploymentId == nil:
		return nil, fault.Missing("DeploymentId: fleet %s has no deployment yet; set a game server container group with UpdateContainerFleet", f.ID)
	case d == nil || d.FleetID != f.ID:
		return nil, fault.Missing("DeploymentId: fleet %s has no deployment %s", f.ID, *in.DeploymentId)
	}
	parts, shown := maps.Clone(d.Locations), h.places(ctx)
	maps.DeleteFunc(parts, func(location string, _ fleet.DeploymentStatus) bool { return shown != nil && !shown(location) })
	return &gamelift.DescribeFleetDeploymentOutput{
		FleetDeployment: new(h.deploymentOut(d)),
		LocationalDeployments: mapped(parts, func(s fleet.DeploymentStatus) gamelift.LocationalDeployment {
			return gamelift.LocationalDeployment{DeploymentStatus: new(string(s))}
		}),
	}, nil
}

func (h handlers) listFleetDeployments(ctx context.Context, in *gamelift.ListFleetDeploymentsInput) (*gamelift.ListFleetDeploymentsOutput, error) {
	view, of := h.Store.View(), ""
	if in.FleetId != nil {
		f, err := h.Fleets.FindContainer(view, *in.FleetId)
		if err != nil {
			return nil, err
		}
		of = f.ID
	}
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*fleet.Deployment] {
		return reached(ctx, h.Fleets.Deployments.Of(view, of, after), func(d *fleet.Deployment) string { return h.Home.OfFleet(d.FleetID) })
	}, func(d *fleet.Deployment) string { return d.ID }, "ListFleetDeployments", of)
	if err != nil {
		return nil, err
	}
	return &gamelift.ListFleetDeploymentsOutput{FleetDeployments: list(page, h.deploymentOut), NextToken: next}, nil
}

func sessionLimit(p *gamelift.GameSessionCreationLimitPolicy) *fleet.CreationLimit {
	if p == nil {
		return nil
	}
	return &fleet.CreationLimit{Sessions: int(val(p.NewGameSessionsPerCreator)), Period: minutes(p.PolicyPeriodInMinutes)}
}

func portSpanIn(r *gamelift.ConnectionPortRange) *fleet.PortSpan {
	if r == nil {
		return nil
	}
	return &fleet.PortSpan{From: int(*r.FromPort), To: int(*r.ToPort)}
}

func logsIn(c *gamelift.LogConfiguration) *fleet.Logs {
	if c == nil {
		return nil
	}
	return &fleet.Logs{Destination: val(c.LogDestination), Bucket: val(c.S3BucketName), LogGroup: val(c.LogGroupArn)}
}

func deploymentIn(c gamelift.DeploymentConfiguration) fleet.DeploymentInput {
	in := fleet.DeploymentInput{MinHealthy: count(c.MinimumHealthyPercentage)}
	if c.ProtectionStrategy != nil {
		in.Protect = new(*c.ProtectionStrategy == gamelift.DeploymentProtectionStrategyWithProtection)
	}
	if c.ImpairmentStrategy != nil {
		in.Rollback = new(*c.ImpairmentStrategy == gamelift.DeploymentImpairmentStrategyRollback)
	}
	return in
}

func (h handlers) containerFleetOut(ctx context.Context, f *fleet.Fleet) gamelift.ContainerFleet {
	c := f.Containers
	out := gamelift.ContainerFleet{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), FleetRoleArn: &c.Role, Description: opt(f.Description), CreationTime: gamelift.At(f.Created),
		GameServerContainerGroupDefinitionName: groupName(c.Game), GameServerContainerGroupDefinitionArn: h.groupARN(c.Game),
		PerInstanceContainerGroupDefinitionName: groupName(c.PerInstance), PerInstanceContainerGroupDefinitionArn: h.groupARN(c.PerInstance),
		InstanceInboundPermissions: some(f.Managed.Inbound, permissionOut), InstanceType: &f.Managed.InstanceType, BillingType: &f.Managed.FleetType,
		MetricGroups: f.MetricGroups, NewGameSessionProtectionPolicy: new(string(f.Protection)), Status: new(string(f.Status)),
		LogConfiguration: &gamelift.LogConfiguration{
			LogDestination: &c.Logs.Destination, S3BucketName: opt(c.Logs.Bucket), LogGroupArn: opt(c.Logs.LogGroup),
		},
		GameServerContainerGroupsPerInstance: opt(int32(cmp.Or(c.Copies, f.Slots()))), MaximumGameServerContainerGroupsPerInstance: opt(int32(f.MostCopies())),
		PlayerGatewayMode: new(cmp.Or(f.Gateway.Mode, gamelift.PlayerGatewayModeDisabled)),
	}
	if p := f.ConnectionPorts(); p != (fleet.PortSpan{}) {
		out.InstanceConnectionPortRange = &gamelift.ConnectionPortRange{FromPort: num(p.From), ToPort: num(p.To)}
	}
	if l := f.CreationLimit; l != nil {
		out.GameSessionCreationLimitPolicy = &gamelift.GameSessionCreationLimitPolicy{
			NewGameSessionsPerCreator: num(l.Sessions), PolicyPeriodInMinutes: num(int(l.Period / time.Minute)),
		}
	}
	if c.Deployment != "" {
		out.DeploymentDetails = &gamelift.DeploymentDetails{LatestDeploymentId: &c.Deployment}
	}
	shown := h.places(ctx)
	for _, l := range remoteLocations(f) { // the API reference: remote locations; Terraform compares them with those it asked for
		if shown == nil || shown(l.Location) {
			out.LocationAttributes = append(out.LocationAttributes, gamelift.ContainerFleetLocationAttributes{
				Location: &l.Location, Status: new(string(l.Status)), PlayerGatewayStatus: new(gamelift.PlayerGatewayStatusDisabled),
			})
		}
	}
	return out
}

func groupName(g *fleet.Group) *string {
	if g == nil {
		return nil
	}
	return &g.Name
}

// groupARN returns the ARN of a version, or nil.
func (h handlers) groupARN(g *fleet.Group) *string {
	if g == nil {
		return nil
	}
	return new(h.Home.Of(containerGroupKind, g.String()))
}

func (h handlers) deploymentOut(d *fleet.Deployment) gamelift.FleetDeployment {
	protection, impairment := gamelift.DeploymentProtectionStrategyIgnoreProtection, gamelift.DeploymentImpairmentStrategyMaintain
	if d.Config.Protect {
		protection = gamelift.DeploymentProtectionStrategyWithProtection
	}
	if d.Config.Rollback {
		impairment = gamelift.DeploymentImpairmentStrategyRollback
	}
	return gamelift.FleetDeployment{
		DeploymentId: &d.ID, FleetId: &d.FleetID, GameServerBinaryArn: h.groupARN(d.Game), RollbackGameServerBinaryArn: h.groupARN(d.From.Game),
		PerInstanceBinaryArn: h.groupARN(d.PerInstance), RollbackPerInstanceBinaryArn: h.groupARN(d.From.PerInstance),
		DeploymentStatus: new(string(d.Status)), CreationTime: gamelift.At(d.Created),
		DeploymentConfiguration: &gamelift.DeploymentConfiguration{
			ProtectionStrategy: &protection, MinimumHealthyPercentage: num(d.Config.MinHealthy), ImpairmentStrategy: &impairment,
		},
	}
}

// legacyStatus returns the status of a fleet or location as operations show it whose model
// has none of those of container fleets.
func legacyStatus(s fleet.Status) string {
	switch s {
	case fleet.Pending, fleet.Creating, fleet.Created:
		return string(fleet.Made)
	case fleet.Updating:
		return string(fleet.Active)
	}
	return string(s)
}
