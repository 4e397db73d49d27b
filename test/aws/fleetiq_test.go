package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// groupInput describes a game server group.
func groupInput(name string, change ...func(*gamelift.CreateGameServerGroupInput)) *gamelift.CreateGameServerGroupInput {
	in := &gamelift.CreateGameServerGroupInput{
		GameServerGroupName: &name, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), MinSize: aws.Int32(1), MaxSize: aws.Int32(2),
		LaunchTemplate:      &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String("lt-0123456789abcdef0")},
		InstanceDefinitions: []types.InstanceDefinition{{InstanceType: "c5.large"}, {InstanceType: "c5.xlarge", WeightedCapacity: aws.String("2")}},
	}
	for _, f := range change {
		f(in)
	}
	return in
}

// operatorOf returns the command line's client of a Muster that accepts any credentials.
func operatorOf(url string) *client.Client {
	return &client.Client{Endpoint: url, Credentials: client.Credentials{AccessKeyID: "AKIDANY", SecretAccessKey: "secret"}}
}

// What happens to a game server from its registration to the deletion of its group.
func TestGroups(t *testing.T) {
	t.Parallel()
	url := node.InProcess(t, nil).URL()
	ctx, c, host := t.Context(), node.Client(url), aws.String(node.Join(t, operatorOf(url), "machine", "us-east-1").InstanceID)
	g := node.Must(c.CreateGameServerGroup(ctx, groupInput("group", func(in *gamelift.CreateGameServerGroupInput) {
		in.AutoScalingPolicy = &types.GameServerGroupAutoScalingPolicy{
			EstimatedInstanceWarmup: aws.Int32(60), TargetTrackingConfiguration: &types.TargetTrackingConfiguration{TargetValue: aws.Float64(66)},
		}
		in.VpcSubnets = []string{"subnet-0123456789abcdef0"}
	})))(t).GameServerGroup
	group := g.GameServerGroupName
	if g.Status != types.GameServerGroupStatusActive || *g.GameServerGroupArn != "arn:aws:gamelift:us-east-1:000000000000:gameservergroup/group" ||
		g.BalancingStrategy != types.BalancingStrategySpotPreferred || !strings.Contains(*g.StatusReason, "no effect") || len(g.InstanceDefinitions) != 2 {
		t.Errorf("created %+v", g)
	}
	g = node.Must(c.UpdateGameServerGroup(ctx, &gamelift.UpdateGameServerGroupInput{GameServerGroupName: g.GameServerGroupArn, BalancingStrategy: types.BalancingStrategyOnDemandOnly}))(t).GameServerGroup
	if g.BalancingStrategy != types.BalancingStrategyOnDemandOnly || g.StatusReason != nil {
		t.Errorf("updated to %+v", g)
	}
	replace := []types.GameServerGroupAction{types.GameServerGroupActionReplaceInstanceTypes}
	if got := node.Must(c.SuspendGameServerGroup(ctx, &gamelift.SuspendGameServerGroupInput{GameServerGroupName: group, SuspendActions: replace}))(t).GameServerGroup.SuspendedActions; !slices.Equal(got, replace) {
		t.Errorf("suspended %v", got)
	}
	if got := node.Must(c.ResumeGameServerGroup(ctx, &gamelift.ResumeGameServerGroupInput{GameServerGroupName: group, ResumeActions: replace}))(t).GameServerGroup.SuspendedActions; len(got) != 0 {
		t.Errorf("suspended after it was resumed: %v", got)
	}
	if got := node.Must(c.ListGameServerGroups(ctx, &gamelift.ListGameServerGroupsInput{}))(t).GameServerGroups; len(got) != 1 || *got[0].GameServerGroupName != "group" {
		t.Errorf("listed %v", got)
	}
	instances := node.Must(c.DescribeGameServerInstances(ctx, &gamelift.DescribeGameServerInstancesInput{GameServerGroupName: group, InstanceIds: []string{*host}}))(t).GameServerInstances
	if len(instances) != 1 || *instances[0].InstanceId != *host || instances[0].InstanceStatus != types.GameServerInstanceStatusActive {
		t.Errorf("instances %v", instances)
	}

	server := aws.String("server-1")
	v := node.Must(c.RegisterGameServer(ctx, &gamelift.RegisterGameServerInput{
		GameServerGroupName: group, GameServerId: server, InstanceId: host, ConnectionInfo: aws.String("127.0.0.1:7777"), GameServerData: aws.String("a"),
	}))(t).GameServer
	if v.UtilizationStatus != types.GameServerUtilizationStatusAvailable || v.ClaimStatus != "" || *v.InstanceId != *host || v.LastClaimTime != nil {
		t.Errorf("registered %+v", v)
	}
	v = node.Must(c.ClaimGameServer(ctx, &gamelift.ClaimGameServerInput{
		GameServerGroupName: group, GameServerData: aws.String("b"), FilterOption: &types.ClaimFilterOption{InstanceStatuses: []types.FilterInstanceStatus{types.FilterInstanceStatusActive}},
	}))(t).GameServer
	if v.ClaimStatus != types.GameServerClaimStatusClaimed || *v.GameServerId != *server || *v.ConnectionInfo != "127.0.0.1:7777" || *v.GameServerData != "b" || v.LastClaimTime == nil {
		t.Errorf("claimed %+v", v)
	}
	v = node.Must(c.UpdateGameServer(ctx, &gamelift.UpdateGameServerInput{
		GameServerGroupName: group, GameServerId: server, UtilizationStatus: types.GameServerUtilizationStatusUtilized, HealthCheck: types.GameServerHealthCheckHealthy,
	}))(t).GameServer
	if v.ClaimStatus != "" || v.UtilizationStatus != types.GameServerUtilizationStatusUtilized {
		t.Errorf("utilized %+v", v)
	}
	v = node.Must(c.DescribeGameServer(ctx, &gamelift.DescribeGameServerInput{GameServerGroupName: group, GameServerId: server}))(t).GameServer
	if v.LastHealthCheckTime.Before(*v.RegistrationTime) || *v.GameServerData != "b" {
		t.Errorf("described %+v", v)
	}
	if got := node.Must(c.ListGameServers(ctx, &gamelift.ListGameServersInput{GameServerGroupName: group}))(t).GameServers; len(got) != 1 {
		t.Errorf("listed %v", got)
	}
	deleted := node.Must(c.DeleteGameServerGroup(ctx, &gamelift.DeleteGameServerGroupInput{GameServerGroupName: group}))(t).GameServerGroup
	if deleted.Status != types.GameServerGroupStatusDeleteScheduled {
		t.Errorf("deleted: %+v", deleted)
	}
	if g := node.Must(c.DescribeGameServerGroup(ctx, &gamelift.DescribeGameServerGroupInput{GameServerGroupName: group}))(t).GameServerGroup; g.Status != types.GameServerGroupStatusDeleteScheduled {
		t.Errorf("with a game: %+v", g)
	}
	node.Must(c.DeregisterGameServer(ctx, &gamelift.DeregisterGameServerInput{GameServerGroupName: group, GameServerId: server}))(t)
}

