package setup

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/setup"
)

// setups generates set-ups without fleets of builds, which need machines. Builds have the
// archive given.
func setups(archive string) *rapid.Generator[*setup.Setup] {
	return rapid.Custom(func(t *rapid.T) *setup.Setup {
		s := &setup.Setup{}
		word := rapid.StringMatching(`[a-z]{1,6}( [a-z:]{1,4}#?)?`)
		tags := func() setup.Tags {
			if m := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}(:[a-z]{1,3})?`), rapid.StringMatching(`[a-z0-9 =.]{0,6}`), 0, 2).Draw(t, "tags"); len(m) > 0 {
				return m
			}
			return nil
		}
		maybe := func(g *rapid.Generator[string]) *string { return rapid.Ptr(g, true).Draw(t, "text") }
		s.Locations = some(t, "location", "custom-l", 3, func(string) *setup.Location { return &setup.Location{Tags: tags()} })
		s.Builds = some(t, "build", "b", 2, func(string) *setup.Build {
			return &setup.Build{
				Version: maybe(rapid.SampledFrom([]string{"1", "1.0", "true"})), OperatingSystem: types.OperatingSystemAmazonLinux2023, ServerSdkVersion: aws.String("5.4.0"), Archive: archive, Tags: tags(),
			}
		})
		s.Fleets = some(t, "fleet", "f ", 3, func(string) *setup.Fleet {
			f := &setup.Fleet{
				ComputeType: types.ComputeTypeAnywhere, Description: maybe(word), Tags: tags(), Locations: map[string]*setup.Capacity{},
				NewGameSessionProtectionPolicy: rapid.SampledFrom(types.ProtectionPolicy("").Values()).Draw(t, "protection"),
			}
			for name := range s.Locations {
				if len(f.Locations) == 0 || rapid.Bool().Draw(t, "there") {
					f.Locations[name] = &setup.Capacity{}
				}
			}
			if rapid.Bool().Draw(t, "limited") {
				f.ResourceCreationLimitPolicy = &types.ResourceCreationLimitPolicy{NewGameSessionsPerCreator: aws.Int32(rapid.Int32Range(1, 9).Draw(t, "n")), PolicyPeriodInMinutes: aws.Int32(rapid.Int32Range(1, 9).Draw(t, "minutes"))}
			}
			return f
		})
		if len(s.Locations) == 0 {
			s.Fleets = nil // an Anywhere fleet has a location
		}
		s.Aliases = some(t, "alias", "a", 3, func(string) *setup.Alias {
			a := &setup.Alias{Description: maybe(word), Tags: tags()}
			if fleet := one(t, s.Fleets); fleet != "" {
				a.Fleet = fleet
			} else {
				a.Message = aws.String(word.Draw(t, "message"))
			}
			return a
		})
		s.GameSessionQueues = some(t, "queue", "q-", 3, func(string) *setup.Queue {
			q := &setup.Queue{TimeoutInSeconds: aws.Int32(rapid.Int32Range(10, 600).Draw(t, "timeout")), CustomEventData: maybe(word), Tags: tags(), Destinations: []setup.Destination{}}
			if fleet := one(t, s.Fleets); fleet != "" {
				q.Destinations = append(q.Destinations, setup.Destination{Fleet: fleet})
			}
			if alias := one(t, s.Aliases); alias != "" && s.Aliases[alias].Fleet != "" {
				q.Destinations = append(q.Destinations, setup.Destination{Alias: alias})
			}
			if rapid.Bool().Draw(t, "policy") {
				q.PlayerLatencyPolicies = []types.PlayerLatencyPolicy{{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(rapid.Int32Range(1, 300).Draw(t, "ms"))}}
			}
			if rapid.Bool().Draw(t, "priority") {
				q.PriorityConfiguration = &types.PriorityConfiguration{PriorityOrder: rapid.Permutation(types.PriorityType("").Values()).Draw(t, "order"), LocationOrder: []string{"us-east-1"}}
			}
			return q
		})
		s.MatchmakingRuleSets = some(t, "rule set", "r", 2, func(string) *setup.RuleSet {
			n := rapid.IntRange(1, 4).Draw(t, "players")
			space := strings.Repeat(" ", rapid.IntRange(0, 2).Draw(t, "space"))
			return &setup.RuleSet{Tags: tags(), RuleSetBody: aws.String(fmt.Sprintf("{%s\"name\": \"x\",\n \"ruleLanguageVersion\": \"1.0\", \"teams\": [{\"name\": \"t\", \"minPlayers\": %d, \"maxPlayers\": %d}]}", space, n, n))}
		})
		s.MatchmakingConfigurations = some(t, "configuration", "c", 2, func(string) *setup.Matchmaking {
			rules := one(t, s.MatchmakingRuleSets)
			if rules == "" {
				return nil
			}
			m := &setup.Matchmaking{
				Description: maybe(word), RuleSet: rules, FlexMatchMode: types.FlexMatchModeStandalone, RequestTimeoutSeconds: aws.Int32(rapid.Int32Range(1, 600).Draw(t, "timeout")),
				AcceptanceRequired: aws.Bool(false), CustomEventData: maybe(word), Tags: tags(),
			}
			if q := one(t, s.GameSessionQueues); q != "" {
				m.FlexMatchMode, m.GameSessionQueues = types.FlexMatchModeWithQueue, []string{q}
				m.BackfillMode = rapid.SampledFrom(types.BackfillMode("").Values()).Draw(t, "backfill")
				m.GameProperties = []types.GameProperty{{Key: aws.String(word.Draw(t, "key")), Value: aws.String(word.Draw(t, "value"))}}
			}
			return m
		})
		return s
	})
}

// some returns up to n resources with names that begin with prefix. Those that make returns nil
// for are left out.
func some[T any](t *rapid.T, what, prefix string, n int, make func(name string) *T) map[string]*T {
	var all map[string]*T
	for i := range rapid.IntRange(0, n).Draw(t, what) {
		name := fmt.Sprintf("%s%d", prefix, rapid.IntRange(0, 2).Draw(t, "number")*10+i)
		if v := make(name); v != nil {
			if all == nil {
				all = map[string]*T{}
			}
			all[name] = v
		}
	}
	return all
}

// one returns the name of one of all, "" if there is none, or sometimes.
func one[T any](t *rapid.T, all map[string]*T) string {
	names := []string{""}
	for i := range 40 { // in a fixed order
		for _, prefix := range []string{"custom-l", "b", "f ", "a", "q-", "r", "c"} {
			if name := fmt.Sprintf("%s%d", prefix, i); all[name] != nil {
				names = append(names, name)
			}
		}
	}
	return rapid.SampledFrom(names).Draw(t, "one")
}
