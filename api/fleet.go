package api

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

func (h handlers) registerFleets(srv *awsrpc.Server) {
	on(srv, "CreateFleet", h.createFleet)
	on(srv, "DeleteFleet", h.deleteFleet)
	on(srv, "DescribeFleetAttributes", h.describeFleetAttributes)
	on(srv, "UpdateFleetAttributes", h.updateFleetAttributes)
	on(srv, "ListFleets", h.listFleets)
	on(srv, "DescribeFleetEvents", h.describeFleetEvents)
	on(srv, "DescribeFleetUtilization", h.describeFleetUtilization)
	on(srv, "DescribeRuntimeConfiguration", h.describeRuntimeConfiguration)
	on(srv, "UpdateRuntimeConfiguration", h.updateRuntimeConfiguration)
}

func (h handlers) deleteFleet(ctx context.Context, in *gamelift.DeleteFleetInput) (*gamelift.DeleteFleetOutput, error) {
	return nil, h.Fleets.Delete.Do(ctx, *in.FleetId)
}

func (h handlers) describeFleetAttributes(ctx context.Context, in *gamelift.DescribeFleetAttributesInput) (*gamelift.DescribeFleetAttributesOutput, error) {
	page, next, err := h.fleetPage(ctx, "DescribeFleetAttributes", in.FleetIds, in.Limit, in.NextToken, withoutContainers)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeFleetAttributesOutput{FleetAttributes: list(page, h.fleetOut), NextToken: next}, nil
}

// fleetPage returns the fleets of an operation that takes fleet ids: the named ones
// that exist, or a page of all; of them those of which the operation shows anything. Limit
// and NextToken do not apply to named ones.
func (h handlers) fleetPage(ctx context.Context, operation string, ids []string, asked *int32, next *string, shows func(*fleet.Fleet) bool) ([]*fleet.Fleet, *string, error) {
	view := h.Store.View()
	if len(ids) > 0 {
		return existing(ids, func(id string) *fleet.Fleet {
			if f := h.Fleets.Get(view, id); f != nil && shows(f) {
				return f
			}
			return nil
		}), nil, nil
	}
	return pageOf(next, limit(asked, defaultPage, largestPage), func(after string) iter.Seq[*fleet.Fleet] {
		return reached(ctx, filtered(h.Fleets.All(view, after), shows), h.arnOfFleet)
	}, fleetID, operation)
}

func anyFleet(*fleet.Fleet) bool { return true }

// withoutContainers reports whether a fleet can be shown as FleetAttributes, whose
// ComputeType has no value for container fleets.
func withoutContainers(f *fleet.Fleet) bool { return f.Containers == nil }

func fleetID(f *fleet.Fleet) string { return f.ID }

func (h handlers) updateFleetAttributes(ctx context.Context, in *gamelift.UpdateFleetAttributesInput) (*gamelift.UpdateFleetAttributesOutput, error) {
	update := fleet.UpdateInput{
		FleetID: *in.FleetId, Name: in.Name, Description: in.Description,
		Protection:    as[fleet.Protection](in.NewGameSessionProtectionPolicy),
		CreationLimit: creationLimit(in.ResourceCreationLimitPolicy), MetricGroups: in.MetricGroups,
	}
	if in.AnywhereConfiguration != nil {
		if f := h.Fleets.Get(h.Store.View(), *in.FleetId); f != nil && f.Managed != nil {
			return nil, fault.Invalid("AnywhereConfiguration: not allowed for a fleet with ComputeType EC2")
		}
		update.Cost = in.AnywhereConfiguration.Cost
	}
	f, err := h.Fleets.Update.Do(ctx, update)
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateFleetAttributesOutput{FleetId: &f.ID, FleetArn: h.fleetARN(f.ID)}, nil
}

// listFleetsPage is the page size of ListFleets without Limit (AWS CLI reference).
const listFleetsPage = 16

func (h handlers) listFleets(ctx context.Context, in *gamelift.ListFleetsInput) (*gamelift.ListFleetsOutput, error) {
	view := h.Store.View()
	page, next, err := pageOf(in.NextToken, limit(in.Limit, listFleetsPage, largestPage), func(after string) iter.Seq[*fleet.Fleet] {
		all := h.Fleets.All(view, after)
		switch {
		case in.ScriptId != nil:
			return func(func(*fleet.Fleet) bool) {} // no fleet has one
		case in.BuildId != nil:
			ofBuild := h.Fleets.OfBuild(view, h.Home.ID("build", *in.BuildId))
			all = filtered(ofBuild, func(f *fleet.Fleet) bool { return f.ID > after })
		}
		return reached(ctx, filtered(all, withoutContainers), h.arnOfFleet)
	}, fleetID, "ListFleets", val(in.BuildId), val(in.ScriptId))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListFleetsOutput{FleetIds: list(page, fleetID), NextToken: next}, nil
}

