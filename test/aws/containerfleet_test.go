package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// fleetRole is the role of container fleets, which Muster stores only.
var fleetRole = aws.String("arn:aws:iam::000000000000:role/r")

// containerVersions creates a definition with versions 1 and 2, whose images need no
// registry, and returns their ARNs.
func containerVersions(t *testing.T, c *gamelift.Client, name string) (one, two *string) {
	t.Helper()
	first := node.Must(c.CreateContainerGroupDefinition(t.Context(), containerGroup(name, "registry.example/arena@"+imageDigest)))(t)
	second := node.Must(c.UpdateContainerGroupDefinition(t.Context(), &gamelift.UpdateContainerGroupDefinitionInput{Name: &name, TotalVcpuLimit: aws.Float64(1)}))(t)
	return first.ContainerGroupDefinition.ContainerGroupDefinitionArn, second.ContainerGroupDefinition.ContainerGroupDefinitionArn
}

// A container fleet and its deployments. No machine runs containers here, so the fleet does not
// become ACTIVE.
func TestContainerFleet(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), node.Client(node.InProcess(t, nil).URL())
	one, two := containerVersions(t, c, "rolling")
	f := node.Must(c.CreateContainerFleet(ctx, &gamelift.CreateContainerFleetInput{
		FleetRoleArn: fleetRole, Description: aws.String("d"), InstanceType: aws.String("c5.xlarge"), Locations: []types.LocationConfiguration{{Location: aws.String("eu-west-1")}}, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}))(t).ContainerFleet
	if f.Status != types.ContainerFleetStatusCreated || !strings.HasSuffix(*f.FleetArn, ":containerfleet/"+*f.FleetId) || f.DeploymentDetails != nil ||
		f.LogConfiguration.LogDestination != types.LogDestinationCloudwatch || f.BillingType != types.ContainerFleetBillingTypeOnDemand ||
		len(f.LocationAttributes) != 1 || *f.LocationAttributes[0].Location != "eu-west-1" || f.LocationAttributes[0].Status != types.ContainerFleetLocationStatusCreated || f.MaximumGameServerContainerGroupsPerInstance != nil {
		t.Errorf("created %+v", f)
	}
	if tags := node.Must(c.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: f.FleetArn}))(t).Tags; len(tags) != 1 {
		t.Errorf("tags %v", tags)
	}
	_, err := c.DescribeFleetDeployment(ctx, &gamelift.DescribeFleetDeploymentInput{FleetId: f.FleetId})
	refused[*types.NotFoundException](t, err, "no deployment yet")

	f = node.Must(c.UpdateContainerFleet(ctx, &gamelift.UpdateContainerFleetInput{FleetId: f.FleetArn, GameServerContainerGroupDefinitionName: one}))(t).ContainerFleet
	if f.Status != types.ContainerFleetStatusActivating || *f.GameServerContainerGroupDefinitionName != "rolling" || *f.GameServerContainerGroupDefinitionArn != *one ||
		*f.GameServerContainerGroupsPerInstance != 2 || *f.MaximumGameServerContainerGroupsPerInstance != 2 || *f.InstanceConnectionPortRange.FromPort != 4192 {
		t.Errorf("with a group: %+v", f)
	}
	first := f.DeploymentDetails.LatestDeploymentId
	f = node.Must(c.UpdateContainerFleet(ctx, &gamelift.UpdateContainerFleetInput{
		FleetId: f.FleetId, GameServerContainerGroupDefinitionName: two, GameServerContainerGroupsPerInstance: aws.Int32(1),
		DeploymentConfiguration: &types.DeploymentConfiguration{
			ProtectionStrategy: types.DeploymentProtectionStrategyIgnoreProtection, MinimumHealthyPercentage: aws.Int32(50), ImpairmentStrategy: types.DeploymentImpairmentStrategyMaintain,
		},
	}))(t).ContainerFleet
	if described := node.Must(c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: f.FleetArn}))(t).ContainerFleet; *described.DeploymentDetails.LatestDeploymentId != *f.DeploymentDetails.LatestDeploymentId || *described.GameServerContainerGroupDefinitionArn != *two {
		t.Errorf("described %+v", described)
	}
	d := node.Must(c.DescribeFleetDeployment(ctx, &gamelift.DescribeFleetDeploymentInput{FleetId: f.FleetId}))(t)
	begun := []types.DeploymentStatus{types.DeploymentStatusPending, types.DeploymentStatusInProgress} // there is no machine
	if !slices.Contains(begun, d.FleetDeployment.DeploymentStatus) || *d.FleetDeployment.GameServerBinaryArn != *two || d.FleetDeployment.RollbackGameServerBinaryArn != nil ||
		*d.FleetDeployment.DeploymentConfiguration.MinimumHealthyPercentage != 50 || !slices.Contains(begun, d.LocationalDeployments["us-east-1"].DeploymentStatus) {
		t.Errorf("latest deployment %+v", d)
	}
	if d := node.Must(c.DescribeFleetDeployment(ctx, &gamelift.DescribeFleetDeploymentInput{FleetId: f.FleetId, DeploymentId: first}))(t); d.FleetDeployment.DeploymentStatus != types.DeploymentStatusCancelled {
		t.Errorf("first deployment %+v", d.FleetDeployment)
	}
	listed := pages(t, gamelift.NewListFleetDeploymentsPaginator(c, &gamelift.ListFleetDeploymentsInput{FleetId: f.FleetId, Limit: aws.Int32(1)}), "FleetDeployments", "DeploymentId")
	if !slices.Equal(listed.items, []string{*f.DeploymentDetails.LatestDeploymentId, *first}) {
		t.Errorf("deployments %v, want the newest first", listed.items)
	}
	if all := node.Must(c.ListFleetDeployments(ctx, &gamelift.ListFleetDeploymentsInput{}))(t).FleetDeployments; len(all) != 2 {
		t.Errorf("deployments of all fleets: %v", all)
	}
	for definition, want := range map[*string]int{nil: 1, aws.String("rolling"): 1, two: 1, one: 0, aws.String("none"): 0} {
		if got := node.Must(c.ListContainerFleets(ctx, &gamelift.ListContainerFleetsInput{ContainerGroupDefinitionName: definition}))(t).ContainerFleets; len(got) != want {
			t.Errorf("%d fleets of %s, want %d", len(got), aws.ToString(definition), want)
		}
	}
	_, err = c.DeleteContainerGroupDefinition(ctx, &gamelift.DeleteContainerGroupDefinitionInput{Name: aws.String("rolling")})
	refused[*types.InvalidRequestException](t, err, *f.FleetId)
	node.Must(c.DeleteContainerFleet(ctx, &gamelift.DeleteContainerFleetInput{FleetId: f.FleetId}))(t)
	for {
		if _, err = c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: f.FleetId}); err != nil {
			break
		}
	}
	refused[*types.NotFoundException](t, err, *f.FleetId)
	node.Must(c.DeleteContainerGroupDefinition(ctx, &gamelift.DeleteContainerGroupDefinitionInput{Name: aws.String("rolling")}))(t)
}