// The lists of game servers and instances come in pages, in order.
func TestGroups_Pages(t *testing.T) {
	b := setup(t)
	ctx, c, group := t.Context(), b.Client, aws.String("group")
	node.Must(c.CreateGameServerGroup(ctx, groupInput("group")))(t)
	var servers, hosts []string
	for i := range 5 {
		host := node.Join(t, operatorOf(b.app.URL()), fmt.Sprintf("i-%017d", i), "us-east-1").InstanceID
		id := fmt.Sprint("server-", (i*3)%5)
		node.Must(c.RegisterGameServer(ctx, &gamelift.RegisterGameServerInput{GameServerGroupName: group, GameServerId: &id, InstanceId: &host}))(t)
		servers, hosts = append(servers, id), append(hosts, host)
	}
	instances := pages(t, gamelift.NewDescribeGameServerInstancesPaginator(c, &gamelift.DescribeGameServerInstancesInput{GameServerGroupName: group, Limit: aws.Int32(2)}),
		"GameServerInstances", "InstanceId")
	if !slices.Equal(instances.items, hosts) || !slices.Equal(instances.sizes, []int{2, 2, 1}) {
		t.Errorf("instances %v in pages of %v", instances.items, instances.sizes)
	}
	for _, order := range []types.SortOrder{"", types.SortOrderAscending, types.SortOrderDescending} {
		if order == types.SortOrderDescending {
			slices.Reverse(servers)
		}
		got := pages(t, gamelift.NewListGameServersPaginator(c, &gamelift.ListGameServersInput{GameServerGroupName: group, SortOrder: order, Limit: aws.Int32(3)}),
			"GameServers", "GameServerId")
		if !slices.Equal(got.items, servers) || !slices.Equal(got.sizes, []int{3, 2}) {
			t.Errorf("%q: game servers %v in pages of %v", order, got.items, got.sizes)
		}
	}
	first := node.Must(c.ListGameServers(ctx, &gamelift.ListGameServersInput{GameServerGroupName: group, Limit: aws.Int32(1)}))(t)
	_, err := c.ListGameServers(ctx, &gamelift.ListGameServersInput{GameServerGroupName: group, SortOrder: types.SortOrderDescending, NextToken: first.NextToken})
	refused[*types.InvalidRequestException](t, err, "NextToken")
}

