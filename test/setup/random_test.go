package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/setup"
)

// setups generates set-ups. Builds have the archive given. With managed there are fleets of a build, which
// need a machine in the home region. There are no container fleets: their definitions are READY only once a
// container engine or a registry has their images, and the tests in test/containers have one.
func setups(archive string, managed bool) *rapid.Generator[*setup.Setup] {
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
			for _, name := range slices.Sorted(maps.Keys(s.Locations)) {
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
		if managed {
			s.Builds = with(s.Builds, hosted, &setup.Build{OperatingSystem: types.OperatingSystemAmazonLinux2023, ServerSdkVersion: aws.String("5.4.0"), Archive: archive, Tags: tags()})
			for i := range rapid.IntRange(1, 2).Draw(t, "managed") {
				s.Fleets = with(s.Fleets, fmt.Sprintf("m %d", i), managedFleet(t, i, slices.Sorted(maps.Keys(s.Locations)), maybe(word), tags()))
			}
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

// hosted is the build of managed fleets.
const hosted = "hosted"

// with adds a resource to those of its kind.
func with[T any](all map[string]*T, name string, v *T) map[string]*T {
	if all == nil {
		all = map[string]*T{}
	}
	all[name] = v
	return all
}

// managedFleet returns the fleet of a build with a number. What cannot be changed depends on that alone: a fleet
// that is replaced leaves another behind. Only the home region has instances, at most one. Scaling policies
// cannot change that: either it is at the limits, or scaling is stopped, or the server sets MinSize.
func managedFleet(t *rapid.T, number int, locations []string, description *string, tags setup.Tags) *setup.Fleet {
	n := func(low, high int32, what string) *int32 { return aws.Int32(rapid.Int32Range(low, high).Draw(t, what)) }
	flip := func(what string) bool { return rapid.Bool().Draw(t, what) }
	f := &setup.Fleet{
		Build: hosted, ComputeType: types.ComputeTypeEc2, Description: description, Tags: tags, Locations: map[string]*setup.Capacity{},
		EC2InstanceType: []types.EC2InstanceType{types.EC2InstanceTypeC5Large, types.EC2InstanceTypeM5Large}[number],
		FleetType:       []types.FleetType{types.FleetTypeOnDemand, types.FleetTypeSpot}[number],
		CertificateConfiguration: &types.CertificateConfiguration{
			CertificateType: []types.CertificateType{types.CertificateTypeDisabled, types.CertificateTypeGenerated}[number],
		},
		NewGameSessionProtectionPolicy: rapid.SampledFrom(types.ProtectionPolicy("").Values()).Draw(t, "protection"),
		RuntimeConfiguration:           &types.RuntimeConfiguration{},
		EC2InboundPermissions:          []types.IpPermission{},
		ScalingPolicies:                map[string]*setup.ScalingPolicy{},
		HomeRegion:                     &setup.Capacity{MinSize: aws.Int32(0), MaxSize: n(1, 9, "max"), DesiredInstances: n(0, 1, "desired")},
	}
	for range rapid.IntRange(1, 2).Draw(t, "processes") {
		f.RuntimeConfiguration.ServerProcesses = append(f.RuntimeConfiguration.ServerProcesses, types.ServerProcess{
			LaunchPath: aws.String("/local/game/game"), Parameters: aws.String("{{.NoSDK}} " + rapid.StringMatching(`[a-z]{0,4}`).Draw(t, "parameters")), ConcurrentExecutions: n(1, 2, "concurrent"),
		})
	}
	if flip("activation") {
		f.RuntimeConfiguration.GameSessionActivationTimeoutSeconds, f.RuntimeConfiguration.MaxConcurrentGameSessionActivations = n(1, 600, "seconds"), n(1, 9, "activations")
	}
	if flip("limited") {
		f.ResourceCreationLimitPolicy = &types.ResourceCreationLimitPolicy{NewGameSessionsPerCreator: n(1, 9, "n"), PolicyPeriodInMinutes: n(1, 9, "minutes")}
	}
	if flip("metrics") {
		f.MetricGroups = []string{"group-" + rapid.StringMatching(`[a-z]{1,4}`).Draw(t, "group")}
	}
	for i := range rapid.Int32Range(0, 2).Draw(t, "ports") {
		from := n(7000+100*i, 7050+100*i, "from")
		f.EC2InboundPermissions = append(f.EC2InboundPermissions, types.IpPermission{
			FromPort: from, ToPort: n(*from, 7099+100*i, "to"), IpRange: aws.String("10.0.0.0/8"), Protocol: rapid.SampledFrom(types.IpProtocol("").Values()).Draw(t, "protocol"),
		})
	}
	for _, name := range locations {
		if flip("there") {
			c := &setup.Capacity{MinSize: aws.Int32(0), MaxSize: n(0, 9, "max"), DesiredInstances: aws.Int32(0)}
			if flip("stopped") {
				c.StoppedActions = types.FleetAction("").Values()
			}
			f.Locations[name] = c
		}
	}
	home := f.HomeRegion
	if flip("zero") {
		home.MinSize = nil // the server sets it
		home.ManagedCapacityConfiguration = &types.ManagedCapacityConfiguration{ZeroCapacityStrategy: types.ZeroCapacityStrategyScaleToAndFromZero, ScaleInAfterInactivityMinutes: n(5, 60, "minutes")}
	}
	if flip("stopped") {
		home.StoppedActions = types.FleetAction("").Values()
	}
	if home.StoppedActions == nil && home.ManagedCapacityConfiguration == nil {
		home.MinSize, home.MaxSize = home.DesiredInstances, home.DesiredInstances
	}
	if flip("target") {
		f.ScalingPolicies["target"] = &setup.ScalingPolicy{PolicyType: types.PolicyTypeTargetBased, MetricName: types.MetricNamePercentAvailableGameSessions, TargetConfiguration: &types.TargetConfiguration{TargetValue: aws.Float64(float64(*n(1, 99, "percent")))}}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "rules") {
		f.ScalingPolicies[fmt.Sprintf("rule %d", i)] = &setup.ScalingPolicy{
			PolicyType: types.PolicyTypeRuleBased, MetricName: rapid.SampledFrom([]types.MetricName{types.MetricNameActiveGameSessions, types.MetricNameIdleInstances, types.MetricNameQueueDepth}).Draw(t, "metric"),
			ComparisonOperator: rapid.SampledFrom(types.ComparisonOperatorType("").Values()).Draw(t, "comparison"), Threshold: aws.Float64(float64(*n(0, 90, "threshold")) / 4),
			EvaluationPeriods: n(1, 9, "periods"), ScalingAdjustment: n(0, 5, "adjustment"), ScalingAdjustmentType: rapid.SampledFrom(types.ScalingAdjustmentType("").Values()).Draw(t, "type"),
		}
	}
	return f
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
		for _, prefix := range []string{"custom-l", "b", "f ", "m ", "a", "q-", "r", "c"} {
			if name := fmt.Sprintf("%s%d", prefix, i); all[name] != nil {
				names = append(names, name)
			}
		}
	}
	return rapid.SampledFrom(names).Draw(t, "one")
}
