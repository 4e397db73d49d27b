package aws

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/test/node"
)

// A request that breaks a rule of the API's documentation which its model does not have
// is refused with InvalidRequestException, and changes nothing.
func TestDocumented_Refusals(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	b.queue(t)
	tickets := strings.Split("abcdefghijk", "")
	refuse[*types.InvalidRequestException](t, b, []refusal{
		{"a rule set without a name", func() error {
			_, err := c.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String(""), RuleSetBody: aws.String(duel)})
			return err
		}, "'name'"},
		{"a configuration without a name", func() error {
			_, err := c.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
				Name: aws.String(""), RuleSetName: aws.String("none"), AcceptanceRequired: aws.Bool(false), RequestTimeoutSeconds: aws.Int32(60),
			})
			return err
		}, "'name'"},
		{"a desired player without an id", func() error {
			_, err := c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
				PlacementId: aws.String("p"), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2),
				DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerData: aws.String("x")}},
			})
			return err
		}, "'desiredPlayerSessions.1.member.playerId'"},
		{"eleven tickets", func() error {
			_, err := c.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: tickets})
			return err
		}, "less than or equal to 10"},
		{"nobody accepts", func() error {
			_, err := c.AcceptMatch(ctx, &gamelift.AcceptMatchInput{TicketId: aws.String("a"), PlayerIds: []string{}, AcceptanceType: types.AcceptanceTypeAccept})
			return err
		}, "'playerIds'"},
		{"a stored build without a role", func() error {
			_, err := c.CreateBuild(ctx, &gamelift.CreateBuildInput{
				OperatingSystem: types.OperatingSystemAmazonLinux2023, StorageLocation: &types.S3Location{Bucket: aws.String("b"), Key: aws.String("k")},
			})
			return err
		}, "'storageLocation.roleArn'"},
		{"a compute with a name only", func() error {
			_, err := c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &b.FleetID, ComputeName: aws.String("new"), Location: &b.Location, DnsName: aws.String("host.test")})
			return err
		}, "IpAddress"},
		{"a compute with half an address", func() error {
			_, err := c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &b.FleetID, ComputeName: aws.String("new"), Location: &b.Location, IpAddress: aws.String("1.2.3")})
			return err
		}, "1.2.3"},
	})
	for _, timeout := range []int32{1, 9, 601, 100_000} {
		refuse[*types.InvalidRequestException](t, b, []refusal{
			{fmt.Sprintf("create a queue with a timeout of %d s", timeout), func() error {
				_, err := c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: aws.String("new"), TimeoutInSeconds: &timeout})
				return err
			}, "TimeoutInSeconds"},
			{fmt.Sprintf("update a queue with a timeout of %d s", timeout), func() error {
				_, err := c.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: aws.String("q"), TimeoutInSeconds: &timeout})
				return err
			}, "TimeoutInSeconds"},
		})
	}
}

// The values that Terraform sends for members that are not set count as not set, and
// are read back as sent, so that its next plan is empty.
func TestDocumented_NotSet(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	for name, given := range map[string]*int32{"absent": nil, "zero": aws.Int32(0), "shortest": aws.Int32(10), "longest": aws.Int32(600)} {
		q := must(c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: &name, TimeoutInSeconds: given}))(t).GameSessionQueue
		if q.TimeoutInSeconds == nil || *q.TimeoutInSeconds != aws.ToInt32(given) {
			t.Errorf("%s: the queue shows a timeout of %v", name, q.TimeoutInSeconds)
		}
	}
	q := must(c.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: aws.String("longest"), TimeoutInSeconds: aws.Int32(0)}))(t)
	if *q.GameSessionQueue.TimeoutInSeconds != 0 {
		t.Errorf("a timeout that was taken back shows as %d", *q.GameSessionQueue.TimeoutInSeconds)
	}

	a := must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{
		Name: aws.String("a"), Description: aws.String("d"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: aws.String("m")},
	}))(t).Alias
	for _, description := range []string{"", "again", ""} {
		got := must(c.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: a.AliasId, Name: aws.String("b"), Description: &description}))(t).Alias
		if aws.ToString(got.Description) != description || *got.Name != "b" {
			t.Errorf("the alias is %s with description %q, want %q", *got.Name, aws.ToString(got.Description), description)
		}
		must(c.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: &b.FleetID, Name: aws.String("b"), Description: &description}))(t)
		f := must(c.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{b.FleetID}}))(t).FleetAttributes[0]
		if aws.ToString(f.Description) != description || *f.Name != "b" {
			t.Errorf("the fleet is %s with description %q, want %q", *f.Name, aws.ToString(f.Description), description)
		}
	}
}

