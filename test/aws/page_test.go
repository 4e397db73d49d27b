package aws

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
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

// pages reads a paginator to its end and returns the sizes of its pages and all items.
func pages[O any](t *testing.T, p pager[O], items func(O) []string) (sizes []int, all []string) {
	t.Helper()
	for p.HasMorePages() {
		page := must(p.NextPage(t.Context()))(t)
		sizes = append(sizes, len(items(page)))
		all = append(all, items(page)...)
		if len(sizes) > 20 {
			t.Fatal("the pages do not end")
		}
	}
	return sizes, all
}

// names returns the name of each item.
func names[T any](items []T, name func(T) *string) []string {
	var all []string
	for _, item := range items {
		all = append(all, *name(item))
	}
	return all
}

// world has five of every resource that is listed in pages.
type world struct {
	bundle
	fleets, locations, computes, games, players []string
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
		must(c.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: &w.FleetID, Locations: []types.LocationConfiguration{{Location: &p.Location}}}))(t)
		name := fmt.Sprint("host-", i+2)
		must(c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &w.FleetID, ComputeName: &name, Location: &w.Location, IpAddress: aws.String("127.0.0.1"), DnsName: aws.String("host.test")}))(t)
		must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: &name, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &w.FleetID}}))(t)
		w.computes = append(w.computes, name)
		w.games = append(w.games, *w.active(t, w.Server(t), 5).GameSessionId)
	}
	return w
}

