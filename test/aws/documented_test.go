package aws

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/test/node"
)

// The values that Terraform sends for members that are not set count as not set, and
// are read back as sent, so that its next plan is empty.
func TestDocumented_NotSet(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	for name, given := range map[string]*int32{"absent": nil, "zero": aws.Int32(0), "shortest": aws.Int32(10), "longest": aws.Int32(600)} {
		q := node.Must(c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: &name, TimeoutInSeconds: given}))(t).GameSessionQueue
		if q.TimeoutInSeconds == nil || *q.TimeoutInSeconds != aws.ToInt32(given) {
			t.Errorf("%s: the queue shows a timeout of %v", name, q.TimeoutInSeconds)
		}
	}
	q := node.Must(c.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: aws.String("longest"), TimeoutInSeconds: aws.Int32(0)}))(t)
	if *q.GameSessionQueue.TimeoutInSeconds != 0 {
		t.Errorf("a timeout that was taken back shows as %d", *q.GameSessionQueue.TimeoutInSeconds)
	}

	a := node.Must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{
		Name: aws.String("a"), Description: aws.String("d"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: aws.String("m")},
	}))(t).Alias
	for _, description := range []string{"", "again", ""} {
		got := node.Must(c.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: a.AliasId, Name: aws.String("b"), Description: &description}))(t).Alias
		if aws.ToString(got.Description) != description || *got.Name != "b" {
			t.Errorf("the alias is %s with description %q, want %q", *got.Name, aws.ToString(got.Description), description)
		}
		node.Must(c.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: &b.FleetID, Name: aws.String("b"), Description: &description}))(t)
		f := node.Must(c.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{b.FleetID}}))(t).FleetAttributes[0]
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
	host := node.Must(c.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: &b.FleetID, ComputeName: &b.ComputeName}))(t).Compute
	for what, name := range map[string]*string{"game session": g.DnsName, "player session": p.DnsName, "compute": host.DnsName} {
		if aws.ToString(name) != "127.0.0.1" {
			t.Errorf("the %s of a compute without a name has DnsName %q", what, aws.ToString(name))
		}
	}
	for _, l := range node.Must(c.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &b.FleetID}))(t).LocationAttributes {
		if l.LocationState.PlayerGatewayStatus != types.PlayerGatewayStatusDisabled {
			t.Errorf("location %s has a gateway that is %q", *l.LocationState.Location, l.LocationState.PlayerGatewayStatus)
		}
	}
	for _, account := range []string{"", "000000000000"} { // both are this server's
		node.Must(c.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: aws.String("arn:aws:gamelift:us-east-1:" + account + ":fleet/" + b.FleetID)}))(t)
	}

	f := node.Must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
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

	other := aws.String("custom-second-home")
	node.Must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: other}))(t)
	add := &gamelift.CreateFleetLocationsInput{FleetId: &b.FleetID, Locations: []types.LocationConfiguration{{Location: other}}}
	if got := node.Must(c.CreateFleetLocations(ctx, add))(t).LocationStates; len(got) != 1 || *got[0].Location != *other {
		t.Errorf("added %v", got)
	}
	gone := node.Must(c.DeleteFleetLocations(ctx, &gamelift.DeleteFleetLocationsInput{FleetId: &b.FleetID, Locations: []string{*other}}))(t).LocationStates
	if len(gone) != 1 || gone[0].Status != types.FleetStatusDeleting {
		t.Errorf("removed %v", gone)
	}

	node.Must(c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: f.FleetAttributes.FleetId}))(t)
	b.events.Code(t, "FLEET_DELETED")
	if r := node.Must(c.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: f.FleetAttributes.FleetId}))(t); r.RuntimeConfiguration != nil {
		t.Errorf("a deleted fleet runs %+v", r.RuntimeConfiguration)
	}
}

// Tools that list all resources get AWS's Regions, and empty lists of the resources that
// there are none of.
func TestDocumented_Inventory(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	regions := node.Must(c.ListLocations(ctx, &gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterAws}}))(t).Locations
	named := map[string]bool{}
	for _, l := range regions {
		named[*l.LocationName] = true
	}
	if !named["us-east-1"] || !named["eu-west-1"] || named[b.Location] {
		t.Errorf("AWS's locations are %v", named)
	}
	if got := node.Must(c.ListContainerFleets(ctx, &gamelift.ListContainerFleetsInput{}))(t).ContainerFleets; len(got) != 0 {
		t.Errorf("container fleets %v", got)
	}
	if got := node.Must(c.ListGameServerGroups(ctx, &gamelift.ListGameServerGroupsInput{}))(t).GameServerGroups; len(got) != 0 {
		t.Errorf("game server groups %v", got)
	}
	node.Must(c.DescribeVpcPeeringAuthorizations(ctx, &gamelift.DescribeVpcPeeringAuthorizationsInput{}))(t)
	node.Must(c.DescribeVpcPeeringConnections(ctx, &gamelift.DescribeVpcPeeringConnectionsInput{}))(t)
}

// ListLocations returns the ping beacon of locations where Muster has one, and none for
// others.
func TestDocumented_PingBeacons(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(o *app.Options) { o.Beacon = true })
	found := map[string]*types.PingBeacon{}
	for _, l := range node.Must(b.Client.ListLocations(t.Context(), &gamelift.ListLocationsInput{}))(t).Locations {
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

// Operations that are refused by design return a modelled exception that says why.
func TestRefusedByDesign(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	_, err := c.CreateVpcPeeringAuthorization(ctx, &gamelift.CreateVpcPeeringAuthorizationInput{GameLiftAwsAccountId: aws.String("1"), PeerVpcId: aws.String("vpc-1")})
	refused[*types.InvalidRequestException](t, err, "own network")
	_, err = c.CreateVpcPeeringConnection(ctx, &gamelift.CreateVpcPeeringConnectionInput{FleetId: &b.FleetID, PeerVpcAwsAccountId: aws.String("1"), PeerVpcId: aws.String("vpc-1")})
	refused[*types.InvalidRequestException](t, err, "own network")
	_, err = c.DeleteVpcPeeringAuthorization(ctx, &gamelift.DeleteVpcPeeringAuthorizationInput{GameLiftAwsAccountId: aws.String("1"), PeerVpcId: aws.String("vpc-1")})
	refused[*types.NotFoundException](t, err, "own network")
	_, err = c.DeleteVpcPeeringConnection(ctx, &gamelift.DeleteVpcPeeringConnectionInput{FleetId: &b.FleetID, VpcPeeringConnectionId: aws.String("pcx-1")})
	refused[*types.NotFoundException](t, err, "own network")
}