func (h handlers) describeRuntimeConfiguration(ctx context.Context, in *gamelift.DescribeRuntimeConfigurationInput) (*gamelift.DescribeRuntimeConfigurationOutput, error) {
	f, err := h.Fleets.Find(h.Store.View(), *in.FleetId)
	if err != nil {
		return new(gamelift.DescribeRuntimeConfigurationOutput), h.unlessDeleted(ctx, *in.FleetId, err)
	}
	return &gamelift.DescribeRuntimeConfigurationOutput{RuntimeConfiguration: runtimeOut(f.Runtime)}, nil
}

func (h handlers) updateRuntimeConfiguration(ctx context.Context, in *gamelift.UpdateRuntimeConfigurationInput) (*gamelift.UpdateRuntimeConfigurationOutput, error) {
	f, err := h.Fleets.UpdateRuntime.Do(ctx, fleet.RuntimeInput{FleetID: *in.FleetId, Runtime: runtimeIn(val(in.RuntimeConfiguration))})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateRuntimeConfigurationOutput{RuntimeConfiguration: runtimeOut(f.Runtime)}, nil
}

func (h handlers) arnOfFleet(f *fleet.Fleet) string { return h.Home.OfFleet(f.ID) }

func (h handlers) fleetARN(id string) *string { return new(h.Home.OfFleet(id)) }

func (h handlers) fleetOut(f *fleet.Fleet) gamelift.FleetAttributes {
	out := gamelift.FleetAttributes{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), Name: &f.Name, Description: opt(f.Description),
		CreationTime: gamelift.At(f.Created), TerminationTime: gamelift.MaybeAt(f.Terminated),
		Status: new(string(f.Status)), LogPaths: f.LogPaths, MetricGroups: f.MetricGroups,
		NewGameSessionProtectionPolicy: new(string(f.Protection)), ComputeType: new(string(f.ComputeType)),
		CertificateConfiguration: &gamelift.CertificateConfiguration{CertificateType: new(gamelift.CertificateTypeDisabled)},
		PlayerGatewayMode:        new(cmp.Or(f.Gateway.Mode, gamelift.PlayerGatewayModeDisabled)),
	}
	if f.Certificates() {
		out.CertificateConfiguration.CertificateType = new(gamelift.CertificateTypeGenerated)
	}
	if f.Gateway.IPProtocol != "" {
		out.PlayerGatewayConfiguration = &gamelift.PlayerGatewayConfiguration{GameServerIpProtocolSupported: &f.Gateway.IPProtocol}
	}
	if f.AsOnDemand {
		out.FleetType = new(gamelift.FleetTypeOnDemand)
	}
	if f.CreationLimit != nil {
		out.ResourceCreationLimitPolicy = &gamelift.ResourceCreationLimitPolicy{
			NewGameSessionsPerCreator: num(f.CreationLimit.Sessions),
			PolicyPeriodInMinutes:     num(int(f.CreationLimit.Period / time.Minute)),
		}
	}
	if f.Managed != nil {
		h.managedOut(&out, f)
	}
	if f.Cost != "" {
		out.AnywhereConfiguration = &gamelift.AnywhereConfiguration{Cost: &f.Cost}
	}
	return out
}

func creationLimit(p *gamelift.ResourceCreationLimitPolicy) *fleet.CreationLimit {
	if p == nil {
		return nil
	}
	return &fleet.CreationLimit{Sessions: int(val(p.NewGameSessionsPerCreator)), Period: minutes(p.PolicyPeriodInMinutes)}
}

func runtimeIn(c gamelift.RuntimeConfiguration) fleet.Runtime {
	return fleet.Runtime{
		Processes: list(c.ServerProcesses, func(p gamelift.ServerProcess) fleet.ProcessSpec {
			return fleet.ProcessSpec{LaunchPath: *p.LaunchPath, Parameters: val(p.Parameters), Concurrent: int(*p.ConcurrentExecutions)}
		}),
		MaxActivations:    int(val(c.MaxConcurrentGameSessionActivations)),
		ActivationTimeout: seconds(c.GameSessionActivationTimeoutSeconds),
	}
}

