package api

import (
	"cmp"
	"context"
	"iter"
	"net"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

func (h handlers) registerCapacity(srv *awsrpc.Server) {
	on(srv, "DescribeFleetCapacity", h.describeFleetCapacity)
	on(srv, "DescribeFleetLocationCapacity", h.describeFleetLocationCapacity)
	on(srv, "UpdateFleetCapacity", h.updateFleetCapacity)
	on(srv, "DescribeFleetPortSettings", h.describeFleetPortSettings)
	on(srv, "UpdateFleetPortSettings", h.updateFleetPortSettings)
	on(srv, "DescribeEC2InstanceLimits", h.describeEC2InstanceLimits)
	on(srv, "StartFleetActions", h.startFleetActions)
	on(srv, "StopFleetActions", h.stopFleetActions)
	on(srv, "DescribeInstances", h.describeInstances)
	on(srv, "GetInstanceAccess", h.getInstanceAccess)
}

func (h handlers) describeFleetCapacity(ctx context.Context, in *gamelift.DescribeFleetCapacityInput) (*gamelift.DescribeFleetCapacityOutput, error) {
	page, next, err := h.fleetPage(ctx, "DescribeFleetCapacity", in.FleetIds, in.Limit, in.NextToken, anyFleet)
	if err != nil {
		return nil, err
	}
	out := []gamelift.FleetCapacity{}
	for _, f := range page {
		if l := f.Place(f.Home); l != nil { // an Anywhere fleet has no capacity
			out = append(out, h.capacityOut(f, *l))
		}
	}
	return &gamelift.DescribeFleetCapacityOutput{FleetCapacity: out, NextToken: next}, nil
}

func (h handlers) describeFleetLocationCapacity(_ context.Context, in *gamelift.DescribeFleetLocationCapacityInput) (*gamelift.DescribeFleetLocationCapacityOutput, error) {
	f, err := h.managedFleet(*in.FleetId)
	if err != nil {
		return nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	return &gamelift.DescribeFleetLocationCapacityOutput{FleetCapacity: new(h.capacityOut(f, *f.Place(*in.Location)))}, nil
}

// managedFleet returns a fleet with instances. Errors: NotFound, InvalidRequest.
func (h handlers) managedFleet(idOrARN string) (*fleet.Fleet, error) {
	f, err := h.Fleets.Find(h.Store.View(), idOrARN)
	if err == nil && f.Managed == nil {
		err = fault.Invalid("FleetId: fleet %s is of ComputeType %s; this works on managed fleets only", f.ID, f.ComputeType)
	}
	return f, err
}

func (h handlers) capacityOut(f *fleet.Fleet, l fleet.LocationState) gamelift.FleetCapacity {
	n := h.Instances.Counts(h.Store.View(), f, l.Location)
	out := gamelift.FleetCapacity{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), InstanceType: &f.Managed.InstanceType, Location: &l.Location,
		InstanceCounts: &gamelift.EC2InstanceCounts{
			DESIRED: num(l.Capacity.Desired), MINIMUM: num(l.Capacity.Min), MAXIMUM: num(l.Capacity.Max),
			PENDING: num(n.Pending), ACTIVE: num(n.Active), IDLE: num(n.Idle), TERMINATING: num(n.Terminating),
		},
		ManagedCapacityConfiguration: zeroOut(l.Capacity),
	}
	if f.Containers != nil {
		groups := h.Instances.GroupCounts(h.Store.View(), f, l.Location)
		out.GameServerContainerGroupCounts = &gamelift.GameServerContainerGroupCounts{
			PENDING: num(groups.Pending), ACTIVE: num(groups.Active), IDLE: num(groups.Idle), TERMINATING: num(groups.Terminating),
		}
	}
	return out
}

func zeroOut(c fleet.Capacity) *gamelift.ManagedCapacityConfiguration {
	if !c.FromZero {
		return &gamelift.ManagedCapacityConfiguration{ZeroCapacityStrategy: new(gamelift.ZeroCapacityStrategyManual)}
	}
	return &gamelift.ManagedCapacityConfiguration{
		ZeroCapacityStrategy:          new(gamelift.ZeroCapacityStrategyScaleToAndFromZero),
		ScaleInAfterInactivityMinutes: num(int(c.IdleAfter / time.Minute)),
	}
}

func (h handlers) updateFleetCapacity(ctx context.Context, in *gamelift.UpdateFleetCapacityInput) (*gamelift.UpdateFleetCapacityOutput, error) {
	change := fleet.CapacityInput{
		FleetID: *in.FleetId, Location: val(in.Location),
		Desired: count(in.DesiredInstances), Min: count(in.MinSize), Max: count(in.MaxSize),
	}
	if m := in.ManagedCapacityConfiguration; m != nil {
		if m.ZeroCapacityStrategy != nil {
			change.FromZero = new(*m.ZeroCapacityStrategy == gamelift.ZeroCapacityStrategyScaleToAndFromZero)
		}
		change.IdleAfter = times(m.ScaleInAfterInactivityMinutes, time.Minute)
	}
	f, err := h.Fleets.Capacities.Update.Do(ctx, change)
	if err != nil {
		return nil, err
	}
	l := f.Place(change.Location)
	return &gamelift.UpdateFleetCapacityOutput{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), Location: &l.Location, ManagedCapacityConfiguration: zeroOut(l.Capacity),
	}, nil
}

