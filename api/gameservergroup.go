package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerGroups(srv *awsrpc.Server) {
	on(srv, "CreateGameServerGroup", h.createGroup)
	on(srv, "UpdateGameServerGroup", h.updateGroup)
	on(srv, "DescribeGameServerGroup", h.describeGroup)
	on(srv, "ListGameServerGroups", h.listGroups)
	on(srv, "DeleteGameServerGroup", h.deleteGroup)
	on(srv, "SuspendGameServerGroup", h.suspendGroup)
	on(srv, "ResumeGameServerGroup", h.resumeGroup)
	on(srv, "DescribeGameServerInstances", h.describeGroupInstances)
}

func (h handlers) createGroup(ctx context.Context, in *gamelift.CreateGameServerGroupInput) (*gamelift.CreateGameServerGroupOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	g, err := h.FleetIQ.Groups.Create.Do(ctx, fleetiq.CreateInput{
		Group: fleetiq.Group{
			Name: *in.GameServerGroupName, RoleARN: *in.RoleArn, Types: list(in.InstanceDefinitions, instanceTypeIn),
			Balancing: fleetiq.Balancing(val(in.BalancingStrategy)), Protection: val(in.GameServerProtectionPolicy), Machines: machinesIn(in),
		},
		Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateGameServerGroupOutput{GameServerGroup: h.groupOut(g)}, nil
}

func machinesIn(in *gamelift.CreateGameServerGroupInput) fleetiq.Machines {
	m := fleetiq.Machines{
		MinSize: int(*in.MinSize), MaxSize: int(*in.MaxSize), TemplateID: val(in.LaunchTemplate.LaunchTemplateId),
		TemplateName: val(in.LaunchTemplate.LaunchTemplateName), TemplateVersion: val(in.LaunchTemplate.Version), Subnets: in.VpcSubnets,
	}
	if p := in.AutoScalingPolicy; p != nil {
		m.Policy = &fleetiq.ScalingPolicy{Target: *p.TargetTrackingConfiguration.TargetValue, Warmup: seconds(p.EstimatedInstanceWarmup)}
	}
	return m
}

func instanceTypeIn(d gamelift.InstanceDefinition) fleetiq.InstanceType {
	return fleetiq.InstanceType{Name: *d.InstanceType, Weight: val(d.WeightedCapacity)}
}

func (h handlers) updateGroup(ctx context.Context, in *gamelift.UpdateGameServerGroupInput) (*gamelift.UpdateGameServerGroupOutput, error) {
	update := fleetiq.UpdateInput{
		Group: *in.GameServerGroupName, RoleARN: in.RoleArn, Balancing: as[fleetiq.Balancing](in.BalancingStrategy), Protection: in.GameServerProtectionPolicy,
	}
	if in.InstanceDefinitions != nil {
		update.Types = list(in.InstanceDefinitions, instanceTypeIn)
	}
	g, err := h.FleetIQ.Groups.Update.Do(ctx, update)
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateGameServerGroupOutput{GameServerGroup: h.groupOut(g)}, nil
}

func (h handlers) describeGroup(_ context.Context, in *gamelift.DescribeGameServerGroupInput) (*gamelift.DescribeGameServerGroupOutput, error) {
	g, err := h.FleetIQ.Groups.Find(h.Store.View(), *in.GameServerGroupName)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeGameServerGroupOutput{GameServerGroup: h.groupOut(g)}, nil
}

func (h handlers) listGroups(ctx context.Context, in *gamelift.ListGameServerGroupsInput) (*gamelift.ListGameServerGroupsOutput, error) {
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*fleetiq.Group] {
		return reached(ctx, h.FleetIQ.Groups.After(h.Store.View(), after), func(g *fleetiq.Group) string { return h.FleetIQ.Groups.ARN(g.Name) })
	}, func(g *fleetiq.Group) string { return g.Name }, "ListGameServerGroups")
	if err != nil {
		return nil, err
	}
	return &gamelift.ListGameServerGroupsOutput{
		GameServerGroups: list(page, func(g *fleetiq.Group) gamelift.GameServerGroup { return *h.groupOut(g) }), NextToken: next,
	}, nil
}