// Responses have the members that AWS's samples and plugins read: an address, a DNS
// name, and that there is no player gateway.
func TestDocumented_Answers(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	g := b.active(t, b.Server(t), 3)
	p := b.reserve(t, g, "ana")
	host := must(c.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: &b.FleetID, ComputeName: &b.ComputeName}))(t).Compute
	for what, name := range map[string]*string{"game session": g.DnsName, "player session": p.DnsName, "compute": host.DnsName} {
		if aws.ToString(name) != "127.0.0.1" {
			t.Errorf("the %s of a compute without a name has DnsName %q", what, aws.ToString(name))
		}
	}
	_, err := c.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: &b.FleetID, Location: aws.String("custom-elsewhere")})
	refused[*types.NotFoundException](t, err, "custom-elsewhere")

	f := must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("f"), ComputeType: types.ComputeTypeAnywhere, FleetType: types.FleetTypeOnDemand, PlayerGatewayMode: types.PlayerGatewayModeEnabled,
		Locations: []types.LocationConfiguration{{Location: &b.Location}},
	}))(t)
	if a := f.FleetAttributes; a.FleetType != types.FleetTypeOnDemand || a.PlayerGatewayMode != types.PlayerGatewayModeEnabled {
		t.Errorf("the fleet shows type %q and gateway %q", a.FleetType, a.PlayerGatewayMode)
	}
	for _, l := range f.LocationStates {
		if l.PlayerGatewayStatus != types.PlayerGatewayStatusDisabled {
			t.Errorf("location %s has a gateway that is %q", *l.Location, l.PlayerGatewayStatus)
		}
	}
	_, err = c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("f"), ComputeType: types.ComputeTypeAnywhere, PlayerGatewayMode: types.PlayerGatewayModeRequired,
		Locations: []types.LocationConfiguration{{Location: &b.Location}},
	})
	refused[*types.InvalidRequestException](t, err, "PlayerGatewayMode")

	other := aws.String("custom-second-home")
	must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: other}))(t)
	add := &gamelift.CreateFleetLocationsInput{FleetId: &b.FleetID, Locations: []types.LocationConfiguration{{Location: other}}}
	if got := must(c.CreateFleetLocations(ctx, add))(t).LocationStates; len(got) != 1 || *got[0].Location != *other {
		t.Errorf("added %v", got)
	}
	_, err = c.CreateFleetLocations(ctx, add)
	refused[*types.InvalidRequestException](t, err, "Locations.1.Location")
	gone := must(c.DeleteFleetLocations(ctx, &gamelift.DeleteFleetLocationsInput{FleetId: &b.FleetID, Locations: []string{*other}}))(t).LocationStates
	if len(gone) != 1 || gone[0].Status != types.FleetStatusDeleting {
		t.Errorf("removed %v", gone)
	}

	must(c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: f.FleetAttributes.FleetId}))(t)
	b.events.Code(t, "FLEET_DELETED")
	if r := must(c.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: f.FleetAttributes.FleetId}))(t); r.RuntimeConfiguration != nil {
		t.Errorf("a deleted fleet runs %+v", r.RuntimeConfiguration)
	}
}