// SAFE_DELETE waits for games, FORCE_DELETE does not; the events say what happened.
func TestGroups_Delete(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	host := aws.String(node.Join(t, operatorOf(b.app.URL()), "machine", "us-east-1").InstanceID)
	for _, how := range types.GameServerGroupDeleteOption("").Values() {
		group, server := aws.String("group-"+string(how[:4])), aws.String("server-"+string(how[:4]))
		node.Must(c.CreateGameServerGroup(ctx, groupInput(*group)))(t)
		node.Must(c.RegisterGameServer(ctx, &gamelift.RegisterGameServerInput{GameServerGroupName: group, GameServerId: server, InstanceId: host}))(t)
		node.Must(c.UpdateGameServer(ctx, &gamelift.UpdateGameServerInput{GameServerGroupName: group, GameServerId: server, UtilizationStatus: types.GameServerUtilizationStatusUtilized}))(t)
		node.Must(c.DeleteGameServerGroup(ctx, &gamelift.DeleteGameServerGroupInput{GameServerGroupName: group, DeleteOption: how}))(t)
		if how != types.GameServerGroupDeleteOptionForceDelete {
			_, err := c.DeleteGameServerGroup(ctx, &gamelift.DeleteGameServerGroupInput{GameServerGroupName: group})
			refused[*types.InvalidRequestException](t, err, "DELETE_SCHEDULED")
			node.Must(c.DeregisterGameServer(ctx, &gamelift.DeregisterGameServerInput{GameServerGroupName: group, GameServerId: server}))(t)
		}
		b.events.Until(t, "the end of "+*group, func(e node.Event) bool {
			return e.Code == "GAME_SERVER_GROUP_DELETED" && strings.HasSuffix(e.Resource, "/"+*group)
		})
		_, err := c.DescribeGameServerGroup(ctx, &gamelift.DescribeGameServerGroupInput{GameServerGroupName: group})
		refused[*types.NotFoundException](t, err, *group)
	}
}