func (h handlers) describeFleetPortSettings(ctx context.Context, in *gamelift.DescribeFleetPortSettingsInput) (*gamelift.DescribeFleetPortSettingsOutput, error) {
	f, err := h.managedFleet(*in.FleetId)
	if err != nil {
		return new(gamelift.DescribeFleetPortSettingsOutput), h.unlessDeleted(ctx, *in.FleetId, err)
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	return &gamelift.DescribeFleetPortSettingsOutput{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), Location: in.Location,
		InboundPermissions: list(f.Managed.Inbound, permissionOut),
	}, nil
}

func (h handlers) updateFleetPortSettings(ctx context.Context, in *gamelift.UpdateFleetPortSettingsInput) (*gamelift.UpdateFleetPortSettingsOutput, error) {
	f, err := h.Fleets.UpdatePorts.Do(ctx, fleet.PortsInput{
		FleetID: *in.FleetId, Authorize: permissionsIn(in.InboundPermissionAuthorizations), Revoke: permissionsIn(in.InboundPermissionRevocations),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateFleetPortSettingsOutput{FleetId: &f.ID, FleetArn: h.fleetARN(f.ID)}, nil
}

func permissionOut(p fleet.Permission) gamelift.IpPermission {
	return gamelift.IpPermission{FromPort: num(p.FromPort), ToPort: num(p.ToPort), IpRange: &p.Range, Protocol: &p.Protocol}
}

func permissionsIn(all []gamelift.IpPermission) []fleet.Permission {
	return list(all, func(p gamelift.IpPermission) fleet.Permission {
		return fleet.Permission{FromPort: int(*p.FromPort), ToPort: int(*p.ToPort), Range: *p.IpRange, Protocol: *p.Protocol}
	})
}

func (h handlers) startFleetActions(ctx context.Context, in *gamelift.StartFleetActionsInput) (*gamelift.StartFleetActionsOutput, error) {
	f, err := h.Fleets.Capacities.SetScaling.Do(ctx, fleet.ScalingInput{FleetID: *in.FleetId, Location: val(in.Location)})
	if err != nil {
		return nil, err
	}
	return &gamelift.StartFleetActionsOutput{FleetId: &f.ID, FleetArn: h.fleetARN(f.ID)}, nil
}

func (h handlers) stopFleetActions(ctx context.Context, in *gamelift.StopFleetActionsInput) (*gamelift.StopFleetActionsOutput, error) {
	f, err := h.Fleets.Capacities.SetScaling.Do(ctx, fleet.ScalingInput{FleetID: *in.FleetId, Location: val(in.Location), Stopped: true})
	if err != nil {
		return nil, err
	}
	return &gamelift.StopFleetActionsOutput{FleetId: &f.ID, FleetArn: h.fleetARN(f.ID)}, nil
}

func (h handlers) describeInstances(ctx context.Context, in *gamelift.DescribeInstancesInput) (*gamelift.DescribeInstancesOutput, error) {
	f, err := h.managedFleet(*in.FleetId)
	if err != nil {
		return nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	shown := h.places(ctx)
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*instance.Instance] {
		return filtered(h.Instances.InstancesAfter(h.Store.View(), f.ID, val(in.Location), after), func(i *instance.Instance) bool {
			return (in.InstanceId == nil || *in.InstanceId == i.ID) && (shown == nil || shown(i.Location))
		})
	}, func(i *instance.Instance) string { return i.ID }, "DescribeInstances", f.ID, val(in.InstanceId), val(in.Location))
	if err != nil {
		return nil, err
	}
	if in.InstanceId != nil && len(page) == 0 {
		return nil, fault.Missing("InstanceId: fleet %s has no instance %s", f.ID, *in.InstanceId)
	}
	out := list(page, func(i *instance.Instance) gamelift.Instance { return h.instanceOut(f, i) })
	return &gamelift.DescribeInstancesOutput{Instances: out, NextToken: next}, nil
}

func (h handlers) instanceOut(f *fleet.Fleet, i *instance.Instance) gamelift.Instance {
	out := gamelift.Instance{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), InstanceId: &i.ID, OperatingSystem: opt(f.Managed.OS), Type: &f.Managed.InstanceType,
		Status: new(string(i.Status)), CreationTime: gamelift.At(i.Created), Location: &i.Location,
	}
	if host := h.Instances.Host(h.Store.View(), i.HostID); host != nil {
		at := host.Address.Shown()
		out.IpAddress, out.DnsName = &at.IPAddress, &at.DNSName
	}
	return out
}