// An ARN with another Region or account names no resource of this server.
func TestDocumented_ForeignARNs(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	for _, other := range []string{"arn:aws:gamelift:eu-west-1:000000000000:fleet/", "arn:aws:gamelift:us-east-1:999999999999:fleet/"} {
		id := other + b.FleetID
		_, err := c.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: &id})
		refused[*types.NotFoundException](t, err, other)
		_, err = c.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: &id})
		refused[*types.NotFoundException](t, err, other)
		_, err = c.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: &id})
		refused[*types.NotFoundException](t, err, other)
	}
	for _, account := range []string{"", "000000000000"} {
		id := "arn:aws:gamelift:us-east-1:" + account + ":fleet/" + b.FleetID
		must(c.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: &id}))(t)
	}
}

// Tools that list all resources get AWS's Regions, and empty lists of the resources that
// there are none of.
func TestDocumented_Inventory(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	regions := must(c.ListLocations(ctx, &gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterAws}}))(t).Locations
	named := map[string]bool{}
	for _, l := range regions {
		named[*l.LocationName] = true
	}
	if !named["us-east-1"] || !named["eu-west-1"] || named[b.Location] {
		t.Errorf("AWS's locations are %v", named)
	}
	if got := must(c.ListContainerFleets(ctx, &gamelift.ListContainerFleetsInput{}))(t).ContainerFleets; len(got) != 0 {
		t.Errorf("container fleets %v", got)
	}
	if got := must(c.ListGameServerGroups(ctx, &gamelift.ListGameServerGroupsInput{}))(t).GameServerGroups; len(got) != 0 {
		t.Errorf("game server groups %v", got)
	}
	_, err := c.DescribeVpcPeeringConnections(ctx, &gamelift.DescribeVpcPeeringConnectionsInput{FleetId: aws.String("fleet-1")})
	refused[*types.NotFoundException](t, err, "fleet-1")
	_, err = c.DeleteGameServerGroup(ctx, &gamelift.DeleteGameServerGroupInput{GameServerGroupName: aws.String("g")})
	refused[*types.NotFoundException](t, err, "game server group g does not exist")
}

// The members about locations and player gateways are set in every response that has
// them.
func TestDocumented_Gateways(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	for _, l := range must(c.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &b.FleetID}))(t).LocationAttributes {
		if l.LocationState.PlayerGatewayStatus != types.PlayerGatewayStatusDisabled {
			t.Errorf("location %s has a gateway that is %q", *l.LocationState.Location, l.LocationState.PlayerGatewayStatus)
		}
	}
	b.queue(t)
	b.Server(t)
	placed := must(c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
		PlacementId: aws.String("p"), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2),
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("ana")}},
	}))(t).GameSessionPlacement
	if placed.PlayerGatewayStatus != types.PlayerGatewayStatusDisabled {
		t.Errorf("a new placement has a gateway that is %q", placed.PlayerGatewayStatus)
	}
	b.events.Until(t, "the placement being fulfilled", func(node.Event) bool {
		placed = must(c.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: aws.String("p")}))(t).GameSessionPlacement
		return placed.Status == types.GameSessionPlacementStateFulfilled
	})
	if placed.PlayerGatewayStatus != types.PlayerGatewayStatusDisabled || aws.ToString(placed.DnsName) != "127.0.0.1" {
		t.Errorf("a placement has the gateway %q and the DnsName %q", placed.PlayerGatewayStatus, aws.ToString(placed.DnsName))
	}
}

