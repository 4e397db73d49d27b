package aws

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/cli/client"
	api "github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/test/node"
)

// keyed is a Muster that requires access keys.
type keyed struct {
	bundle
	admin *client.Client
}

func setupKeyed(t *testing.T) keyed {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	a := node.InProcess(t, func(o *app.Options) { o.AcceptAny, o.DataDir, o.Audit.Level = false, dir, audit.Off })
	key := firstKey(t, dir)
	return keyed{
		bundle{Place: node.NewPlace(t, node.ClientAs(a.URL(), key.AccessKeyID, key.SecretAccessKey)), app: a},
		&client.Client{Endpoint: a.URL(), Credentials: key},
	}
}

// key creates an access key.
func (k keyed) key(t *testing.T, spec client.KeySpec) client.Credentials {
	t.Helper()
	spec.Name = t.Name()
	made := node.Must(k.admin.Keys().Create(t.Context(), spec))(t)
	return client.Credentials{AccessKeyID: made.ID, SecretAccessKey: made.Secret}
}

// as returns AWS's client with an access key.
func (k keyed) as(c client.Credentials) *gamelift.Client {
	return node.ClientAs(k.app.URL(), c.AccessKeyID, c.SecretAccessKey)
}

// errorCode returns the code of the exception that an operation returned, or "".
func errorCode(err error) string {
	if exception, ok := errors.AsType[smithy.APIError](err); ok {
		return exception.ErrorCode()
	}
	return ""
}

// teams creates three of every resource that can be listed for each of two teams,
// alternately, and returns the ids of team red by the operation that lists them.
func (k keyed) teams(t *testing.T) (want map[string][]string) {
	t.Helper()
	ctx, c := t.Context(), k.Client
	want = map[string][]string{}
	for i := range 6 {
		team := []string{"red", "blue"}[i%2]
		tags := []types.Tag{{Key: aws.String("team"), Value: &team}}
		name := aws.String(fmt.Sprint("custom-", i))
		location := node.Must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: name, Tags: tags}))(t).Location
		fleet := node.Must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
			Name: name, ComputeType: types.ComputeTypeAnywhere, AnywhereConfiguration: &types.AnywhereConfiguration{Cost: aws.String("1")},
			Locations: []types.LocationConfiguration{{Location: name}}, Tags: tags,
		}))(t).FleetAttributes
		alias := node.Must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{
			Name: name, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: fleet.FleetId}, Tags: tags,
		}))(t).Alias
		build := node.Must(c.CreateBuild(ctx, &gamelift.CreateBuildInput{OperatingSystem: types.OperatingSystemAmazonLinux2023, Tags: tags}))(t).Build
		script := node.Must(c.CreateScript(ctx, &gamelift.CreateScriptInput{ZipFile: zipped(t, "main.js", "1"), Tags: tags}))(t).Script
		node.Must(c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: name, Tags: tags}))(t)
		node.Must(c.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: name, RuleSetBody: aws.String(duel), Tags: tags}))(t)
		node.Must(c.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
			Name: name, RuleSetName: name, AcceptanceRequired: aws.Bool(false), RequestTimeoutSeconds: aws.Int32(60),
			FlexMatchMode: types.FlexMatchModeStandalone, Tags: tags,
		}))(t)
		node.Must(c.CreateGameServerGroup(ctx, groupInput(*name, func(in *gamelift.CreateGameServerGroupInput) { in.Tags = tags })))(t)
		if team != "red" {
			continue
		}
		for operation, id := range map[string]*string{
			"ListLocations": location.LocationName, "ListFleets": fleet.FleetId, "DescribeFleetAttributes": fleet.FleetId,
			"DescribeFleetUtilization": fleet.FleetId, "ListAliases": alias.AliasId, "ListBuilds": build.BuildId, "ListScripts": script.ScriptId,
			"DescribeGameSessionQueues": name, "DescribeMatchmakingRuleSets": name, "DescribeMatchmakingConfigurations": name,
			"ListGameServerGroups": name,
		} {
			want[operation] = append(want[operation], *id)
		}
	}
	return want
}

// A key with a scope lists only the resources in it, in full pages. Neither the number
// of pages nor the last NextToken reveals that there are others.
func TestScope_Lists(t *testing.T) {
	k := setupKeyed(t)
	want := k.teams(t)
	red := k.as(k.key(t, client.KeySpec{Role: "operator", Scope: client.KeyScope{Tags: map[string]string{"team": "red"}}}))
	for operation, got := range lists(t, red) {
		slices.Sort(got.items)
		slices.Sort(want[operation])
		if !slices.Equal(got.items, want[operation]) || !slices.Equal(got.sizes, []int{2, 1}) {
			t.Errorf("%s answers with %v in pages of %v, want %v in pages of [2 1]", operation, got.items, got.sizes, want[operation])
		}
	}
	tags := node.Must(red.ListTagsForResource(t.Context(), &gamelift.ListTagsForResourceInput{
		ResourceARN: aws.String("arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/custom-0"),
	}))(t)
	if len(tags.Tags) != 1 || *tags.Tags[0].Value != "red" {
		t.Errorf("the tags of a queue in scope are %v", tags.Tags)
	}
	_, err := red.ListTagsForResource(t.Context(), &gamelift.ListTagsForResourceInput{
		ResourceARN: aws.String("arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/custom-1"),
	})
	if errorCode(err) != "AccessDeniedException" {
		t.Errorf("the tags of a queue out of scope: %v", err)
	}
	_, err = red.DescribeFleetAttributes(t.Context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{want["ListFleets"][0], k.FleetID}})
	if errorCode(err) != "AccessDeniedException" {
		t.Errorf("fleets by id, one of them out of scope: %v", err)
	}
}

