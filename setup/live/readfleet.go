package live

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// gone are the states of fleets that are not part of a set-up any more.
var gone = []types.FleetStatus{types.FleetStatusDeleting, types.FleetStatusTerminated, "EXPIRED"}

func (r *reader) fleetsOf(ctx context.Context) error {
	for page := gamelift.NewDescribeFleetAttributesPaginator(r.api, &gamelift.DescribeFleetAttributesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, f := range out.FleetAttributes {
			if slices.Contains(gone, f.Status) || strings.HasPrefix(*f.FleetId, "containerfleet-") {
				continue
			}
			if val(f.ScriptId) != "" {
				r.note("fleet %s (%s) runs script %s: fleets of scripts are not hosted (docs/migrating.md#scripts); it is left out", val(f.Name), *f.FleetId, *f.ScriptId)
				continue
			}
			made, err := r.fleet(ctx, &f)
			if missing(err) {
				continue // deleted since it was listed
			}
			if err != nil {
				return err
			}
			key := r.unique(setup.FleetKind, val(f.Name), *f.FleetId)
			if f.Status == types.FleetStatusActive { // before that its capacity cannot be set
				r.Setup.Give(setup.FleetKind, key, r.given[*f.FleetId])
			}
			if made.Build == "" && val(f.BuildId) != "" {
				r.Setup.LoseBuild(key, *f.BuildId)
			}
			if f.Status == types.FleetStatusError {
				r.Setup.FailFleet(key)
			}
			put(&r.Setup.Fleets, key, made)
			r.fleets[key] = f
			r.is(setup.FleetKind, key, *f.FleetArn)
		}
	}
	return nil
}

// fleet reads one fleet.
func (r *reader) fleet(ctx context.Context, f *types.FleetAttributes) (*setup.Fleet, error) {
	made := &setup.Fleet{
		Description: text(f.Description), ComputeType: cmp.Or(f.ComputeType, types.ComputeTypeEc2), AnywhereConfiguration: f.AnywhereConfiguration, EC2InstanceType: f.InstanceType, FleetType: f.FleetType,
		CertificateConfiguration: f.CertificateConfiguration, NewGameSessionProtectionPolicy: f.NewGameSessionProtectionPolicy, ResourceCreationLimitPolicy: f.ResourceCreationLimitPolicy,
		MetricGroups: list(f.MetricGroups), PlayerGatewayMode: f.PlayerGatewayMode, InstanceRoleArn: text(f.InstanceRoleArn), InstanceRoleCredentialsProvider: f.InstanceRoleCredentialsProvider,
	}
	var err error
	if made.Tags, err = r.tags(ctx, *f.FleetArn); err != nil {
		return nil, err
	}
	r.takeGiven(*f.FleetId, &made.Tags)
	anywhere := made.ComputeType == types.ComputeTypeAnywhere
	if made.HomeRegion, made.Locations, err = r.places(ctx, *f.FleetId, f.StoppedActions, anywhere); err != nil || anywhere {
		return made, err
	}
	if arn := val(f.BuildArn); arn != "" {
		made.Build = r.named[arn].key
	}
	if made.Build == "" {
		r.note("fleet %s (%s) runs build %s, which has been deleted: give it another one", val(f.Name), *f.FleetId, val(f.BuildId))
	}
	runtime, err := r.api.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: f.FleetId})
	if err != nil {
		return nil, err
	}
	made.RuntimeConfiguration = runtime.RuntimeConfiguration
	ports, err := r.api.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: f.FleetId})
	if err != nil {
		return nil, err
	}
	made.EC2InboundPermissions = list(ports.InboundPermissions)
	made.ScalingPolicies, err = r.policies(ctx, *f.FleetId)
	return made, err
}

// takeGiven takes out of a fleet's tags what files gave it.
func (r *reader) takeGiven(fleetID string, tags *setup.Tags) {
	r.given[fleetID] = setup.TakeGiven(*tags)
	if len(*tags) == 0 {
		*tags = nil
	}
}

// places reads the capacities of a fleet's locations.
func (r *reader) places(ctx context.Context, fleetID string, stopped []types.FleetAction, anywhere bool) (home *setup.Capacity, others map[string]*setup.Capacity, err error) {
	if !anywhere {
		out, err := r.api.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{fleetID}})
		if err != nil {
			return nil, nil, err
		}
		for _, c := range out.FleetCapacity {
			home = capacity(&c, stopped)
		}
	}
	for page := gamelift.NewDescribeFleetLocationAttributesPaginator(r.api, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleetID}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, l := range out.LocationAttributes {
			if slices.Contains(gone, l.LocationState.Status) || l.LocationState.Status == types.FleetStatusNotFound {
				continue
			}
			name, made := *l.LocationState.Location, &setup.Capacity{}
			if !anywhere {
				out, err := r.api.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: &fleetID, Location: &name})
				if err != nil {
					return nil, nil, err
				}
				made = capacity(out.FleetCapacity, l.StoppedActions)
			}
			put(&others, name, made)
		}
	}
	return home, others, nil
}

