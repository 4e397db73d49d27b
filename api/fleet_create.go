package api

import (
	"context"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/fault"
)

func (h handlers) createFleet(ctx context.Context, in *gamelift.CreateFleetInput) (*gamelift.CreateFleetOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	if err := checkComputeType(in); err != nil {
		return nil, err
	}
	f, err := h.Fleets.Create.Do(ctx, fleet.CreateInput{
		Name: *in.Name, Description: val(in.Description), ComputeType: computeType(in.ComputeType),
		Locations:     locationsIn(in.Locations),
		Protection:    fleet.Protection(val(in.NewGameSessionProtectionPolicy)),
		CreationLimit: creationLimit(in.ResourceCreationLimitPolicy), MetricGroups: in.MetricGroups,
		Cost: anywhereCost(in.AnywhereConfiguration), LogPaths: in.LogPaths,
		Runtime: runtimeIn(in.RuntimeConfiguration), Managed: managedIn(in), Tags: tags,
		Gateway: gatewayIn(in), AsOnDemand: in.FleetType != nil,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateFleetOutput{FleetAttributes: new(h.fleetOut(f)), LocationStates: locationStates(f)}, nil
}

// checkComputeType returns a fault if a member does not apply to the fleet's compute
// type.
func checkComputeType(in *gamelift.CreateFleetInput) error {
	given, kind := managedMembers(in), fleet.Anywhere
	if computeType(in.ComputeType) == fleet.EC2 {
		given, kind = map[string]bool{
			"AnywhereConfiguration": in.AnywhereConfiguration != nil,
			"ScriptId":              in.ScriptId != nil, // no script is hosted yet
		}, fleet.EC2
	}
	for member, is := range given {
		if is && member == "ScriptId" && kind == fleet.EC2 {
			return fault.Invalid("ScriptId: this version of Muster keeps scripts but hosts none; give a BuildId")
		}
		if is {
			return fault.Invalid("%s: not allowed for a fleet with ComputeType %s", member, kind)
		}
	}
	return nil
}

func managedMembers(in *gamelift.CreateFleetInput) map[string]bool {
	return map[string]bool{
		"BuildId": in.BuildId != nil, "ScriptId": in.ScriptId != nil, "EC2InstanceType": in.EC2InstanceType != nil,
		"EC2InboundPermissions":               in.EC2InboundPermissions != nil,
		"FleetType " + gamelift.FleetTypeSpot: val(in.FleetType) == gamelift.FleetTypeSpot,
	}
}

func computeType(given *string) fleet.ComputeType {
	if given == nil {
		return fleet.EC2
	}
	return fleet.ComputeType(*given)
}

// managedIn returns the part of a fleet that only compute type EC2 has, or nil for
// other types.
func managedIn(in *gamelift.CreateFleetInput) *fleet.Managed {
	if computeType(in.ComputeType) != fleet.EC2 {
		return nil
	}
	m := &fleet.Managed{
		BuildID: val(in.BuildId), InstanceType: val(in.EC2InstanceType), FleetType: val(in.FleetType),
		Inbound: permissionsIn(in.EC2InboundPermissions), InstanceRole: val(in.InstanceRoleArn),
		RoleCredentials: val(in.InstanceRoleCredentialsProvider), PeerAccount: val(in.PeerVpcAwsAccountId), PeerVPC: val(in.PeerVpcId),
		LaunchPath: val(in.ServerLaunchPath), LaunchParameters: val(in.ServerLaunchParameters),
	}
	if in.CertificateConfiguration != nil {
		m.CertificateType = val(in.CertificateConfiguration.CertificateType)
	}
	return m
}

// gatewayIn returns the requested player gateway.
func gatewayIn(in *gamelift.CreateFleetInput) fleet.Gateway {
	g := fleet.Gateway{Mode: val(in.PlayerGatewayMode)}
	if c := in.PlayerGatewayConfiguration; c != nil {
		g.IPProtocol = val(c.GameServerIpProtocolSupported)
	}
	return g
}

// managedOut adds the members that only a fleet of compute type EC2 has.
func (h handlers) managedOut(out *gamelift.FleetAttributes, f *fleet.Fleet) {
	m := f.Managed
	out.BuildId, out.BuildArn = &m.BuildID, new(h.Home.Of("build", m.BuildID))
	out.InstanceType, out.FleetType, out.OperatingSystem = &m.InstanceType, &m.FleetType, opt(m.OS)
	out.ServerLaunchPath, out.ServerLaunchParameters = opt(m.LaunchPath), opt(m.LaunchParameters)
	out.InstanceRoleArn, out.InstanceRoleCredentialsProvider = opt(m.InstanceRole), opt(m.RoleCredentials)
	if l := f.Place(f.Home); l != nil && l.ScalingStopped {
		out.StoppedActions = []string{gamelift.FleetActionAutoScaling}
	}
}