// What the operations on fleets of all kinds do with a container fleet.
func TestContainerFleet_AsFleet(t *testing.T) {
	t.Parallel()
	c := node.Client(node.InProcess(t, nil).URL())
	ctx := t.Context()
	_, two := containerVersions(t, c, "arena")
	f := node.Must(c.CreateContainerFleet(ctx, &gamelift.CreateContainerFleetInput{
		FleetRoleArn: fleetRole, GameServerContainerGroupDefinitionName: aws.String("arena"), Locations: []types.LocationConfiguration{{Location: aws.String("eu-west-1")}},
		InstanceInboundPermissions: []types.IpPermission{{FromPort: aws.Int32(4192), ToPort: aws.Int32(4300), IpRange: aws.String("0.0.0.0/0"), Protocol: types.IpProtocolUdp}},
	}))(t).ContainerFleet
	if *f.GameServerContainerGroupDefinitionArn != *two || *f.InstanceType != "c5.large" {
		t.Errorf("created %+v, want the newest version and the smallest instance", f)
	}
	id := []string{*f.FleetId}
	if got := node.Must(c.ListFleets(ctx, &gamelift.ListFleetsInput{}))(t).FleetIds; len(got) != 0 {
		t.Errorf("ListFleets lists container fleets: %v", got)
	}
	if got := node.Must(c.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: id}))(t).FleetAttributes; len(got) != 0 {
		t.Errorf("attributes %v", got)
	}
	if got := node.Must(c.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: id}))(t).FleetCapacity; len(got) != 1 || *got[0].FleetArn != *f.FleetArn || *got[0].InstanceCounts.DESIRED != 1 {
		t.Errorf("capacity %v", got)
	}
	if got := node.Must(c.DescribeFleetUtilization(ctx, &gamelift.DescribeFleetUtilizationInput{FleetIds: id}))(t).FleetUtilization; len(got) != 1 || *got[0].FleetArn != *f.FleetArn {
		t.Errorf("utilization %v", got)
	}
	if got := node.Must(c.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: f.FleetId}))(t).InboundPermissions; len(got) != 1 {
		t.Errorf("permissions %v", got)
	}
	if got := node.Must(c.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: f.FleetArn}))(t).LocationAttributes; len(got) != 1 ||
		!slices.Contains(types.FleetStatus("").Values(), got[0].LocationState.Status) {
		t.Errorf("locations %v", got)
	}
	_, err := c.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: f.FleetId, Name: aws.String("n")})
	refused[*types.InvalidFleetStatusException](t, err, "must be ACTIVE")
	_, err = c.UpdateRuntimeConfiguration(ctx, &gamelift.UpdateRuntimeConfigurationInput{FleetId: f.FleetId, RuntimeConfiguration: &types.RuntimeConfiguration{}})
	refused[*types.InvalidRequestException](t, err, "UpdateContainerFleet")
	_, err = c.UpdateContainerFleet(ctx, &gamelift.UpdateContainerFleetInput{FleetId: f.FleetId})
	refused[*types.NotReadyException](t, err, "wait until")
	_, err = c.DescribeFleetDeployment(ctx, &gamelift.DescribeFleetDeploymentInput{FleetId: f.FleetId, DeploymentId: aws.String("deployment-none")})
	refused[*types.NotFoundException](t, err, "deployment-none")
	_, err = c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: f.FleetId})
	refused[*types.InvalidRequestException](t, err, "DeleteContainerFleet")
	wrong := strings.Replace(*f.FleetArn, ":containerfleet/", ":fleet/", 1)
	_, err = c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: &wrong})
	refused[*types.NotFoundException](t, err, wrong)
	_, err = c.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: f.FleetId, MaximumPlayerSessionCount: aws.Int32(2)})
	refused[*types.InvalidFleetStatusException](t, err, "must be ACTIVE")
	codes := names(node.Must(c.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: f.FleetArn}))(t).Events, "EventCode")
	for _, want := range []types.EventCode{types.EventCodeFleetCreated, types.EventCodeFleetStatePending, types.EventCodeLocationStatePending} {
		if !slices.Contains(codes, string(want)) {
			t.Errorf("no %s in %v", want, codes)
		}
	}
	alias := node.Must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: aws.String("a"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: f.FleetId}}))(t).Alias
	if to := node.Must(c.ResolveAlias(ctx, &gamelift.ResolveAliasInput{AliasId: alias.AliasId}))(t); *to.FleetArn != *f.FleetArn {
		t.Errorf("the alias leads to %s", *to.FleetArn)
	}
	queue := node.Must(c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("q"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: f.FleetArn}},
	}))(t).GameSessionQueue
	if *queue.Destinations[0].DestinationArn != *f.FleetArn {
		t.Errorf("queue %+v", queue)
	}
	node.Must(c.PutScalingPolicy(ctx, &gamelift.PutScalingPolicyInput{
		FleetId: f.FleetId, Name: aws.String("p"), PolicyType: types.PolicyTypeTargetBased, MetricName: types.MetricNamePercentAvailableGameSessions,
		TargetConfiguration: &types.TargetConfiguration{TargetValue: aws.Float64(10)},
	}))(t)
}

