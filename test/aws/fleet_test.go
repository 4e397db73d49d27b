package aws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/test/node"
)

func TestFleet(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	made := node.Must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("arena"), Description: aws.String("five against five"), ComputeType: types.ComputeTypeAnywhere,
		Locations:                      []types.LocationConfiguration{{Location: &b.Location}},
		AnywhereConfiguration:          &types.AnywhereConfiguration{Cost: aws.String("0.25")},
		NewGameSessionProtectionPolicy: types.ProtectionPolicyFullProtection, MetricGroups: []string{"group"},
		ResourceCreationLimitPolicy: &types.ResourceCreationLimitPolicy{NewGameSessionsPerCreator: aws.Int32(2), PolicyPeriodInMinutes: aws.Int32(5)},
		RuntimeConfiguration: &types.RuntimeConfiguration{
			ServerProcesses: []types.ServerProcess{{LaunchPath: aws.String("/local/game/server"), Parameters: aws.String("-a -b"), ConcurrentExecutions: aws.Int32(3)}},
		},
		Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}},
	}))(t)
	f := made.FleetAttributes
	if f.Status != types.FleetStatusActive || *f.Name != "arena" || *f.AnywhereConfiguration.Cost != "0.25" ||
		*f.ResourceCreationLimitPolicy.PolicyPeriodInMinutes != 5 || f.ComputeType != types.ComputeTypeAnywhere {
		t.Errorf("created %+v", *f)
	}
	if want := "arn:aws:gamelift:us-east-1:000000000000:fleet/" + *f.FleetId; *f.FleetArn != want {
		t.Errorf("FleetArn %s, want %s", *f.FleetArn, want)
	}
	if states := locationsOf(made.LocationStates); !cmp.Equal(states, map[string]string{"us-east-1": "ACTIVE", b.Location: "ACTIVE"}) {
		t.Errorf("LocationStates %v", states)
	}

	runtime := node.Must(c.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: f.FleetArn}))(t).RuntimeConfiguration
	if *runtime.GameSessionActivationTimeoutSeconds != 300 || *runtime.MaxConcurrentGameSessionActivations != 2147483647 ||
		*runtime.ServerProcesses[0].Parameters != "-a -b" {
		t.Errorf("RuntimeConfiguration %+v", *runtime)
	}

	node.Must(c.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{
		FleetId: f.FleetArn, Name: aws.String("arena 2"), NewGameSessionProtectionPolicy: types.ProtectionPolicyNoProtection,
	}))(t)
	got := node.Must(c.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{*f.FleetArn, "fleet-00000000-0000-0000-0000-000000000000"}}))(t).FleetAttributes
	if len(got) != 1 || *got[0].Name != "arena 2" || *got[0].Description != "five against five" || got[0].NewGameSessionProtectionPolicy != types.ProtectionPolicyNoProtection {
		t.Errorf("updated %+v", got)
	}
	events := node.Must(c.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: f.FleetId}))(t).Events
	if codes, want := names(events, "EventCode"), []string{"FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED", "FLEET_STATE_ACTIVE", "FLEET_CREATED"}; !cmp.Equal(codes, want) {
		t.Errorf("fleet events %v, want %v", codes, want)
	}
}

func TestFleet_Locations(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	second := aws.String("custom-second-place")
	made := node.Must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: second}))(t)
	if *made.Location.LocationArn != "arn:aws:gamelift:us-east-1:000000000000:location/custom-second-place" {
		t.Errorf("LocationArn %s", *made.Location.LocationArn)
	}

	added := node.Must(c.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: &b.FleetID, Locations: []types.LocationConfiguration{{Location: second}}}))(t)
	if states := locationsOf(added.LocationStates); states[*second] != "ACTIVE" {
		t.Errorf("LocationStates %v", states)
	}

	node.Must(c.DeleteFleetLocations(ctx, &gamelift.DeleteFleetLocationsInput{FleetId: &b.FleetID, Locations: []string{*second}}))(t)
	b.events.Code(t, "LOCATION_STATE_DELETED")
	left := node.Must(c.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &b.FleetID}))(t).LocationAttributes
	if len(left) != 1 || *left[0].LocationState.Location != b.Location {
		t.Errorf("locations left: %+v", left)
	}
	node.Must(c.DeleteLocation(ctx, &gamelift.DeleteLocationInput{LocationName: made.Location.LocationArn}))(t)
	_, err := c.DeleteLocation(ctx, &gamelift.DeleteLocationInput{LocationName: second})
	refused[*types.NotFoundException](t, err, "custom-second-place")
}

func locationsOf(states []types.LocationState) map[string]string {
	m := map[string]string{}
	for _, s := range states {
		m[*s.Location] = string(s.Status)
	}
	return m
}

func TestFleet_Utilization(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	g := b.active(t, b.Server(t), 5)
	b.Server(t)
	b.reserve(t, g, "ana")
	all := node.Must(b.Client.DescribeFleetUtilization(ctx, &gamelift.DescribeFleetUtilizationInput{FleetIds: []string{b.FleetID}}))(t).FleetUtilization[0]
	here := node.Must(b.Client.DescribeFleetLocationUtilization(ctx, &gamelift.DescribeFleetLocationUtilizationInput{FleetId: &b.FleetID, Location: &b.Location}))(t).FleetUtilization
	for _, u := range []types.FleetUtilization{all, *here} {
		got := [4]int32{*u.ActiveServerProcessCount, *u.ActiveGameSessionCount, *u.CurrentPlayerSessionCount, *u.MaximumPlayerSessionCount}
		if got != [4]int32{2, 1, 1, 5} {
			t.Errorf("processes, game sessions, players, slots in %s: %v, want [2 1 1 5]", *u.Location, got)
		}
	}
}