func capacity(c *types.FleetCapacity, stopped []types.FleetAction) *setup.Capacity {
	made := &setup.Capacity{MinSize: c.InstanceCounts.MINIMUM, MaxSize: c.InstanceCounts.MAXIMUM, DesiredInstances: c.InstanceCounts.DESIRED, StoppedActions: list(stopped)}
	if m := c.ManagedCapacityConfiguration; m != nil && m.ZeroCapacityStrategy == types.ZeroCapacityStrategyScaleToAndFromZero {
		made.ManagedCapacityConfiguration = m
	}
	return made
}

func (r *reader) policies(ctx context.Context, fleetID string) (map[string]*setup.ScalingPolicy, error) {
	var all map[string]*setup.ScalingPolicy
	for page := gamelift.NewDescribeScalingPoliciesPaginator(r.api, &gamelift.DescribeScalingPoliciesInput{FleetId: &fleetID}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range out.ScalingPolicies {
			if p.Status != types.ScalingStatusTypeActive && p.Status != types.ScalingStatusTypeUpdateRequested && p.Status != types.ScalingStatusTypeUpdating {
				continue
			}
			put(&all, *p.Name, &setup.ScalingPolicy{
				PolicyType: p.PolicyType, MetricName: p.MetricName, TargetConfiguration: p.TargetConfiguration, ComparisonOperator: p.ComparisonOperator, Threshold: p.Threshold,
				EvaluationPeriods: p.EvaluationPeriods, ScalingAdjustment: p.ScalingAdjustment, ScalingAdjustmentType: p.ScalingAdjustmentType,
			})
		}
	}
	return all, nil
}

func (r *reader) containerFleetsOf(ctx context.Context) error {
	for page := gamelift.NewListContainerFleetsPaginator(r.api, &gamelift.ListContainerFleetsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, f := range out.ContainerFleets {
			if f.Status == types.ContainerFleetStatusDeleting {
				continue
			}
			made, key, err := r.containerFleet(ctx, &f)
			if missing(err) {
				continue // deleted since it was listed
			}
			if err != nil {
				return err
			}
			r.Setup.Give(setup.ContainerFleetKind, key, r.given[*f.FleetId])
			put(&r.Setup.ContainerFleets, key, made)
			r.containerFleets[key] = f
			r.is(setup.ContainerFleetKind, key, *f.FleetArn)
		}
	}
	return nil
}

// containerFleet reads one container fleet, and returns its key.
func (r *reader) containerFleet(ctx context.Context, f *types.ContainerFleet) (made *setup.ContainerFleet, key string, err error) {
	made = &setup.ContainerFleet{
		Description: text(f.Description), FleetRoleArn: text(f.FleetRoleArn), InstanceType: f.InstanceType, BillingType: f.BillingType,
		GameServerContainerGroupDefinition: val(f.GameServerContainerGroupDefinitionName), PerInstanceContainerGroupDefinition: val(f.PerInstanceContainerGroupDefinitionName),
		GameServerContainerGroupsPerInstance: f.GameServerContainerGroupsPerInstance, GameSessionCreationLimitPolicy: f.GameSessionCreationLimitPolicy, InstanceConnectionPortRange: f.InstanceConnectionPortRange,
		InstanceInboundPermissions: list(f.InstanceInboundPermissions), LogConfiguration: f.LogConfiguration, MetricGroups: list(f.MetricGroups), NewGameSessionProtectionPolicy: f.NewGameSessionProtectionPolicy, PlayerGatewayMode: f.PlayerGatewayMode,
	}
	if made.Tags, err = r.tags(ctx, *f.FleetArn); err != nil {
		return nil, "", err
	}
	key = r.unique(setup.ContainerFleetKind, take(&made.Tags, setup.NameTag), *f.FleetId)
	r.takeGiven(*f.FleetId, &made.Tags)
	if val(f.GameServerContainerGroupsPerInstance) == val(f.MaximumGameServerContainerGroupsPerInstance) {
		made.GameServerContainerGroupsPerInstance = nil // as many as fit
	}
	// The API does not show whether scaling is stopped in the home region of a container fleet.
	if made.HomeRegion, made.Locations, err = r.places(ctx, *f.FleetId, nil, false); err != nil {
		return nil, "", err
	}
	made.ScalingPolicies, err = r.policies(ctx, *f.FleetId)
	return made, key, err
}
