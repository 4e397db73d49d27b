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

// fleetComputed are the members of a container fleet which the provider only reads, or does not
// know.
var fleetComputed = []string{
	"CreationTime", "DeploymentDetails", "FleetArn", "FleetId", "GameServerContainerGroupDefinitionArn", "LocationAttributes",
	"MaximumGameServerContainerGroupsPerInstance", "PlayerGatewayMode", "Status",
}

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
	node.Must(c.CreateContainerGroupDefinition(ctx, &gamelift.CreateContainerGroupDefinitionInput{
		Name: aws.String("arena"), OperatingSystem: types.ContainerOperatingSystemAmazonLinux2023,
		TotalMemoryLimitMebibytes: aws.Int32(512), TotalVcpuLimit: aws.Float64(1),
		GameServerContainerDefinition: &types.GameServerContainerDefinitionInput{
			ContainerName: aws.String("game"), ImageUri: aws.String("registry.example/arena@" + digest), ServerSdkVersion: aws.String("5.4.0"), PortConfiguration: ports,
		},
	}))(t)

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
	created := node.Must(c.CreateContainerFleet(ctx, asked))(t)
	id := created.ContainerFleet.FleetId

	// Read: a plan right after it is empty if each argument is what was asked for.
	read := node.Must(c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: id}))(t)
	f := read.ContainerFleet
	members := *asked
	members.Tags, members.Locations = nil, nil // which are read by other operations, and below
	shows(t, members, f, fleetComputed...)
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
	node.Must(c.PutScalingPolicy(ctx, policy))(t)
	policies, err := c.DescribeScalingPolicies(ctx, &gamelift.DescribeScalingPoliciesInput{FleetId: id})
	if err != nil || len(policies.ScalingPolicies) != 1 || *policies.ScalingPolicies[0].TargetConfiguration.TargetValue != 20 {
		t.Errorf("policies %v, %v", policies, err)
	}

	// Delete, again after an interruption, and wait until it is not found.
	node.Must(c.DeleteScalingPolicy(ctx, &gamelift.DeleteScalingPolicyInput{FleetId: id, Name: policy.Name}))(t)
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

// TestContainerFleet_Update sends what the provider's resource sends when its arguments change.
func TestContainerFleet_Update(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), node.Client(node.InProcess(t, nil).URL())
	members := &gamelift.CreateContainerFleetInput{ // without game servers, so that it is not being created for long
		FleetRoleArn: aws.String("arn:aws:iam::000000000000:role/r"), BillingType: types.ContainerFleetBillingTypeSpot, Description: aws.String("d"), InstanceType: aws.String("c5.large"),
		InstanceConnectionPortRange: &types.ConnectionPortRange{FromPort: aws.Int32(5000), ToPort: aws.Int32(5010)}, MetricGroups: []string{"m"},
		InstanceInboundPermissions: []types.IpPermission{{FromPort: aws.Int32(5000), ToPort: aws.Int32(5010), IpRange: aws.String("0.0.0.0/0"), Protocol: types.IpProtocolUdp}},
		LogConfiguration:           &types.LogConfiguration{LogDestination: types.LogDestinationNone}, NewGameSessionProtectionPolicy: types.ProtectionPolicyFullProtection,
	}
	created := node.Must(c.CreateContainerFleet(ctx, members))(t)
	shows(t, members, created.ContainerFleet, fleetComputed...)

	closed := members.InstanceInboundPermissions
	members.Description, members.MetricGroups, members.NewGameSessionProtectionPolicy = aws.String("e"), []string{"n"}, types.ProtectionPolicyNoProtection
	members.InstanceConnectionPortRange = &types.ConnectionPortRange{FromPort: aws.Int32(5000), ToPort: aws.Int32(5020)}
	members.GameSessionCreationLimitPolicy = &types.GameSessionCreationLimitPolicy{NewGameSessionsPerCreator: aws.Int32(3), PolicyPeriodInMinutes: aws.Int32(5)}
	members.LogConfiguration = &types.LogConfiguration{LogDestination: types.LogDestinationS3, S3BucketName: aws.String("b")}
	members.InstanceInboundPermissions = []types.IpPermission{{FromPort: aws.Int32(5001), ToPort: aws.Int32(5010), IpRange: aws.String("10.0.0.0/8"), Protocol: types.IpProtocolUdp}}
	id := created.ContainerFleet.FleetId
	node.Must(c.UpdateContainerFleet(ctx, &gamelift.UpdateContainerFleetInput{
		FleetId: id, Description: members.Description, MetricGroups: members.MetricGroups, NewGameSessionProtectionPolicy: members.NewGameSessionProtectionPolicy,
		InstanceConnectionPortRange: members.InstanceConnectionPortRange, GameSessionCreationLimitPolicy: members.GameSessionCreationLimitPolicy,
		LogConfiguration: members.LogConfiguration, InstanceInboundPermissionAuthorizations: members.InstanceInboundPermissions, InstanceInboundPermissionRevocations: closed,
	}))(t)
	read := node.Must(c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: id}))(t)
	shows(t, members, read.ContainerFleet, fleetComputed...)
}