// A key whose scope includes no resource learns of none, whichever operation it calls.
func TestScope_OfNothing(t *testing.T) {
	k := setupKeyed(t)
	k.teams(t)
	nobody := &client.Client{Endpoint: k.app.URL(), Credentials: k.key(t, client.KeySpec{
		Role: "operator", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:fleet/none"}},
	})}
	before := k.app.Digest()
	answered := 0
	for _, op := range api.API().Operations {
		var out map[string]any
		if nobody.Call(t.Context(), op.Name, map[string]any{}, &out) != nil || op.Name == "DescribeEC2InstanceLimits" { // instance types
			continue
		}
		answered++
		for member, v := range out {
			if items, isList := v.([]any); !isList || len(items) > 0 {
				t.Errorf("%s answers with %s = %v", op.Name, member, v)
			}
		}
	}
	if answered < 16 {
		t.Errorf("only %d operations answer without naming anything", answered)
	}
	if k.app.Digest() != before {
		t.Error("a key whose scope holds nothing changed something")
	}
}

// A key whose scope is one fleet in one location can use the game sessions, computes
// and players in that location, and not those of the fleet's other location.
func TestScope_LocationOfFleet(t *testing.T) {
	k := setupKeyed(t)
	ctx, here, c := t.Context(), *k.Place, k.Client
	there := here
	there.Location, there.ComputeName = "custom-there", "host-2"
	node.Must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &there.Location}))(t)
	node.Must(c.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: &k.FleetID, Locations: []types.LocationConfiguration{{Location: &there.Location}}}))(t)
	other := node.Must(there.Beside(ctx, "host-2"))(t)
	ours := k.active(t, here.Server(t), 4)
	theirs := bundle{Place: other}.active(t, other.Server(t), 4)
	our, their := k.reserve(t, ours, "ada"), k.reserve(t, theirs, "ada")

	mine := k.as(k.key(t, client.KeySpec{Role: "operator", Scope: client.KeyScope{
		Resources: []string{k.FleetARN, "arn:aws:gamelift:us-east-1:*:location/" + here.Location},
	}}))
	fleet := &k.FleetID
	one := func(operation string, list any, member string, want *string) {
		t.Helper()
		if got := names(list, member); !slices.Equal(got, []string{*want}) {
			t.Errorf("%s answers with %v, want %s alone", operation, got, *want)
		}
	}
	one("DescribeGameSessions", node.Must(mine.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: fleet}))(t).GameSessions, "GameSessionId", ours.GameSessionId)
	one("SearchGameSessions", node.Must(mine.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{FleetId: fleet}))(t).GameSessions, "GameSessionId", ours.GameSessionId)
	one("DescribeGameSessionDetails", node.Must(mine.DescribeGameSessionDetails(ctx, &gamelift.DescribeGameSessionDetailsInput{FleetId: fleet}))(t).GameSessionDetails,
		"GameSession.GameSessionId", ours.GameSessionId)
	one("ListCompute", node.Must(mine.ListCompute(ctx, &gamelift.ListComputeInput{FleetId: fleet}))(t).ComputeList, "ComputeName", &here.ComputeName)
	one("DescribeFleetLocationAttributes", node.Must(mine.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: fleet}))(t).LocationAttributes,
		"LocationState.Location", &here.Location)
	one("ListLocations", node.Must(mine.ListLocations(ctx, &gamelift.ListLocationsInput{}))(t).Locations, "LocationName", &here.Location)
	for what, in := range map[string]*gamelift.DescribePlayerSessionsInput{"DescribePlayerSessions": {PlayerId: aws.String("ada")}, "DescribePlayerSessions of ours": {PlayerSessionId: our.PlayerSessionId}} {
		one(what, node.Must(mine.DescribePlayerSessions(ctx, in))(t).PlayerSessions, "PlayerSessionId", our.PlayerSessionId)
	}
	_, err := mine.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: their.PlayerSessionId})
	refused[*types.NotFoundException](t, err, "does not exist")

	players := aws.Int32(2)
	before := k.app.Digest()
	for what, err := range map[string]error{
		"DescribeGameSessions":             second(mine.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: theirs.GameSessionId})),
		"DescribeGameSessions by location": second(mine.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: fleet, Location: &there.Location})),
		"CreatePlayerSession":              second(mine.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: theirs.GameSessionId, PlayerId: aws.String("eve")})),
		"UpdateGameSession":                second(mine.UpdateGameSession(ctx, &gamelift.UpdateGameSessionInput{GameSessionId: theirs.GameSessionId, Name: aws.String("ours")})),
		"TerminateGameSession":             second(mine.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{GameSessionId: theirs.GameSessionId, TerminationMode: types.TerminationModeForceTerminate})),
		"CreateGameSession there":          second(mine.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: fleet, Location: &there.Location, MaximumPlayerSessionCount: players})),
		"CreateGameSession at home":        second(mine.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: fleet, MaximumPlayerSessionCount: players})),
		"GetComputeAuthToken":              second(mine.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: fleet, ComputeName: &other.ComputeName})),
		"DeregisterCompute":                second(mine.DeregisterCompute(ctx, &gamelift.DeregisterComputeInput{FleetId: fleet, ComputeName: &other.ComputeName})),
	} {
		if errorCode(err) != "AccessDeniedException" {
			t.Errorf("%s of the other location: %v, want AccessDeniedException", what, err)
		}
	}
	if k.app.Digest() != before {
		t.Error("a refused call changed the state")
	}
	node.Must(mine.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: fleet, ComputeName: &here.ComputeName}))(t)
	node.Must(mine.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: ours.GameSessionId, PlayerId: aws.String("bob")}))(t)
}
