package aws

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/musterhq/muster/test/node"
)

// A managed fleet whose capacity was never configured has the documented default. For a
// deleted fleet some operations return an empty result.
func TestManaged(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	build := node.Must(c.CreateBuild(ctx, &gamelift.CreateBuildInput{OperatingSystem: types.OperatingSystemAmazonLinux2023}))(t).Build.BuildId
	to := node.Must(c.RequestUploadCredentials(ctx, &gamelift.RequestUploadCredentialsInput{BuildId: build}))(t).StorageLocation
	send(t, http.MethodPut, b.app.URL()+"/"+*to.Bucket+"/"+*to.Key, zipped(t, "server", "1"), http.StatusOK)
	b.events.Code(t, "BUILD_READY")
	f := node.Must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("managed"), BuildId: build, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{LaunchPath: aws.String("/local/game/server"), ConcurrentExecutions: aws.Int32(1)}}},
	}))(t).FleetAttributes
	fleet := f.FleetId
	all := node.Must(c.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{*fleet}}))(t).FleetCapacity
	home := node.Must(c.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: fleet, Location: aws.String("us-east-1")}))(t).FleetCapacity
	for _, shown := range append(all, *home) {
		if m := shown.ManagedCapacityConfiguration; m == nil || m.ZeroCapacityStrategy != types.ZeroCapacityStrategyManual || m.ScaleInAfterInactivityMinutes != nil {
			t.Errorf("capacity that nobody configured is %+v", m)
		}
	}
	node.Must(c.DescribeInstances(ctx, &gamelift.DescribeInstancesInput{FleetId: fleet}))(t)
	node.Must(c.DescribeEC2InstanceLimits(ctx, &gamelift.DescribeEC2InstanceLimitsInput{}))(t)
	node.Must(c.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: fleet}))(t)
	tryScaling(t, c, f)
	node.Must(c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: fleet}))(t)
	b.events.Code(t, "FLEET_DELETED")
	ports := node.Must(c.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: fleet}))(t)
	if len(ports.InboundPermissions) != 0 || ports.FleetId != nil {
		t.Errorf("a deleted fleet has the ports %+v", ports)
	}
	if r := node.Must(c.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: fleet}))(t); r.RuntimeConfiguration != nil {
		t.Errorf("a deleted fleet runs %+v", r.RuntimeConfiguration)
	}
}

// tryScaling calls the operations of scaling policies: a policy is described as it was
// put, and no longer once it is deleted.
func tryScaling(t *testing.T, c *gamelift.Client, f *types.FleetAttributes) {
	t.Helper()
	ctx := t.Context()
	rule := types.ScalingPolicy{
		FleetId: f.FleetId, FleetArn: f.FleetArn, Name: aws.String("rule"), Status: types.ScalingStatusTypeActive,
		PolicyType: types.PolicyTypeRuleBased, MetricName: types.MetricNameIdleInstances, Threshold: aws.Float64(1.5),
		ComparisonOperator: types.ComparisonOperatorTypeLessThanThreshold, EvaluationPeriods: aws.Int32(3),
		ScalingAdjustment: aws.Int32(-2), ScalingAdjustmentType: types.ScalingAdjustmentTypeChangeInCapacity,
	}
	target := types.ScalingPolicy{
		FleetId: f.FleetId, FleetArn: f.FleetArn, Name: aws.String("target"), Status: types.ScalingStatusTypeActive,
		PolicyType: types.PolicyTypeTargetBased, MetricName: types.MetricNamePercentAvailableGameSessions,
		TargetConfiguration: &types.TargetConfiguration{TargetValue: aws.Float64(12.5)},
	}
	for _, p := range []types.ScalingPolicy{rule, target} {
		put := node.Must(c.PutScalingPolicy(ctx, &gamelift.PutScalingPolicyInput{
			FleetId: f.FleetId, Name: p.Name, PolicyType: p.PolicyType, MetricName: p.MetricName, Threshold: p.Threshold,
			ComparisonOperator: p.ComparisonOperator, EvaluationPeriods: p.EvaluationPeriods,
			ScalingAdjustment: p.ScalingAdjustment, ScalingAdjustmentType: p.ScalingAdjustmentType, TargetConfiguration: p.TargetConfiguration,
		}))(t)
		if aws.ToString(put.Name) != *p.Name {
			t.Errorf("put as %v", put.Name)
		}
	}
	described := func(want ...types.ScalingPolicy) {
		t.Helper()
		got := node.Must(c.DescribeScalingPolicies(ctx, &gamelift.DescribeScalingPoliciesInput{FleetId: f.FleetId}))(t).ScalingPolicies
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.ScalingPolicy{}, types.TargetConfiguration{})); diff != "" {
			t.Error(diff)
		}
	}
	described(rule, target)
	node.Must(c.DeleteScalingPolicy(ctx, &gamelift.DeleteScalingPolicyInput{FleetId: f.FleetId, Name: rule.Name}))(t)
	described(target)
}
