package aws

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	shapes "github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/test/node"
)

// recorder is an HTTP client that records which operations succeeded.
type recorder struct{ succeeded map[string]bool }

// Do implements the SDK's HTTP client.
func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultClient.Do(request)
	if err == nil && response.StatusCode == http.StatusOK {
		r.succeeded[path.Base(request.URL.Path)] = true
	}
	return response, err
}

// needsHost are operations that require an ACTIVE managed fleet, and so a machine that
// starts game servers: test/awscli/fleet.sh, test/containers and test/scenario call them.
var needsHost = []string{"DescribeContainerGroupPortMappings", "GetComputeAccess", "GetInstanceAccess", "StartFleetActions", "StopFleetActions", "UpdateFleetCapacity", "UpdateFleetPortSettings"}

// refusedByDesign are operations that Muster implements but always refuses.
var refusedByDesign = []string{
	"CreateVpcPeeringAuthorization", "CreateVpcPeeringConnection", "DeleteVpcPeeringAuthorization", "DeleteVpcPeeringConnection",
}

// Every operation that Muster claims to implement succeeds here once, decoded by AWS's
// SDK; and Muster has a response to all 120 operations of the API.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, nil)
	r := &recorder{map[string]bool{}}
	c := node.Client(a.URL(), func(o *gamelift.Options) { o.HTTPClient = r })
	want := slices.DeleteFunc(answered(t, a.URL()), func(op string) bool { return slices.Contains(refusedByDesign, op) || slices.Contains(needsHost, op) })
	tryAll(t, c)
	tryBuilds(t, a.URL(), c)
	tryContainerGroups(t, c)
	tryContainerFleets(t, c)
	if slices.Contains(want, "StartGameSessionPlacement") {
		tryPlacement(t, c)
	}
	b := recorded(t, a.URL(), c)
	tryMatchmaking(t, b)
	tryManaged(t, a.URL(), b)
	tryGroups(t, a.URL(), c)
	got := slices.Sorted(maps.Keys(r.succeeded))
	if !slices.Equal(got, want) {
		t.Errorf("succeeded: %v\nanswered by Muster: %v", got, want)
	}
	if len(want) < 40 {
		t.Errorf("Muster answers only %d operations", len(want))
	}
}

// unserved are the operations that Muster does not serve.
var unserved = []string{"DescribeContainerGroupPortMappings"}

// answered returns the operations that Muster does not report as unavailable.
func answered(t *testing.T, url string) []string {
	t.Helper()
	var all []string
	api := shapes.API()
	if len(api.Operations) != 120 {
		t.Errorf("%d operations, want 120", len(api.Operations))
	}
	for _, op := range api.Operations {
		_, body := post(t, url, op.Name, "{}")
		here := !slices.Contains(unserved, op.Name)
		if here && !strings.Contains(body, "is not available in this version of Muster") {
			all = append(all, op.Name)
		}
	}
	slices.Sort(all)
	return all
}