// A key whose scope is one group in one location uses that group's instances there; a game
// server's key does what a game server needs.
func TestGroups_Scope(t *testing.T) {
	k := setupKeyed(t)
	ctx, c := t.Context(), k.Client
	here := node.Join(t, k.admin, "here", "us-east-1").InstanceID
	there := node.Join(t, k.admin, "there", k.Location).InstanceID
	for _, name := range []string{"ours", "theirs"} {
		node.Must(c.CreateGameServerGroup(ctx, groupInput(name)))(t)
	}
	ours, theirs, server := aws.String("ours"), aws.String("theirs"), aws.String("server-1")
	mine := k.as(k.key(t, client.KeySpec{Role: "game-server", Scope: client.KeyScope{Resources: []string{
		"arn:aws:gamelift:*:*:gameservergroup/ours", "arn:aws:gamelift:*:*:location/us-east-1",
	}}}))
	node.Must(mine.RegisterGameServer(ctx, &gamelift.RegisterGameServerInput{GameServerGroupName: ours, GameServerId: server, InstanceId: &here}))(t)
	node.Must(mine.UpdateGameServer(ctx, &gamelift.UpdateGameServerInput{GameServerGroupName: ours, GameServerId: server, HealthCheck: types.GameServerHealthCheckHealthy}))(t)
	if got := node.Must(mine.DescribeGameServerInstances(ctx, &gamelift.DescribeGameServerInstancesInput{GameServerGroupName: ours}))(t).GameServerInstances; len(got) != 1 || *got[0].InstanceId != here {
		t.Errorf("instances %v, want %s alone", got, here)
	}
	operator := k.as(k.key(t, client.KeySpec{Role: "operator", Scope: client.KeyScope{Resources: []string{
		"arn:aws:gamelift:*:*:gameservergroup/ours", "arn:aws:gamelift:*:*:location/us-east-1",
	}}}))
	far := aws.String("far")
	node.Must(c.RegisterGameServer(ctx, &gamelift.RegisterGameServerInput{GameServerGroupName: ours, GameServerId: far, InstanceId: &there}))(t)
	if got := node.Must(operator.ListGameServers(ctx, &gamelift.ListGameServersInput{GameServerGroupName: ours}))(t).GameServers; len(got) != 1 || *got[0].GameServerId != *server {
		t.Errorf("game servers %v, want %s alone", got, *server)
	}
	if got := node.Must(operator.ClaimGameServer(ctx, &gamelift.ClaimGameServerInput{GameServerGroupName: ours}))(t).GameServer; *got.GameServerId != *server {
		t.Errorf("claimed %s, want %s", *got.GameServerId, *server)
	}
	_, err := operator.ClaimGameServer(ctx, &gamelift.ClaimGameServerInput{GameServerGroupName: ours})
	refused[*types.OutOfCapacityException](t, err, "no game server that can be claimed")
	before := k.app.Digest()
	for what, err := range map[string]error{
		"a claim in another location":          second(operator.ClaimGameServer(ctx, &gamelift.ClaimGameServerInput{GameServerGroupName: ours, GameServerId: far})),
		"an update in another location":        second(operator.UpdateGameServer(ctx, &gamelift.UpdateGameServerInput{GameServerGroupName: ours, GameServerId: far, UtilizationStatus: types.GameServerUtilizationStatusUtilized})),
		"a deregistration in another location": second(operator.DeregisterGameServer(ctx, &gamelift.DeregisterGameServerInput{GameServerGroupName: ours, GameServerId: far})),
		"a description from another location":  second(operator.DescribeGameServer(ctx, &gamelift.DescribeGameServerInput{GameServerGroupName: ours, GameServerId: far})),
		"another group":                        second(mine.RegisterGameServer(ctx, &gamelift.RegisterGameServerInput{GameServerGroupName: theirs, GameServerId: aws.String("server-2"), InstanceId: &here})),
		"another location":                     second(mine.RegisterGameServer(ctx, &gamelift.RegisterGameServerInput{GameServerGroupName: ours, GameServerId: aws.String("server-2"), InstanceId: &there})),
		"a claim":                              second(mine.ClaimGameServer(ctx, &gamelift.ClaimGameServerInput{GameServerGroupName: ours})),
		"a deletion":                           second(mine.DeleteGameServerGroup(ctx, &gamelift.DeleteGameServerGroupInput{GameServerGroupName: ours})),
	} {
		if errorCode(err) != "AccessDeniedException" && errorCode(err) != "UnauthorizedException" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if k.app.Digest() != before {
		t.Error("a refused call changed the state")
	}
	node.Must(mine.DeregisterGameServer(ctx, &gamelift.DeregisterGameServerInput{GameServerGroupName: ours, GameServerId: server}))(t)
}
