package aws

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// pager is any paginator of AWS's SDK.
type pager[O any] interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*gamelift.Options)) (O, error)
}

// paged are the sizes of the pages of a list, and its items.
type paged struct {
	sizes []int
	items []string
}

// pages reads a paginator to its end. The items are the named members of a list of its pages.
func pages[O any](t *testing.T, p pager[O], list, member string) (all paged) {
	t.Helper()
	for p.HasMorePages() {
		page := names(reflect.ValueOf(node.Must(p.NextPage(t.Context()))(t)).Elem().FieldByName(list).Interface(), member)
		all.sizes, all.items = append(all.sizes, len(page)), append(all.items, page...)
		if len(all.sizes) > 20 {
			t.Fatal("the pages do not end")
		}
	}
	return all
}

// names returns a member of each item of a list, by its path; "" is the item itself.
func names(list any, path string) (all []string) {
	items := reflect.ValueOf(list)
	for i := range items.Len() {
		item := items.Index(i)
		for member := range strings.SplitSeq(path, ".") {
			if member != "" {
				item = reflect.Indirect(item).FieldByName(member)
			}
		}
		all = append(all, reflect.Indirect(item).String())
	}
	return all
}

// lists returns what a client lists of all resources, by operation, in pages of two.
func lists(t *testing.T, c *gamelift.Client) map[string]paged {
	t.Helper()
	two := aws.Int32(2)
	return map[string]paged{
		"ListLocations":                     pages(t, gamelift.NewListLocationsPaginator(c, &gamelift.ListLocationsInput{Limit: two}), "Locations", "LocationName"),
		"ListFleets":                        pages(t, gamelift.NewListFleetsPaginator(c, &gamelift.ListFleetsInput{Limit: two}), "FleetIds", ""),
		"DescribeFleetAttributes":           pages(t, gamelift.NewDescribeFleetAttributesPaginator(c, &gamelift.DescribeFleetAttributesInput{Limit: two}), "FleetAttributes", "FleetId"),
		"DescribeFleetUtilization":          pages(t, gamelift.NewDescribeFleetUtilizationPaginator(c, &gamelift.DescribeFleetUtilizationInput{Limit: two}), "FleetUtilization", "FleetId"),
		"ListAliases":                       pages(t, gamelift.NewListAliasesPaginator(c, &gamelift.ListAliasesInput{Limit: two}), "Aliases", "AliasId"),
		"ListBuilds":                        pages(t, gamelift.NewListBuildsPaginator(c, &gamelift.ListBuildsInput{Limit: two}), "Builds", "BuildId"),
		"ListScripts":                       pages(t, gamelift.NewListScriptsPaginator(c, &gamelift.ListScriptsInput{Limit: two}), "Scripts", "ScriptId"),
		"DescribeGameSessionQueues":         pages(t, gamelift.NewDescribeGameSessionQueuesPaginator(c, &gamelift.DescribeGameSessionQueuesInput{Limit: two}), "GameSessionQueues", "Name"),
		"ListGameServerGroups":              pages(t, gamelift.NewListGameServerGroupsPaginator(c, &gamelift.ListGameServerGroupsInput{Limit: two}), "GameServerGroups", "GameServerGroupName"),
		"DescribeMatchmakingRuleSets":       pages(t, gamelift.NewDescribeMatchmakingRuleSetsPaginator(c, &gamelift.DescribeMatchmakingRuleSetsInput{Limit: two}), "RuleSets", "RuleSetName"),
		"DescribeMatchmakingConfigurations": pages(t, gamelift.NewDescribeMatchmakingConfigurationsPaginator(c, &gamelift.DescribeMatchmakingConfigurationsInput{Limit: two}), "Configurations", "Name"),
	}
}

// world has five of every resource that is listed in pages.
type world struct {
	bundle
	fleets, locations, computes, aliases, games, players []string
}

func five(t *testing.T) world {
	t.Helper()
	w := world{bundle: setup(t)}
	ctx, c := t.Context(), w.Client
	g := w.active(t, w.Server(t), 5)
	w.fleets, w.locations = []string{w.FleetID}, []string{w.Location}
	w.computes, w.games = []string{w.ComputeName}, []string{*g.GameSessionId}
	for i := range 5 {
		w.players = append(w.players, *w.reserve(t, g, fmt.Sprint("player", i)).PlayerSessionId)
	}
	for i := range 4 {
		p := node.NewPlace(t, c)
		w.fleets, w.locations = append(w.fleets, p.FleetID), append(w.locations, p.Location)
		node.Must(c.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: &w.FleetID, Locations: []types.LocationConfiguration{{Location: &p.Location}}}))(t)
		name := fmt.Sprint("host-", i+2)
		node.Must(c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &w.FleetID, ComputeName: &name, Location: &w.Location, IpAddress: aws.String("127.0.0.1"), DnsName: aws.String("host.test")}))(t)
		a := node.Must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: &name, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &w.FleetID}}))(t).Alias
		w.computes, w.aliases = append(w.computes, name), append(w.aliases, *a.AliasId)
		w.games = append(w.games, *w.active(t, w.Server(t), 5).GameSessionId)
	}
	return w
}

