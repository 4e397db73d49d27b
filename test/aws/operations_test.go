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

// tryMatchmaking calls the operations of matchmaking.
func tryMatchmaking(t *testing.T, b bundle) {
	t.Helper()
	ctx, c := t.Context(), b.Client
	must(c.ValidateMatchmakingRuleSet(ctx, &gamelift.ValidateMatchmakingRuleSetInput{RuleSetBody: aws.String(duel)}))(t)
	b.matchmaker(t, func(in *gamelift.CreateMatchmakingConfigurationInput) {
		in.GameSessionQueueArns, in.FlexMatchMode = nil, types.FlexMatchModeStandalone
		in.AcceptanceRequired, in.AcceptanceTimeoutSeconds = aws.Bool(true), aws.Int32(60)
	})
	must(c.DescribeMatchmakingRuleSets(ctx, &gamelift.DescribeMatchmakingRuleSetsInput{}))(t)
	must(c.DescribeMatchmakingConfigurations(ctx, &gamelift.DescribeMatchmakingConfigurationsInput{}))(t)
	must(c.UpdateMatchmakingConfiguration(ctx, &gamelift.UpdateMatchmakingConfigurationInput{Name: aws.String("mm"), RequestTimeoutSeconds: aws.Int32(90)}))(t)
	b.enter(t, "a", 1)
	b.enter(t, "b", 2)
	b.become(t, types.MatchmakingConfigurationStatusRequiresAcceptance, "a", "b")
	must(c.AcceptMatch(ctx, &gamelift.AcceptMatchInput{TicketId: aws.String("a"), PlayerIds: []string{"player-a"}, AcceptanceType: types.AcceptanceTypeAccept}))(t)
	fill := must(c.StartMatchBackfill(ctx, &gamelift.StartMatchBackfillInput{
		ConfigurationName: aws.String("mm"), Players: []types.Player{{PlayerId: aws.String("p"), Team: aws.String("red")}},
	}))(t)
	for _, id := range []string{"a", "b", *fill.MatchmakingTicket.TicketId} {
		must(c.StopMatchmaking(ctx, &gamelift.StopMatchmakingInput{TicketId: &id}))(t)
	}
	must(c.DeleteMatchmakingConfiguration(ctx, &gamelift.DeleteMatchmakingConfigurationInput{Name: aws.String("mm")}))(t)
	must(c.DeleteMatchmakingRuleSet(ctx, &gamelift.DeleteMatchmakingRuleSetInput{Name: aws.String("duel")}))(t)
}

// tryManaged calls the operations of managed fleets.
func tryManaged(t *testing.T, url string, b bundle) {
	t.Helper()
	ctx, c := t.Context(), b.Client
	build := must(c.CreateBuild(ctx, &gamelift.CreateBuildInput{OperatingSystem: types.OperatingSystemAmazonLinux2023}))(t).Build.BuildId
	to := must(c.RequestUploadCredentials(ctx, &gamelift.RequestUploadCredentialsInput{BuildId: build}))(t).StorageLocation
	send(t, http.MethodPut, url+"/"+*to.Bucket+"/"+*to.Key, zipped(t, "server", "1"), http.StatusOK)
	b.events.Code(t, "BUILD_READY")
	f := must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("managed"), BuildId: build, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{LaunchPath: aws.String("/local/game/server"), ConcurrentExecutions: aws.Int32(1)}}},
	}))(t)
	fleet := f.FleetAttributes.FleetId
	must(c.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{*fleet}}))(t)
	must(c.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: fleet, Location: aws.String("us-east-1")}))(t)
	must(c.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: fleet}))(t)
	must(c.DescribeInstances(ctx, &gamelift.DescribeInstancesInput{FleetId: fleet}))(t)
	must(c.DescribeEC2InstanceLimits(ctx, &gamelift.DescribeEC2InstanceLimitsInput{}))(t)
	tryScaling(t, c, f.FleetAttributes)
	must(c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: fleet}))(t)
}

// recorded returns a bundle for a client that records responses.
func recorded(t *testing.T, url string, c *gamelift.Client) bundle {
	t.Helper()
	return bundle{Place: node.NewPlace(t, c), events: node.Follow(t, url)}
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
		put := must(c.PutScalingPolicy(ctx, &gamelift.PutScalingPolicyInput{
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
		got := must(c.DescribeScalingPolicies(ctx, &gamelift.DescribeScalingPoliciesInput{FleetId: f.FleetId}))(t).ScalingPolicies
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.ScalingPolicy{}, types.TargetConfiguration{})); diff != "" {
			t.Error(diff)
		}
	}
	described(rule, target)
	must(c.DeleteScalingPolicy(ctx, &gamelift.DeleteScalingPolicyInput{FleetId: f.FleetId, Name: rule.Name}))(t)
	described(target)
}