// A build or script whose object does not exist is refused with the message on which
// Terraform's provider retries, since the object may still be on its way.
func TestDocumented_ObjectMissing(t *testing.T) {
	b := setup(t)
	at := &types.S3Location{Bucket: aws.String("games"), Key: aws.String("later.zip"), RoleArn: aws.String("arn:aws:iam::000000000000:role/r")}
	refuse[*types.InvalidRequestException](t, b, []refusal{
		{"build", func() error {
			_, err := b.Client.CreateBuild(t.Context(), &gamelift.CreateBuildInput{OperatingSystem: types.OperatingSystemAmazonLinux2023, StorageLocation: at})
			return err
		}, "Provided build is not accessible."},
		{"script", func() error {
			_, err := b.Client.CreateScript(t.Context(), &gamelift.CreateScriptInput{StorageLocation: at})
			return err
		}, "Provided resource is not accessible."},
	})
}

// A managed fleet whose capacity was never configured has the documented default. For a
// deleted fleet some operations return an empty result, while an unknown one is not
// found.
func TestDocumented_Managed(t *testing.T) {
	b := setup(t)
	ctx, c, url := t.Context(), b.Client, b.app.URL()
	build := must(c.CreateBuild(ctx, &gamelift.CreateBuildInput{OperatingSystem: types.OperatingSystemAmazonLinux2023}))(t)
	send(t, http.MethodPut, url+"/"+*build.StorageLocation.Bucket+"/"+*build.StorageLocation.Key, zipped(t, "server", "1"), http.StatusOK)
	b.events.Code(t, "BUILD_READY")
	fleet := must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("managed"), BuildId: build.Build.BuildId, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{LaunchPath: aws.String("/local/game/server"), ConcurrentExecutions: aws.Int32(1)}}},
	}))(t).FleetAttributes.FleetId
	all := must(c.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{*fleet}}))(t).FleetCapacity
	home := must(c.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: fleet, Location: aws.String("us-east-1")}))(t).FleetCapacity
	for _, shown := range append(all, *home) {
		if m := shown.ManagedCapacityConfiguration; m == nil || m.ZeroCapacityStrategy != types.ZeroCapacityStrategyManual || m.ScaleInAfterInactivityMinutes != nil {
			t.Errorf("capacity that nobody configured is %+v", m)
		}
	}
	must(c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: fleet}))(t)
	b.events.Code(t, "FLEET_DELETED")
	ports := must(c.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: fleet}))(t)
	if len(ports.InboundPermissions) != 0 || ports.FleetId != nil {
		t.Errorf("a deleted fleet has the ports %+v", ports)
	}
	if r := must(c.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: fleet}))(t); r.RuntimeConfiguration != nil {
		t.Errorf("a deleted fleet runs %+v", r.RuntimeConfiguration)
	}
	_, err := c.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: aws.String("fleet-unknown")})
	refused[*types.NotFoundException](t, err, "fleet-unknown")
}

// ListLocations returns the ping beacon of locations where Muster has one, and none for
// others.
func TestDocumented_PingBeacons(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(o *app.Options) { o.Beacon = true })
	found := map[string]*types.PingBeacon{}
	for _, l := range must(b.Client.ListLocations(t.Context(), &gamelift.ListLocationsInput{}))(t).Locations {
		found[*l.LocationName] = l.PingBeacon
	}
	at := found["us-east-1"]
	if at == nil || at.UDPEndpoint == nil {
		t.Fatalf("the home Region has the beacon %+v", at)
	}
	endpoint := net.JoinHostPort(*at.UDPEndpoint.Domain, strconv.Itoa(int(*at.UDPEndpoint.Port)))
	measured, err := beacon.Measure(t.Context(), []beacon.Endpoint{{Location: "us-east-1", UDP: endpoint}},
		beacon.MeasureOptions{Interval: 100 * time.Millisecond, Timeout: 10 * time.Second, Deadline: time.Minute})
	if err != nil || measured[0].Err != nil || measured[0].RTT <= 0 {
		t.Errorf("pings to %s: %+v, %v", endpoint, measured, err)
	}
	if elsewhere, known := found["eu-west-1"]; !known || elsewhere != nil {
		t.Errorf("a Region where Muster is not: %t, with the beacon %+v", known, elsewhere)
	}
}