// tryAll calls each operation so that it succeeds.
func tryAll(t *testing.T, c *gamelift.Client) {
	t.Helper()
	ctx := t.Context()
	p := node.NewPlace(t, c)
	fleet, host, here := &p.FleetID, &p.ComputeName, &p.Location
	s := p.Server(t)
	g := must(p.Create(ctx, 4))(t)
	receive(t, s.Activated())
	game := g.GameSessionId

	must(c.ListFleets(ctx, &gamelift.ListFleetsInput{}))(t)
	must(c.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{}))(t)
	must(c.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: fleet, Name: aws.String("n")}))(t)
	must(c.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: fleet}))(t)
	must(c.DescribeFleetUtilization(ctx, &gamelift.DescribeFleetUtilizationInput{}))(t)
	must(c.DescribeFleetLocationUtilization(ctx, &gamelift.DescribeFleetLocationUtilizationInput{FleetId: fleet, Location: here}))(t)
	must(c.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: fleet}))(t)
	must(c.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: fleet}))(t)
	must(c.UpdateRuntimeConfiguration(ctx, &gamelift.UpdateRuntimeConfigurationInput{FleetId: fleet, RuntimeConfiguration: &types.RuntimeConfiguration{}}))(t)

	must(c.ListLocations(ctx, &gamelift.ListLocationsInput{}))(t)
	other := aws.String("custom-other")
	must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: other}))(t)
	must(c.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: fleet, Locations: []types.LocationConfiguration{{Location: other}}}))(t)
	must(c.DeleteFleetLocations(ctx, &gamelift.DeleteFleetLocationsInput{FleetId: fleet, Locations: []string{*other}}))(t)
	unused := aws.String("custom-unused")
	must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: unused}))(t)
	must(c.DeleteLocation(ctx, &gamelift.DeleteLocationInput{LocationName: unused}))(t)

	a := must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: aws.String("a"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: fleet}}))(t).Alias.AliasId
	must(c.ListAliases(ctx, &gamelift.ListAliasesInput{}))(t)
	must(c.DescribeAlias(ctx, &gamelift.DescribeAliasInput{AliasId: a}))(t)
	must(c.ResolveAlias(ctx, &gamelift.ResolveAliasInput{AliasId: a}))(t)
	must(c.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: a, Name: aws.String("b")}))(t)
	must(c.DeleteAlias(ctx, &gamelift.DeleteAliasInput{AliasId: a}))(t)

	must(c.ListCompute(ctx, &gamelift.ListComputeInput{FleetId: fleet}))(t)
	must(c.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: fleet, ComputeName: host}))(t)

	must(c.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: fleet}))(t)
	must(c.DescribeGameSessionDetails(ctx, &gamelift.DescribeGameSessionDetailsInput{FleetId: fleet}))(t)
	must(c.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{FleetId: fleet}))(t)
	must(c.UpdateGameSession(ctx, &gamelift.UpdateGameSessionInput{GameSessionId: game, Name: aws.String("n")}))(t)
	must(c.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: game, PlayerId: aws.String("a")}))(t)
	must(c.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: game, PlayerIds: []string{"b", "c"}}))(t)
	must(c.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{GameSessionId: game}))(t)
	must(c.GetPlayerConnectionDetails(ctx, &gamelift.GetPlayerConnectionDetailsInput{GameSessionId: game, PlayerIds: []string{"a"}}))(t)
	must(c.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{GameSessionId: game, TerminationMode: types.TerminationModeTriggerOnProcessTerminate}))(t)

	must(c.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: &p.FleetARN, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}))(t)
	must(c.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: &p.FleetARN}))(t)
	must(c.UntagResource(ctx, &gamelift.UntagResourceInput{ResourceARN: &p.FleetARN, TagKeys: []string{"k"}}))(t)

	must(c.DescribeVpcPeeringAuthorizations(ctx, &gamelift.DescribeVpcPeeringAuthorizationsInput{}))(t)
	must(c.DescribeVpcPeeringConnections(ctx, &gamelift.DescribeVpcPeeringConnectionsInput{}))(t)
	must(c.DeregisterCompute(ctx, &gamelift.DeregisterComputeInput{FleetId: fleet, ComputeName: host}))(t)
	must(c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: fleet}))(t)
}

// tryPlacement calls the operations of queues and placements.
func tryPlacement(t *testing.T, c *gamelift.Client) {
	t.Helper()
	ctx := t.Context()
	p := node.NewPlace(t, c)
	queue, placement := aws.String("queue"), aws.String("placement-1")
	to := []types.GameSessionQueueDestination{{DestinationArn: &p.FleetARN}}
	must(c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: queue, Destinations: to}))(t)
	must(c.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: queue, TimeoutInSeconds: aws.Int32(60)}))(t)
	must(c.DescribeGameSessionQueues(ctx, &gamelift.DescribeGameSessionQueuesInput{}))(t)
	must(c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
		PlacementId: placement, GameSessionQueueName: queue, MaximumPlayerSessionCount: aws.Int32(2),
	}))(t)
	must(c.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: placement}))(t)
	must(c.StopGameSessionPlacement(ctx, &gamelift.StopGameSessionPlacementInput{PlacementId: placement}))(t)
	must(c.DeleteGameSessionQueue(ctx, &gamelift.DeleteGameSessionQueueInput{Name: queue}))(t)
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
