package terraform

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// TestContainerFleet sends what the provider's resource aws_gamelift_container_fleet sends
// in its life, in that order, and makes the decisions that it makes by the responses. The
// recordings are older than that resource.
func TestContainerFleet(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), node.Client(node.InProcess(t, nil).URL())
	digest := "sha256:" + strings.Repeat("a", 64)
	ports := &types.ContainerPortConfiguration{ContainerPortRanges: []types.ContainerPortRange{
		{FromPort: aws.Int32(7000), ToPort: aws.Int32(7001), Protocol: types.IpProtocolUdp},
	}}
	if _, err := c.CreateContainerGroupDefinition(ctx, &gamelift.CreateContainerGroupDefinitionInput{
		Name: aws.String("arena"), OperatingSystem: types.ContainerOperatingSystemAmazonLinux2023,
		TotalMemoryLimitMebibytes: aws.Int32(512), TotalVcpuLimit: aws.Float64(1),
		GameServerContainerDefinition: &types.GameServerContainerDefinitionInput{
			ContainerName: aws.String("game"), ImageUri: aws.String("registry.example/arena@" + digest), ServerSdkVersion: aws.String("5.4.0"), PortConfiguration: ports,
		},
	}); err != nil {
		t.Fatal(err)
	}

	// Create. The provider cuts the version off an ARN.
	asked := &gamelift.CreateContainerFleetInput{
		FleetRoleArn: aws.String("arn:aws:iam::000000000000:role/r"), BillingType: types.ContainerFleetBillingTypeOnDemand,
		Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}, Description: aws.String("d"),
		GameServerContainerGroupDefinitionName: aws.String("arena"), GameServerContainerGroupsPerInstance: aws.Int32(2),
		InstanceConnectionPortRange: &types.ConnectionPortRange{FromPort: aws.Int32(5000), ToPort: aws.Int32(5010)},
		InstanceInboundPermissions: []types.IpPermission{
			{FromPort: aws.Int32(5000), ToPort: aws.Int32(5010), IpRange: aws.String("0.0.0.0/0"), Protocol: types.IpProtocolUdp},
		},
		InstanceType: aws.String("c5.large"), Locations: []types.LocationConfiguration{{Location: aws.String("eu-west-1")}},
		LogConfiguration: &types.LogConfiguration{LogDestination: types.LogDestinationNone}, MetricGroups: []string{"m"},
		NewGameSessionProtectionPolicy: types.ProtectionPolicyFullProtection,
	}
	created, err := c.CreateContainerFleet(ctx, asked)
	if err != nil {
		t.Fatal(err)
	}
	id := created.ContainerFleet.FleetId

	// Read: a plan right after it is empty if each argument is what was asked for.
	read, err := c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: id})
	if err != nil {
		t.Fatal(err)
	}
	f := read.ContainerFleet
	if *f.FleetRoleArn != *asked.FleetRoleArn || f.BillingType != asked.BillingType || *f.Description != "d" || *f.GameServerContainerGroupDefinitionName != "arena" ||
		*f.GameServerContainerGroupsPerInstance != 2 || *f.InstanceType != "c5.large" || f.MetricGroups[0] != "m" || f.NewGameSessionProtectionPolicy != asked.NewGameSessionProtectionPolicy ||
		f.PerInstanceContainerGroupDefinitionName != nil || *f.InstanceConnectionPortRange.FromPort != 5000 || *f.InstanceConnectionPortRange.ToPort != 5010 ||
		len(f.InstanceInboundPermissions) != 1 || *f.InstanceInboundPermissions[0].IpRange != "0.0.0.0/0" || f.LogConfiguration.LogDestination != types.LogDestinationNone ||
		f.LogConfiguration.S3BucketName != nil || f.GameSessionCreationLimitPolicy != nil {
		t.Errorf("the provider would plan a change of %+v", f)
	}
	if len(f.LocationAttributes) != 1 || *f.LocationAttributes[0].Location != "eu-west-1" {
		t.Errorf("the provider would replace the fleet for its locations, %v", f.LocationAttributes)
	}
	if f.DeploymentDetails == nil || *f.MaximumGameServerContainerGroupsPerInstance != 2 || !strings.HasSuffix(*f.GameServerContainerGroupDefinitionArn, "/arena:1") {
		t.Errorf("computed attributes of %+v", f)
	}
	tags, err := c.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: f.FleetArn})
	if err != nil || len(tags.Tags) != 1 {
		t.Errorf("tags %v, %v", tags, err)
	}
	switch f.Status { // until it is ACTIVE the provider waits in one of these
	case types.ContainerFleetStatusPending, types.ContainerFleetStatusCreating, types.ContainerFleetStatusCreated, types.ContainerFleetStatusActivating, types.ContainerFleetStatusUpdating:
	default:
		t.Errorf("the provider does not wait in status %s", f.Status)
	}

	// Its scaling policy.
	policy := &gamelift.PutScalingPolicyInput{
		FleetId: id, Name: aws.String(*id + "-target-based"), PolicyType: types.PolicyTypeTargetBased, MetricName: types.MetricNamePercentAvailableGameSessions,
		TargetConfiguration: &types.TargetConfiguration{TargetValue: aws.Float64(20)},
	}
	if _, err := c.PutScalingPolicy(ctx, policy); err != nil {
		t.Fatal(err)
	}
	policies, err := c.DescribeScalingPolicies(ctx, &gamelift.DescribeScalingPoliciesInput{FleetId: id})
	if err != nil || len(policies.ScalingPolicies) != 1 || *policies.ScalingPolicies[0].TargetConfiguration.TargetValue != 20 {
		t.Errorf("policies %v, %v", policies, err)
	}

	// Delete, again after an interruption, and wait until it is not found.
	if _, err := c.DeleteScalingPolicy(ctx, &gamelift.DeleteScalingPolicyInput{FleetId: id, Name: policy.Name}); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := c.DeleteContainerFleet(ctx, &gamelift.DeleteContainerFleetInput{FleetId: id})
		var invalid *types.InvalidRequestException
		var gone *types.NotFoundException
		if errors.As(err, &gone) {
			break
		}
		if err != nil && (!errors.As(err, &invalid) || !strings.Contains(invalid.ErrorMessage(), "cannot be put to Deleting state from")) {
			t.Fatalf("the provider does not try again after %v", err)
		}
	}
	var gone *types.NotFoundException
	if _, err := c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: id}); !errors.As(err, &gone) {
		t.Errorf("read after the deletion: %v", err)
	}
}