// getInstanceAccess returns credentials for shells on an instance of a fleet with a build. They
// are those of getComputeAccess in the form of a user and a password.
func (h handlers) getInstanceAccess(ctx context.Context, in *gamelift.GetInstanceAccessInput) (*gamelift.GetInstanceAccessOutput, error) {
	f, err := h.managedFleet(*in.FleetId)
	if err != nil {
		return nil, err
	}
	i := h.Instances.Instance(h.Store.View(), *in.InstanceId)
	if i == nil || i.FleetID != f.ID {
		return nil, fault.Missing("InstanceId: fleet %s has no instance %s", f.ID, *in.InstanceId)
	}
	if f.Containers != nil {
		return nil, fault.Invalid("FleetId: %s is a container fleet, whose containers are entered, not its instances: call GetComputeAccess with a ComputeName that ListCompute returns, such as %s/0", f.ID, i.ID)
	}
	c, err := h.Computes.Find(h.Store.View(), f.ID, i.ID)
	if err != nil {
		return nil, err
	}
	t, err := h.access(ctx, i, c)
	if err != nil {
		return nil, err
	}
	out := &gamelift.InstanceAccess{FleetId: &f.ID, InstanceId: &i.ID, OperatingSystem: opt(f.Managed.OS), Credentials: &gamelift.InstanceCredentials{
		UserName: &t.AccessKeyID, Secret: new(t.SecretAccessKey + "." + t.SessionToken),
	}}
	if at := c.Address.Shown(); net.ParseIP(at.IPAddress) != nil {
		out.IpAddress = &at.IPAddress
	}
	return &gamelift.GetInstanceAccessOutput{InstanceAccess: out}, nil
}

// access returns credentials for shells on an instance.
func (h handlers) access(ctx context.Context, i *instance.Instance, c *compute.Compute) (auth.Temporary, error) {
	if h.RemoteAccess == nil {
		return auth.Temporary{}, fault.Invalid("FleetId: remote access is not enabled on this server: start it with --remote-access, and the agents of the hosts with --allow-shells; instance %s is part of your own host %s", i.ID, i.HostID)
	}
	caller, known := awsrpc.Caller(ctx).Identity.(auth.Caller)
	if !known {
		caller = auth.Anybody()
	}
	return h.RemoteAccess.Credentials(ctx, caller, i, c)
}

// describeEC2InstanceLimits returns how many instances of each type there are in a
// location, of fleets in the caller's scope, and how many the location's hosts could
// run.
func (h handlers) describeEC2InstanceLimits(ctx context.Context, in *gamelift.DescribeEC2InstanceLimitsInput) (*gamelift.DescribeEC2InstanceLimitsOutput, error) {
	location := cmp.Or(val(in.Location), h.Home.Region)
	view := h.Store.View()
	if !h.Fleets.Locations.Known(view, location) {
		return nil, fault.Invalid("Location: %s does not exist", location)
	}
	used := map[string]int{}
	for f := range reached(ctx, h.Fleets.Managed(view), h.arnOfFleet) {
		for range h.Instances.Instances(view, f.ID, location) {
			used[f.Managed.InstanceType]++
		}
	}
	types := gamelift.EC2InstanceTypeValues()
	if in.EC2InstanceType != nil {
		types = []string{*in.EC2InstanceType}
	}
	var out []gamelift.EC2InstanceLimit
	for _, kind := range types {
		if _, ok := fleet.SizeOf(kind); ok {
			n := used[kind]
			out = append(out, gamelift.EC2InstanceLimit{
				EC2InstanceType: &kind, CurrentInstances: num(n), InstanceLimit: num(n + h.Instances.Room(view, kind, location)), Location: &location,
			})
		}
	}
	return &gamelift.DescribeEC2InstanceLimitsOutput{EC2InstanceLimits: out}, nil
}