func TestPages(t *testing.T) {
	w := five(t)
	two, fleet := aws.Int32(2), &w.FleetID
	check := func(name string, want []string, sizes []int, got []string) {
		t.Helper()
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s gives\n%v, want\n%v", name, got, want)
		}
		if slices.Max(sizes) > 2 || len(sizes) != (len(want)+1)/2 {
			t.Errorf("%s: pages of %v items for %d", name, sizes, len(want))
		}
	}

	sizes, got := pages(t, gamelift.NewListFleetsPaginator(w.Client, &gamelift.ListFleetsInput{Limit: two}),
		func(o *gamelift.ListFleetsOutput) []string { return o.FleetIds })
	check("ListFleets", slices.Clone(w.fleets), sizes, got)

	sizes, got = pages(t, gamelift.NewDescribeFleetAttributesPaginator(w.Client, &gamelift.DescribeFleetAttributesInput{Limit: two}),
		func(o *gamelift.DescribeFleetAttributesOutput) []string {
			return names(o.FleetAttributes, func(f types.FleetAttributes) *string { return f.FleetId })
		})
	check("DescribeFleetAttributes", slices.Clone(w.fleets), sizes, got)

	sizes, got = pages(t, gamelift.NewDescribeFleetUtilizationPaginator(w.Client, &gamelift.DescribeFleetUtilizationInput{Limit: two}),
		func(o *gamelift.DescribeFleetUtilizationOutput) []string {
			return names(o.FleetUtilization, func(f types.FleetUtilization) *string { return f.FleetId })
		})
	check("DescribeFleetUtilization", slices.Clone(w.fleets), sizes, got)

	sizes, got = pages(t, gamelift.NewDescribeFleetLocationAttributesPaginator(w.Client, &gamelift.DescribeFleetLocationAttributesInput{FleetId: fleet, Limit: two}),
		func(o *gamelift.DescribeFleetLocationAttributesOutput) []string {
			return names(o.LocationAttributes, func(l types.LocationAttributes) *string { return l.LocationState.Location })
		})
	check("DescribeFleetLocationAttributes", slices.Clone(w.locations), sizes, got)

	sizes, got = pages(t, gamelift.NewListLocationsPaginator(w.Client, &gamelift.ListLocationsInput{Limit: two, Filters: []types.LocationFilter{types.LocationFilterCustom}}),
		func(o *gamelift.ListLocationsOutput) []string {
			return names(o.Locations, func(l types.LocationModel) *string { return l.LocationName })
		})
	check("ListLocations", slices.Clone(w.locations), sizes, got)

	sizes, got = pages(t, gamelift.NewListAliasesPaginator(w.Client, &gamelift.ListAliasesInput{Limit: two}),
		func(o *gamelift.ListAliasesOutput) []string {
			return names(o.Aliases, func(a types.Alias) *string { return a.Name })
		})
	check("ListAliases", slices.Clone(w.computes[1:]), sizes, got)

	sizes, got = pages(t, gamelift.NewListComputePaginator(w.Client, &gamelift.ListComputeInput{FleetId: fleet, Limit: two}),
		func(o *gamelift.ListComputeOutput) []string {
			return names(o.ComputeList, func(c types.Compute) *string { return c.ComputeName })
		})
	check("ListCompute", slices.Clone(w.computes), sizes, got)

	game := func(g types.GameSession) *string { return g.GameSessionId }
	sizes, got = pages(t, gamelift.NewDescribeGameSessionsPaginator(w.Client, &gamelift.DescribeGameSessionsInput{FleetId: fleet, Limit: two}),
		func(o *gamelift.DescribeGameSessionsOutput) []string { return names(o.GameSessions, game) })
	check("DescribeGameSessions", slices.Clone(w.games), sizes, got)

	sizes, got = pages(t, gamelift.NewDescribeGameSessionDetailsPaginator(w.Client, &gamelift.DescribeGameSessionDetailsInput{FleetId: fleet, Limit: two}),
		func(o *gamelift.DescribeGameSessionDetailsOutput) []string {
			return names(o.GameSessionDetails, func(d types.GameSessionDetail) *string { return d.GameSession.GameSessionId })
		})
	check("DescribeGameSessionDetails", slices.Clone(w.games), sizes, got)

	for _, sort := range []*string{nil, aws.String("gameSessionName ASC"), aws.String("creationTimeMillis DESC")} {
		sizes, got = pages(t, gamelift.NewSearchGameSessionsPaginator(w.Client, &gamelift.SearchGameSessionsInput{FleetId: fleet, Limit: two, SortExpression: sort}),
			func(o *gamelift.SearchGameSessionsOutput) []string { return names(o.GameSessions, game) })
		check("SearchGameSessions", slices.Clone(w.games), sizes, got)
	}

	sizes, got = pages(t, gamelift.NewDescribePlayerSessionsPaginator(w.Client, &gamelift.DescribePlayerSessionsInput{GameSessionId: &w.games[0], Limit: two}),
		func(o *gamelift.DescribePlayerSessionsOutput) []string {
			return names(o.PlayerSessions, func(p types.PlayerSession) *string { return p.PlayerSessionId })
		})
	check("DescribePlayerSessions", slices.Clone(w.players), sizes, got)

	// fleet created, fleet active, and an activation for each of the four added
	// locations
	sizes, got = pages(t, gamelift.NewDescribeFleetEventsPaginator(w.Client, &gamelift.DescribeFleetEventsInput{FleetId: fleet, Limit: two}),
		func(o *gamelift.DescribeFleetEventsOutput) []string {
			return names(o.Events, func(e types.Event) *string { return e.EventId })
		})
	slices.Sort(got)
	if len(slices.Compact(got)) != 6 || slices.Max(sizes) != 2 {
		t.Errorf("DescribeFleetEvents gives %d events in pages of %v, want 6", len(got), sizes)
	}
}

// A NextToken is valid only for the request that returned it, and stays valid when
// items are added.
func TestPages_Tokens(t *testing.T) {
	w := five(t)
	ctx, c := t.Context(), w.Client
	first := must(c.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: &w.FleetID, Limit: aws.Int32(3)}))(t)
	w.active(t, w.Server(t), 1)
	rest := must(c.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: &w.FleetID, NextToken: first.NextToken}))(t)
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

// A token of a search of an older version, which had another cursor, is refused: the search
// would begin anew unnoticed.
func TestPages_OldSearchToken(t *testing.T) {
	w := five(t)
	in := &gamelift.SearchGameSessionsInput{FleetId: &w.FleetID, Limit: aws.Int32(2)}
	first := must(w.Client.SearchGameSessions(t.Context(), in))(t)
	var token map[string]any
	if err := json.Unmarshal(must(base64.RawURLEncoding.DecodeString(*first.NextToken))(t), &token); err != nil {
		t.Fatal(err)
	}
	token["Cursor"] = map[string]any{"ID": *first.GameSessions[1].GameSessionId, "Seen": 2}
	in.NextToken = aws.String(base64.RawURLEncoding.EncodeToString(must(json.Marshal(token))(t)))
	_, err := w.Client.SearchGameSessions(t.Context(), in)
	refused[*types.InvalidRequestException](t, err, "older version")
}