func TestAlias(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	a := node.Must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{
		Name: aws.String("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &b.FleetID},
	}))(t).Alias
	if *a.AliasArn != "arn:aws:gamelift:us-east-1::alias/"+*a.AliasId || *a.RoutingStrategy.FleetId != b.FleetID {
		t.Errorf("created %+v", *a)
	}
	if to := node.Must(c.ResolveAlias(ctx, &gamelift.ResolveAliasInput{AliasId: a.AliasArn}))(t); *to.FleetId != b.FleetID || *to.FleetArn != b.FleetARN {
		t.Errorf("resolves to %s, %s", *to.FleetId, *to.FleetArn)
	}
	s := b.Server(t)
	g := b.active(t, s, 1, func(in *gamelift.CreateGameSessionInput) { in.FleetId, in.AliasId = nil, a.AliasId })
	if found := node.Must(c.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{AliasId: a.AliasArn}))(t); len(found.GameSessions) != 1 {
		t.Errorf("found %d game sessions by alias", len(found.GameSessions))
	}

	updated := node.Must(c.UpdateAlias(ctx, &gamelift.UpdateAliasInput{
		AliasId: a.AliasId, Description: aws.String("closed"),
		RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: aws.String("come back tomorrow")},
	}))(t).Alias
	if *updated.Name != "live" || updated.RoutingStrategy.FleetId != nil || updated.LastUpdatedTime.Before(*updated.CreationTime) {
		t.Errorf("updated %+v", *updated)
	}
	_, err := c.ResolveAlias(ctx, &gamelift.ResolveAliasInput{AliasId: a.AliasId})
	refused[*types.TerminalRoutingStrategyException](t, err, "come back tomorrow")
	_, err = c.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{AliasId: a.AliasId, Location: &b.Location, MaximumPlayerSessionCount: aws.Int32(1)})
	refused[*types.TerminalRoutingStrategyException](t, err, "come back tomorrow")
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusActive {
		t.Errorf("the alias's new route left the game session %s", now.Status)
	}

	shown := node.Must(c.DescribeAlias(ctx, &gamelift.DescribeAliasInput{AliasId: a.AliasArn}))(t).Alias
	if *shown.RoutingStrategy.Message != "come back tomorrow" || *shown.Description != "closed" {
		t.Errorf("described %+v", *shown)
	}

	// AWS's own deployment script sends a message with SIMPLE: it is stored, but
	// resolving the alias does not return it.
	updated = node.Must(c.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: a.AliasId, RoutingStrategy: &types.RoutingStrategy{
		Type: types.RoutingStrategyTypeSimple, FleetId: &b.FleetID, Message: aws.String("Updated via production deployment sample script."),
	}}))(t).Alias
	if r := updated.RoutingStrategy; *r.FleetId != b.FleetID || *r.Message != "Updated via production deployment sample script." {
		t.Errorf("SIMPLE with a message became %+v", *r)
	}
	if to := node.Must(c.ResolveAlias(ctx, &gamelift.ResolveAliasInput{AliasId: a.AliasId}))(t); *to.FleetId != b.FleetID {
		t.Errorf("resolves to %s", *to.FleetId)
	}
	node.Must(c.DeleteAlias(ctx, &gamelift.DeleteAliasInput{AliasId: a.AliasId}))(t)
	_, err = c.DescribeAlias(ctx, &gamelift.DescribeAliasInput{AliasId: a.AliasId})
	refused[*types.NotFoundException](t, err, *a.AliasId)
}

func TestCompute(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	shown := node.Must(c.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: &b.FleetARN, ComputeName: &b.ComputeName}))(t).Compute
	if shown.ComputeStatus != types.ComputeStatusActive || *shown.Location != b.Location || *shown.IpAddress != "127.0.0.1" ||
		*shown.ComputeArn != "arn:aws:gamelift:us-east-1:000000000000:compute/"+b.FleetID+"/host-1" || *shown.GameLiftServiceSdkEndpoint != b.Endpoint {
		t.Errorf("described %+v", *shown)
	}
	token := node.Must(c.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &b.FleetID, ComputeName: shown.ComputeArn}))(t)
	if n := len(*token.AuthToken); n < 1 || n > 64 || token.ExpirationTimestamp == nil {
		t.Errorf("a token of %d characters, until %v", n, token.ExpirationTimestamp)
	}

	s := b.Server(t)
	g := b.active(t, s, 1)
	node.Must(c.DeregisterCompute(ctx, &gamelift.DeregisterComputeInput{FleetId: &b.FleetID, ComputeName: &b.ComputeName}))(t)
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusTerminated {
		t.Errorf("on a deregistered compute the game session is %s", now.Status)
	}
	_, err := c.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: &b.FleetID, ComputeName: &b.ComputeName})
	refused[*types.NotFoundException](t, err, "host-1")
}

func TestTags(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	tag := func(k, v string) types.Tag { return types.Tag{Key: &k, Value: &v} }
	for range 2 { // the second time changes nothing
		node.Must(c.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: &b.FleetARN, Tags: []types.Tag{tag("team", "red"), tag("cost", "")}}))(t)
	}
	node.Must(c.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: &b.FleetARN, Tags: []types.Tag{tag("team", "blue")}}))(t)
	node.Must(c.UntagResource(ctx, &gamelift.UntagResourceInput{ResourceARN: &b.FleetARN, TagKeys: []string{"cost", "absent"}}))(t)
	got := node.Must(c.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: &b.FleetARN}))(t).Tags
	if len(got) != 1 || *got[0].Key != "team" || *got[0].Value != "blue" {
		t.Errorf("tags %+v", got)
	}
}
