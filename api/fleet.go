package api

import (
	"cmp"
	"context"
	"iter"
	"time"

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
	page, next, err := h.fleetPage(ctx, "DescribeFleetAttributes", in.FleetIds, in.Limit, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeFleetAttributesOutput{FleetAttributes: list(page, h.fleetOut), NextToken: next}, nil
}

// fleetPage returns the fleets of an operation that takes fleet ids: the named ones
// that exist, or a page of all. Limit and NextToken do not apply to named ones.
func (h handlers) fleetPage(ctx context.Context, operation string, ids []string, asked *int32, next *string) ([]*fleet.Fleet, *string, error) {
	view := h.Store.View()
	if len(ids) > 0 {
		named := make([]*fleet.Fleet, 0, len(ids))
		for _, id := range ids {
			if f := h.Fleets.Get(view, id); f != nil {
				named = append(named, f)
			}
		}
		return named, nil, nil
	}
	after, err := cursor[string](next, operation)
	if err != nil {
		return nil, nil, err
	}
	page, more := take(reached(ctx, h.Fleets.All(view, after), h.arnOfFleet), limit(asked, defaultPage, largestPage))
	if more {
		after = page[len(page)-1].ID
	}
	return page, nextToken(more, after, operation), nil
}

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
	after, err := cursor[string](in.NextToken, "ListFleets", val(in.BuildId), val(in.ScriptId))
	if err != nil {
		return nil, err
	}
	all := h.Fleets.All(h.Store.View(), after)
	switch {
	case in.ScriptId != nil:
		return &gamelift.ListFleetsOutput{FleetIds: []string{}}, nil // no fleet has one
	case in.BuildId != nil:
		all = h.fleetsOfBuild(h.Home.ID("build", *in.BuildId), after)
	}
	page, more := take(reached(ctx, all, h.arnOfFleet), limit(in.Limit, listFleetsPage, largestPage))
	ids := list(page, func(f *fleet.Fleet) string { return f.ID })
	if more {
		after = ids[len(ids)-1]
	}
	return &gamelift.ListFleetsOutput{FleetIds: ids, NextToken: nextToken(more, after, "ListFleets", val(in.BuildId), val(in.ScriptId))}, nil
}

func (h handlers) fleetsOfBuild(buildID, after string) iter.Seq[*fleet.Fleet] {
	return func(yield func(*fleet.Fleet) bool) {
		for f := range h.Fleets.OfBuild(h.Store.View(), buildID) {
			if f.ID > after && !yield(f) {
				return
			}
		}
	}
}

func (h handlers) describeRuntimeConfiguration(ctx context.Context, in *gamelift.DescribeRuntimeConfigurationInput) (*gamelift.DescribeRuntimeConfigurationOutput, error) {
	f, err := h.Fleets.Find(h.Store.View(), *in.FleetId)
	if err != nil {
		return new(gamelift.DescribeRuntimeConfigurationOutput), h.unlessDeleted(ctx, *in.FleetId, err)
	}
	return &gamelift.DescribeRuntimeConfigurationOutput{RuntimeConfiguration: runtimeOut(f.Runtime)}, nil
}

func (h handlers) updateRuntimeConfiguration(ctx context.Context, in *gamelift.UpdateRuntimeConfigurationInput) (*gamelift.UpdateRuntimeConfigurationOutput, error) {
	f, err := h.Fleets.UpdateRuntime(ctx, *in.FleetId, runtimeIn(in.RuntimeConfiguration))
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateRuntimeConfigurationOutput{RuntimeConfiguration: runtimeOut(f.Runtime)}, nil
}

func (h handlers) arnOfFleet(f *fleet.Fleet) string { return h.Home.Of("fleet", f.ID) }

func (h handlers) fleetARN(id string) *string { return new(h.Home.Of("fleet", id)) }

func (h handlers) fleetOut(f *fleet.Fleet) gamelift.FleetAttributes {
	out := gamelift.FleetAttributes{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), Name: &f.Name, Description: opt(f.Description),
		CreationTime: gamelift.At(f.Created), TerminationTime: gamelift.MaybeAt(f.Terminated),
		Status: new(string(f.Status)), LogPaths: f.LogPaths, MetricGroups: f.MetricGroups,
		NewGameSessionProtectionPolicy: new(string(f.Protection)), ComputeType: new(string(f.ComputeType)),
		CertificateConfiguration: &gamelift.CertificateConfiguration{CertificateType: new(gamelift.CertificateTypeDisabled)},
		PlayerGatewayMode:        new(cmp.Or(f.Gateway.Mode, gamelift.PlayerGatewayModeDisabled)),
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

func anywhereCost(c *gamelift.AnywhereConfiguration) string {
	if c == nil {
		return ""
	}
	return val(c.Cost)
}

func creationLimit(p *gamelift.ResourceCreationLimitPolicy) *fleet.CreationLimit {
	if p == nil {
		return nil
	}
	return &fleet.CreationLimit{Sessions: int(val(p.NewGameSessionsPerCreator)), Period: minutes(p.PolicyPeriodInMinutes)}
}

func runtimeIn(c *gamelift.RuntimeConfiguration) fleet.Runtime {
	if c == nil {
		return fleet.Runtime{}
	}
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
