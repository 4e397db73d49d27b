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
	id, secret := firstKey(t, dir)
	return keyed{
		bundle{Place: node.NewPlace(t, node.ClientAs(a.URL(), id, secret)), app: a},
		&client.Client{Endpoint: a.URL(), Credentials: client.Credentials{AccessKeyID: id, SecretAccessKey: secret}},
	}
}

// key creates an access key.
func (k keyed) key(t *testing.T, spec client.KeySpec) client.Credentials {
	t.Helper()
	spec.Name = t.Name()
	made := must(k.admin.Keys().Create(t.Context(), spec))(t)
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

// listing calls a list operation and returns the sizes of its pages and all items.
type listing func(t *testing.T, c *gamelift.Client) (sizes []int, all []string)

// teams creates three of every resource that can be listed for each of two teams,
// alternately, and returns the ids of team red and the listings, both by operation.
func (k keyed) teams(t *testing.T) (want map[string][]string, lists map[string]listing) {
	t.Helper()
	ctx, c := t.Context(), k.Client
	want = map[string][]string{}
	for i := range 6 {
		team := []string{"red", "blue"}[i%2]
		tags := []types.Tag{{Key: aws.String("team"), Value: &team}}
		name := aws.String(fmt.Sprint("custom-", i))
		location := must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: name, Tags: tags}))(t).Location
		fleet := must(c.CreateFleet(ctx, &gamelift.CreateFleetInput{
			Name: name, ComputeType: types.ComputeTypeAnywhere, AnywhereConfiguration: &types.AnywhereConfiguration{Cost: aws.String("1")},
			Locations: []types.LocationConfiguration{{Location: name}}, Tags: tags,
		}))(t).FleetAttributes
		alias := must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{
			Name: name, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: fleet.FleetId}, Tags: tags,
		}))(t).Alias
		build := must(c.CreateBuild(ctx, &gamelift.CreateBuildInput{OperatingSystem: types.OperatingSystemAmazonLinux2023, Tags: tags}))(t).Build
		script := must(c.CreateScript(ctx, &gamelift.CreateScriptInput{ZipFile: zipped(t, "main.js", "1"), Tags: tags}))(t).Script
		must(c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: name, Tags: tags}))(t)
		must(c.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: name, RuleSetBody: aws.String(duel), Tags: tags}))(t)
		must(c.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
			Name: name, RuleSetName: name, AcceptanceRequired: aws.Bool(false), RequestTimeoutSeconds: aws.Int32(60),
			FlexMatchMode: types.FlexMatchModeStandalone, Tags: tags,
		}))(t)
		must(c.CreateGameServerGroup(ctx, groupInput(*name, func(in *gamelift.CreateGameServerGroupInput) { in.Tags = tags })))(t)
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
	two := aws.Int32(2)
	return want, map[string]listing{
		"ListLocations": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewListLocationsPaginator(c, &gamelift.ListLocationsInput{Limit: two}),
				func(o *gamelift.ListLocationsOutput) []string {
					return names(o.Locations, func(l types.LocationModel) *string { return l.LocationName })
				})
		},
		"ListFleets": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewListFleetsPaginator(c, &gamelift.ListFleetsInput{Limit: two}),
				func(o *gamelift.ListFleetsOutput) []string { return o.FleetIds })
		},
		"DescribeFleetAttributes": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewDescribeFleetAttributesPaginator(c, &gamelift.DescribeFleetAttributesInput{Limit: two}),
				func(o *gamelift.DescribeFleetAttributesOutput) []string {
					return names(o.FleetAttributes, func(f types.FleetAttributes) *string { return f.FleetId })
				})
		},
		"DescribeFleetUtilization": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewDescribeFleetUtilizationPaginator(c, &gamelift.DescribeFleetUtilizationInput{Limit: two}),
				func(o *gamelift.DescribeFleetUtilizationOutput) []string {
					return names(o.FleetUtilization, func(f types.FleetUtilization) *string { return f.FleetId })
				})
		},
		"ListAliases": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewListAliasesPaginator(c, &gamelift.ListAliasesInput{Limit: two}),
				func(o *gamelift.ListAliasesOutput) []string {
					return names(o.Aliases, func(a types.Alias) *string { return a.AliasId })
				})
		},
		"ListBuilds": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewListBuildsPaginator(c, &gamelift.ListBuildsInput{Limit: two}),
				func(o *gamelift.ListBuildsOutput) []string {
					return names(o.Builds, func(b types.Build) *string { return b.BuildId })
				})
		},
		"ListScripts": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewListScriptsPaginator(c, &gamelift.ListScriptsInput{Limit: two}),
				func(o *gamelift.ListScriptsOutput) []string {
					return names(o.Scripts, func(s types.Script) *string { return s.ScriptId })
				})
		},
		"DescribeGameSessionQueues": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewDescribeGameSessionQueuesPaginator(c, &gamelift.DescribeGameSessionQueuesInput{Limit: two}),
				func(o *gamelift.DescribeGameSessionQueuesOutput) []string {
					return names(o.GameSessionQueues, func(q types.GameSessionQueue) *string { return q.Name })
				})
		},
		"ListGameServerGroups": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewListGameServerGroupsPaginator(c, &gamelift.ListGameServerGroupsInput{Limit: two}),
				func(o *gamelift.ListGameServerGroupsOutput) []string {
					return names(o.GameServerGroups, func(g types.GameServerGroup) *string { return g.GameServerGroupName })
				})
		},
		"DescribeMatchmakingRuleSets": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewDescribeMatchmakingRuleSetsPaginator(c, &gamelift.DescribeMatchmakingRuleSetsInput{Limit: two}),
				func(o *gamelift.DescribeMatchmakingRuleSetsOutput) []string {
					return names(o.RuleSets, func(r types.MatchmakingRuleSet) *string { return r.RuleSetName })
				})
		},
		"DescribeMatchmakingConfigurations": func(t *testing.T, c *gamelift.Client) ([]int, []string) {
			return pages(t, gamelift.NewDescribeMatchmakingConfigurationsPaginator(c, &gamelift.DescribeMatchmakingConfigurationsInput{Limit: two}),
				func(o *gamelift.DescribeMatchmakingConfigurationsOutput) []string {
					return names(o.Configurations, func(c types.MatchmakingConfiguration) *string { return c.Name })
				})
		},
	}
}