func TestPages(t *testing.T) {
	w := five(t)
	c, two, fleet := w.Client, aws.Int32(2), &w.FleetID
	custom := []types.LocationFilter{types.LocationFilterCustom}
	check := func(operation string, got paged, want []string) {
		t.Helper()
		slices.Sort(got.items)
		if want = slices.Sorted(slices.Values(want)); !slices.Equal(got.items, want) {
			t.Errorf("%s gives\n%v, want\n%v", operation, got.items, want)
		}
		if slices.Max(got.sizes) > 2 || len(got.sizes) != (len(want)+1)/2 {
			t.Errorf("%s: pages of %v items for %d", operation, got.sizes, len(want))
		}
	}
	all := lists(t, c)
	check("ListFleets", all["ListFleets"], w.fleets)
	check("DescribeFleetAttributes", all["DescribeFleetAttributes"], w.fleets)
	check("DescribeFleetUtilization", all["DescribeFleetUtilization"], w.fleets)
	check("ListAliases", all["ListAliases"], w.aliases)
	check("ListLocations", pages(t, gamelift.NewListLocationsPaginator(c, &gamelift.ListLocationsInput{Limit: two, Filters: custom}), "Locations", "LocationName"), w.locations)
	check("DescribeFleetLocationAttributes", pages(t, gamelift.NewDescribeFleetLocationAttributesPaginator(c, &gamelift.DescribeFleetLocationAttributesInput{FleetId: fleet, Limit: two}),
		"LocationAttributes", "LocationState.Location"), w.locations)
	check("ListCompute", pages(t, gamelift.NewListComputePaginator(c, &gamelift.ListComputeInput{FleetId: fleet, Limit: two}), "ComputeList", "ComputeName"), w.computes)
	check("DescribeGameSessions", pages(t, gamelift.NewDescribeGameSessionsPaginator(c, &gamelift.DescribeGameSessionsInput{FleetId: fleet, Limit: two}),
		"GameSessions", "GameSessionId"), w.games)
	check("DescribeGameSessionDetails", pages(t, gamelift.NewDescribeGameSessionDetailsPaginator(c, &gamelift.DescribeGameSessionDetailsInput{FleetId: fleet, Limit: two}),
		"GameSessionDetails", "GameSession.GameSessionId"), w.games)
	for _, sort := range []*string{nil, aws.String("gameSessionName ASC"), aws.String("creationTimeMillis DESC")} {
		check("SearchGameSessions", pages(t, gamelift.NewSearchGameSessionsPaginator(c, &gamelift.SearchGameSessionsInput{FleetId: fleet, Limit: two, SortExpression: sort}),
			"GameSessions", "GameSessionId"), w.games)
	}
	check("DescribePlayerSessions", pages(t, gamelift.NewDescribePlayerSessionsPaginator(c, &gamelift.DescribePlayerSessionsInput{GameSessionId: &w.games[0], Limit: two}),
		"PlayerSessions", "PlayerSessionId"), w.players)

	// fleet created, fleet active, and an activation for each of the four added
	// locations
	events := pages(t, gamelift.NewDescribeFleetEventsPaginator(c, &gamelift.DescribeFleetEventsInput{FleetId: fleet, Limit: two}), "Events", "EventId")
	slices.Sort(events.items)
	if len(slices.Compact(events.items)) != 6 || slices.Max(events.sizes) != 2 {
		t.Errorf("DescribeFleetEvents gives %d events in pages of %v, want 6", len(events.items), events.sizes)
	}
}

// A NextToken is valid only for the request that returned it, and stays valid when
// items are added.
func TestPages_Tokens(t *testing.T) {
	w := five(t)
	ctx, c := t.Context(), w.Client
	first := node.Must(c.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: &w.FleetID, Limit: aws.Int32(3)}))(t)
	w.active(t, w.Server(t), 1)
	rest := node.Must(c.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: &w.FleetID, NextToken: first.NextToken}))(t)
	if len(first.GameSessions) != 3 || len(rest.GameSessions) != 3 || rest.NextToken != nil {
		t.Errorf("pages of %d and %d, and the next token is %v; want 3, 3 and none", len(first.GameSessions), len(rest.GameSessions), rest.NextToken)
	}
	_, err := c.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: &w.fleets[1], NextToken: first.NextToken})
	refused[*types.InvalidRequestException](t, err, "NextToken")
	_, err = c.ListFleets(ctx, &gamelift.ListFleetsInput{NextToken: first.NextToken})
	refused[*types.InvalidRequestException](t, err, "NextToken")
	_, err = c.ListFleets(ctx, &gamelift.ListFleetsInput{NextToken: aws.String("made up")})
	refused[*types.InvalidRequestException](t, err, "NextToken")
}