// A key whose scope is one container fleet reaches that one only; the kind in its pattern is
// containerfleet.
func TestScope_ContainerFleet(t *testing.T) {
	k := setupKeyed(t)
	ctx, c := t.Context(), k.Client
	_, two := containerVersions(t, c, "arena")
	var fleets []*types.ContainerFleet
	for range 2 {
		fleets = append(fleets, node.Must(c.CreateContainerFleet(ctx, &gamelift.CreateContainerFleetInput{FleetRoleArn: fleetRole, GameServerContainerGroupDefinitionName: two}))(t).ContainerFleet)
	}
	mine, other := fleets[0], fleets[1]
	scoped := k.as(k.key(t, client.KeySpec{Role: "operator", Scope: client.KeyScope{Resources: []string{*mine.FleetArn}}}))
	if got := node.Must(scoped.ListContainerFleets(ctx, &gamelift.ListContainerFleetsInput{}))(t).ContainerFleets; len(got) != 1 || *got[0].FleetId != *mine.FleetId {
		t.Errorf("container fleets in scope: %v", got)
	}
	if got := node.Must(scoped.ListFleetDeployments(ctx, &gamelift.ListFleetDeploymentsInput{}))(t).FleetDeployments; len(got) != 1 || *got[0].FleetId != *mine.FleetId {
		t.Errorf("deployments in scope: %v", got)
	}
	node.Must(scoped.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: mine.FleetId}))(t)
	node.Must(scoped.DescribeFleetDeployment(ctx, &gamelift.DescribeFleetDeploymentInput{FleetId: mine.FleetArn}))(t)
	all := k.as(k.key(t, client.KeySpec{Role: "operator", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:fleet/*"}}}))
	for who, key := range map[string]struct {
		c    *gamelift.Client
		with *types.ContainerFleet
	}{"another fleet": {scoped, other}, "fleets of the other kind": {all, mine}} {
		for what, err := range map[string]error{
			"describe": second(key.c.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: key.with.FleetId})),
			"update":   second(key.c.UpdateContainerFleet(ctx, &gamelift.UpdateContainerFleetInput{FleetId: key.with.FleetArn})),
			"delete":   second(key.c.DeleteContainerFleet(ctx, &gamelift.DeleteContainerFleetInput{FleetId: key.with.FleetId})),
			"create":   second(key.c.CreateContainerFleet(ctx, &gamelift.CreateContainerFleetInput{FleetRoleArn: fleetRole})),
			"list":     second(key.c.ListFleetDeployments(ctx, &gamelift.ListFleetDeploymentsInput{FleetId: key.with.FleetId})),
		} {
			if errorCode(err) != "AccessDeniedException" && errorCode(err) != "UnauthorizedException" {
				t.Errorf("%s, %s: %v", who, what, err)
			}
		}
	}
	node.Must(scoped.DeleteContainerFleet(ctx, &gamelift.DeleteContainerFleetInput{FleetId: mine.FleetId}))(t)
}