func (h handlers) deleteGroup(ctx context.Context, in *gamelift.DeleteGameServerGroupInput) (*gamelift.DeleteGameServerGroupOutput, error) {
	g, err := h.FleetIQ.Groups.Delete.Do(ctx, fleetiq.DeleteInput{Group: *in.GameServerGroupName, Option: fleetiq.DeleteOption(val(in.DeleteOption))})
	if err != nil {
		return nil, err
	}
	return &gamelift.DeleteGameServerGroupOutput{GameServerGroup: h.groupOut(g)}, nil
}

func (h handlers) suspendGroup(ctx context.Context, in *gamelift.SuspendGameServerGroupInput) (*gamelift.SuspendGameServerGroupOutput, error) {
	g, err := h.FleetIQ.Groups.Suspend.Do(ctx, fleetiq.SuspendInput{Group: *in.GameServerGroupName, Suspend: true})
	if err != nil {
		return nil, err
	}
	return &gamelift.SuspendGameServerGroupOutput{GameServerGroup: h.groupOut(g)}, nil
}

func (h handlers) resumeGroup(ctx context.Context, in *gamelift.ResumeGameServerGroupInput) (*gamelift.ResumeGameServerGroupOutput, error) {
	g, err := h.FleetIQ.Groups.Suspend.Do(ctx, fleetiq.SuspendInput{Group: *in.GameServerGroupName})
	if err != nil {
		return nil, err
	}
	return &gamelift.ResumeGameServerGroupOutput{GameServerGroup: h.groupOut(g)}, nil
}

func (h handlers) describeGroupInstances(ctx context.Context, in *gamelift.DescribeGameServerInstancesInput) (*gamelift.DescribeGameServerInstancesOutput, error) {
	view := h.Store.View()
	g, err := h.FleetIQ.Groups.Find(view, *in.GameServerGroupName)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, id := range in.InstanceIds {
		asked[id] = true
	}
	n := limit(in.Limit, defaultPage, largestPage)
	if len(asked) > 0 {
		n = len(asked)
	}
	shown := h.places(ctx)
	page, next, err := pageOf(in.NextToken, n, func(after string) iter.Seq[fleetiq.Instance] {
		return filtered(h.FleetIQ.Instances.Of(view, g, after), func(i fleetiq.Instance) bool {
			return (len(asked) == 0 || asked[i.ID]) && (shown == nil || shown(i.Location))
		})
	}, fleetiq.Instance.Position, append([]string{"DescribeGameServerInstances", g.Name}, in.InstanceIds...)...)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeGameServerInstancesOutput{NextToken: next, GameServerInstances: list(page, func(i fleetiq.Instance) gamelift.GameServerInstance {
		return gamelift.GameServerInstance{
			GameServerGroupName: &g.Name, GameServerGroupArn: new(h.FleetIQ.Groups.ARN(g.Name)), InstanceId: new(i.ID), InstanceStatus: new(string(i.Status)),
		}
	})}, nil
}

func (h handlers) groupOut(g *fleetiq.Group) *gamelift.GameServerGroup {
	suspended := []string{}
	if g.Suspended {
		suspended = gamelift.GameServerGroupActionValues()
	}
	return &gamelift.GameServerGroup{
		GameServerGroupName: &g.Name, GameServerGroupArn: new(h.FleetIQ.Groups.ARN(g.Name)), RoleArn: &g.RoleARN,
		InstanceDefinitions: list(g.Types, func(t fleetiq.InstanceType) gamelift.InstanceDefinition {
			return gamelift.InstanceDefinition{InstanceType: new(t.Name), WeightedCapacity: opt(t.Weight)}
		}),
		BalancingStrategy: new(string(g.Balancing)), GameServerProtectionPolicy: &g.Protection,
		AutoScalingGroupArn: new(h.FleetIQ.Groups.AutoScalingARN(g)), Status: new(string(g.Status)), StatusReason: opt(g.StatusReason()),
		SuspendedActions: suspended, CreationTime: gamelift.At(g.Created), LastUpdatedTime: gamelift.At(g.Updated),
	}
}