func runtimeOut(r fleet.Runtime) *gamelift.RuntimeConfiguration {
	return &gamelift.RuntimeConfiguration{
		ServerProcesses: list(r.Processes, func(p fleet.ProcessSpec) gamelift.ServerProcess {
			return gamelift.ServerProcess{LaunchPath: &p.LaunchPath, Parameters: opt(p.Parameters), ConcurrentExecutions: num(p.Concurrent)}
		}),
		MaxConcurrentGameSessionActivations: num(r.MaxActivationsOrDefault()),
		GameSessionActivationTimeoutSeconds: num(int(r.ActivationTimeoutOrDefault() / time.Second)),
	}
}

func (h handlers) createFleet(ctx context.Context, in *gamelift.CreateFleetInput) (*gamelift.CreateFleetOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	if err := checkComputeType(in); err != nil {
		return nil, err
	}
	f, err := h.Fleets.Create.Do(ctx, fleet.CreateInput{
		Name: *in.Name, Description: val(in.Description), ComputeType: computeType(in),
		Locations:     locationsIn(in.Locations),
		Protection:    fleet.Protection(val(in.NewGameSessionProtectionPolicy)),
		CreationLimit: creationLimit(in.ResourceCreationLimitPolicy), MetricGroups: in.MetricGroups,
		Cost: val(val(in.AnywhereConfiguration).Cost), LogPaths: in.LogPaths,
		Runtime: runtimeIn(val(in.RuntimeConfiguration)), Managed: managedIn(in), Tags: tags,
		AsOnDemand: in.FleetType != nil,
		Gateway: fleet.Gateway{
			Mode: val(in.PlayerGatewayMode), IPProtocol: val(val(in.PlayerGatewayConfiguration).GameServerIpProtocolSupported),
		},
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateFleetOutput{FleetAttributes: new(h.fleetOut(f)), LocationStates: locationStates(f)}, nil
}

// checkComputeType returns a fault if a member does not apply to the fleet's compute
// type.
func checkComputeType(in *gamelift.CreateFleetInput) error {
	kind := computeType(in)
	for _, member := range []struct {
		name  string
		given bool
		of    fleet.ComputeType // that has the member
	}{
		{"AnywhereConfiguration", in.AnywhereConfiguration != nil, fleet.Anywhere},
		{"BuildId", in.BuildId != nil, fleet.EC2},
		{"ScriptId", in.ScriptId != nil, fleet.EC2},
		{"EC2InstanceType", in.EC2InstanceType != nil, fleet.EC2},
		{"EC2InboundPermissions", in.EC2InboundPermissions != nil, fleet.EC2},
		{"FleetType " + gamelift.FleetTypeSpot, val(in.FleetType) == gamelift.FleetTypeSpot, fleet.EC2},
	} {
		if member.given && member.of != kind {
			return fault.Invalid("%s: not allowed for a fleet with ComputeType %s", member.name, kind)
		}
	}
	if in.ScriptId != nil {
		return fault.Invalid("ScriptId: scripts are stored but not hosted, because AWS's runtime for them is closed; put the script with Node.js into a build, and give its BuildId (docs/migrating.md)")
	}
	return nil
}

func computeType(in *gamelift.CreateFleetInput) fleet.ComputeType {
	return cmp.Or(fleet.ComputeType(val(in.ComputeType)), fleet.EC2)
}

// managedIn returns the part of a fleet that only compute type EC2 has, or nil for
// other types.
func managedIn(in *gamelift.CreateFleetInput) *fleet.Managed {
	if computeType(in) != fleet.EC2 {
		return nil
	}
	return &fleet.Managed{
		BuildID: val(in.BuildId), InstanceType: val(in.EC2InstanceType), FleetType: val(in.FleetType),
		Inbound: permissionsIn(in.EC2InboundPermissions), InstanceRole: val(in.InstanceRoleArn),
		RoleCredentials: val(in.InstanceRoleCredentialsProvider), PeerAccount: val(in.PeerVpcAwsAccountId), PeerVPC: val(in.PeerVpcId),
		LaunchPath: val(in.ServerLaunchPath), LaunchParameters: val(in.ServerLaunchParameters),
		CertificateType: val(val(in.CertificateConfiguration).CertificateType),
	}
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

func (h handlers) describeFleetEvents(ctx context.Context, in *gamelift.DescribeFleetEventsInput) (*gamelift.DescribeFleetEventsOutput, error) {
	id := h.Home.FleetID(*in.FleetId)
	if id == "" {
		return nil, fault.Missing("FleetId: fleet %s does not exist", *in.FleetId)
	}
	request := []string{"DescribeFleetEvents", id, wireTime(in.StartTime), wireTime(in.EndTime)}
	after, err := cursor[uint64](in.NextToken, request...)
	if err != nil {
		return nil, err
	}
	n := limit(in.Limit, defaultPage, largestPage)
	found, err := h.Events.Read(ctx, event.Query{
		FleetID: id, After: after, From: in.StartTime.Or(time.Time{}), To: in.EndTime.Or(time.Time{}), NewestFirst: true, Limit: n + 1,
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && h.Fleets.Get(h.Store.View(), id) == nil {
		return nil, fault.Missing("FleetId: fleet %s does not exist", id)
	}
	more := len(found) > n
	found = found[:min(n, len(found))]
	if more {
		after = found[n-1].Seq
	}
	return &gamelift.DescribeFleetEventsOutput{Events: list(found, eventOut), NextToken: nextToken(more, after, request...)}, nil
}

// unlessDeleted returns err, the error of looking up a fleet, or nil if the fleet was
// deleted, as its events show: some operations return an empty result then (API
// reference).
func (h handlers) unlessDeleted(ctx context.Context, idOrARN string, err error) error {
	id := h.Home.FleetID(idOrARN)
	if !fault.Is(err, fault.NotFound) || id == "" {
		return err
	}
	found, readErr := h.Events.Read(ctx, event.Query{FleetID: id, NewestFirst: true, Limit: 1})
	switch {
	case readErr != nil:
		return readErr
	case len(found) == 0:
		return err
	}
	return nil
}

func wireTime(t *gamelift.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func eventOut(e event.Entry) gamelift.Event {
	return gamelift.Event{
		EventId: &e.Value.ID, ResourceId: &e.Value.FleetID, EventCode: new(string(e.Value.Code)),
		Message: opt(e.Value.Message), EventTime: gamelift.At(e.Value.Time), Count: new(int64(1)),
	}
}

func (h handlers) describeFleetUtilization(ctx context.Context, in *gamelift.DescribeFleetUtilizationInput) (*gamelift.DescribeFleetUtilizationOutput, error) {
	page, next, err := h.fleetPage(ctx, "DescribeFleetUtilization", in.FleetIds, in.Limit, in.NextToken, anyFleet)
	if err != nil {
		return nil, err
	}
	use := list(page, func(f *fleet.Fleet) gamelift.FleetUtilization { return h.utilization(f, wholeOf(f)) })
	return &gamelift.DescribeFleetUtilizationOutput{FleetUtilization: use, NextToken: next}, nil
}

func (h handlers) describeFleetLocationUtilization(_ context.Context, in *gamelift.DescribeFleetLocationUtilizationInput) (*gamelift.DescribeFleetLocationUtilizationOutput, error) {
	f, err := h.Fleets.Find(h.Store.View(), *in.FleetId)
	if err != nil {
		return nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	return &gamelift.DescribeFleetLocationUtilizationOutput{FleetUtilization: new(h.utilization(f, *in.Location))}, nil
}

// wholeOf returns the location that is meant if a request names none: the home region
// of a managed fleet, "" (all) for an ANYWHERE fleet.
func wholeOf(f *fleet.Fleet) string {
	if f.Managed != nil {
		return f.Home
	}
	return ""
}

// utilization returns the utilization of a fleet in a location; "" means the whole
// fleet, since the processes of an ANYWHERE fleet are never in its home region.
func (h handlers) utilization(f *fleet.Fleet, location string) gamelift.FleetUtilization {
	use := h.Sessions.Use(h.Store.View(), f.ID, location)
	return gamelift.FleetUtilization{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), Location: new(cmp.Or(location, f.Home)),
		ActiveServerProcessCount: num(use.Processes), ActiveGameSessionCount: num(use.GameSessions),
		CurrentPlayerSessionCount: num(use.Players), MaximumPlayerSessionCount: num(use.MaxPlayers),
	}
}