// A key with a scope lists only the resources in it, in full pages. Neither the number
// of pages nor the last NextToken reveals that there are others.
func TestScope_Lists(t *testing.T) {
	k := setupKeyed(t)
	want, lists := k.teams(t)
	red := k.as(k.key(t, client.KeySpec{Role: "operator", Scope: client.KeyScope{Tags: map[string]string{"team": "red"}}}))
	for operation, read := range lists {
		sizes, got := read(t, red)
		slices.Sort(got)
		slices.Sort(want[operation])
		if !slices.Equal(got, want[operation]) || !slices.Equal(sizes, []int{2, 1}) {
			t.Errorf("%s answers with %v in pages of %v, want %v in pages of [2 1]", operation, got, sizes, want[operation])
		}
	}
	tags := must(red.ListTagsForResource(t.Context(), &gamelift.ListTagsForResourceInput{
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
	must(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &there.Location}))(t)
	must(c.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: &k.FleetID, Locations: []types.LocationConfiguration{{Location: &there.Location}}}))(t)
	other := must(there.Beside(ctx, "host-2"))(t)
	ours := k.active(t, here.Server(t), 4)
	theirs := bundle{Place: other}.active(t, other.Server(t), 4)
	our, their := k.reserve(t, ours, "ada"), k.reserve(t, theirs, "ada")

	mine := k.as(k.key(t, client.KeySpec{Role: "operator", Scope: client.KeyScope{
		Resources: []string{k.FleetARN, "arn:aws:gamelift:us-east-1:*:location/" + here.Location},
	}}))
	fleet := &k.FleetID
	game := func(g types.GameSession) *string { return g.GameSessionId }
	one := func(operation string, got []string, want *string) {
		t.Helper()
		if !slices.Equal(got, []string{*want}) {
			t.Errorf("%s answers with %v, want %s alone", operation, got, *want)
		}
	}
	one("DescribeGameSessions", names(must(mine.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: fleet}))(t).GameSessions, game), ours.GameSessionId)
	one("SearchGameSessions", names(must(mine.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{FleetId: fleet}))(t).GameSessions, game), ours.GameSessionId)
	one("DescribeGameSessionDetails", names(must(mine.DescribeGameSessionDetails(ctx, &gamelift.DescribeGameSessionDetailsInput{FleetId: fleet}))(t).GameSessionDetails,
		func(d types.GameSessionDetail) *string { return d.GameSession.GameSessionId }), ours.GameSessionId)
	one("ListCompute", names(must(mine.ListCompute(ctx, &gamelift.ListComputeInput{FleetId: fleet}))(t).ComputeList,
		func(c types.Compute) *string { return c.ComputeName }), &here.ComputeName)
	one("DescribeFleetLocationAttributes", names(must(mine.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: fleet}))(t).LocationAttributes,
		func(l types.LocationAttributes) *string { return l.LocationState.Location }), &here.Location)
	one("ListLocations", names(must(mine.ListLocations(ctx, &gamelift.ListLocationsInput{}))(t).Locations,
		func(l types.LocationModel) *string { return l.LocationName }), &here.Location)
	session := func(p types.PlayerSession) *string { return p.PlayerSessionId }
	one("DescribePlayerSessions", names(must(mine.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{PlayerId: aws.String("ada")}))(t).PlayerSessions, session), our.PlayerSessionId)
	one("DescribePlayerSessions of ours", names(must(mine.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: our.PlayerSessionId}))(t).PlayerSessions, session), our.PlayerSessionId)
	_, err := mine.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: their.PlayerSessionId})
	refused[*types.NotFoundException](t, err, "does not exist")

	players := aws.Int32(2)
	before := k.app.Digest()
	for what, call := range map[string]func() error{
		"DescribeGameSessions": func() error {
			_, err := mine.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: theirs.GameSessionId})
			return err
		},
		"DescribeGameSessions by location": func() error {
			_, err := mine.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: fleet, Location: &there.Location})
			return err
		},
		"CreatePlayerSession": func() error {
			_, err := mine.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: theirs.GameSessionId, PlayerId: aws.String("eve")})
			return err
		},
		"UpdateGameSession": func() error {
			_, err := mine.UpdateGameSession(ctx, &gamelift.UpdateGameSessionInput{GameSessionId: theirs.GameSessionId, Name: aws.String("ours")})
			return err
		},
		"TerminateGameSession": func() error {
			_, err := mine.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{GameSessionId: theirs.GameSessionId, TerminationMode: types.TerminationModeForceTerminate})
			return err
		},
		"CreateGameSession there": func() error {
			_, err := mine.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: fleet, Location: &there.Location, MaximumPlayerSessionCount: players})
			return err
		},
		"CreateGameSession at home": func() error {
			_, err := mine.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: fleet, MaximumPlayerSessionCount: players})
			return err
		},
		"GetComputeAuthToken": func() error {
			_, err := mine.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: fleet, ComputeName: &other.ComputeName})
			return err
		},
		"DeregisterCompute": func() error {
			_, err := mine.DeregisterCompute(ctx, &gamelift.DeregisterComputeInput{FleetId: fleet, ComputeName: &other.ComputeName})
			return err
		},
	} {
		if err := call(); errorCode(err) != "AccessDeniedException" {
			t.Errorf("%s of the other location: %v, want AccessDeniedException", what, err)
		}
	}
	if k.app.Digest() != before {
		t.Error("a refused call changed the state")
	}
	must(mine.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: fleet, ComputeName: &here.ComputeName}))(t)
	must(mine.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: ours.GameSessionId, PlayerId: aws.String("bob")}))(t)
}
