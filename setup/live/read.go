package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// State is the set-up of a server as it was read, with the ids of its resources.
type State struct {
	Setup *setup.Setup
	Notes []string // what the set-up cannot say

	builds          map[string]types.Build // by key
	fleets          map[string]types.FleetAttributes
	containerFleets map[string]types.ContainerFleet
	aliases         map[string]types.Alias
	arns            map[setup.Kind]map[string]string
	named           map[string]named       // by ARN
	given           map[string]setup.Given // capacities of fleets that files gave, by id
	rolledBack      map[string]string      // digests of builds that were rolled back, by ARN
}

// named is a resource by its kind and key.
type named struct {
	kind setup.Kind
	key  string
}

// Read reads the set-up of a server.
func Read(ctx context.Context, api *gamelift.Client) (*State, error) {
	r := &reader{api: api, State: &State{
		Setup: &setup.Setup{}, builds: map[string]types.Build{}, fleets: map[string]types.FleetAttributes{}, containerFleets: map[string]types.ContainerFleet{},
		aliases: map[string]types.Alias{}, arns: map[setup.Kind]map[string]string{}, named: map[string]named{}, given: map[string]setup.Given{}, rolledBack: map[string]string{},
	}}
	for _, read := range []func(context.Context) error{
		r.locations, r.buildsOf, r.containerGroups, r.fleetsOf, r.containerFleetsOf, r.aliasesOf, r.queues, r.ruleSets, r.configurations,
	} {
		if err := read(ctx); err != nil {
			return nil, fmt.Errorf("read the set-up: %w", err)
		}
	}
	return r.State, nil
}

type reader struct {
	*State
	api *gamelift.Client
}

// is registers the ARN of a resource.
func (s *State) is(kind setup.Kind, key, arn string) {
	if s.arns[kind] == nil {
		s.arns[kind] = map[string]string{}
	}
	s.arns[kind][key] = arn
	s.named[arn] = named{kind, key}
}

func (s *State) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// put adds a resource to a set-up's map of its kind.
func put[T any](all *map[string]*T, key string, v *T) {
	if *all == nil {
		*all = map[string]*T{}
	}
	(*all)[key] = v
}

// val returns what a pointer leads to, or the zero value.
func val[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// text returns a string that the API shows, nil if it is empty.
func text(p *string) *string {
	if val(p) == "" {
		return nil
	}
	return p
}

// list returns a list that the API shows, nil if it is empty.
func list[T any](all []T) []T {
	if len(all) == 0 {
		return nil
	}
	return all
}

// tags reads the tags of a resource. Those of AWS itself are left out.
func (r *reader) tags(ctx context.Context, arn string) (setup.Tags, error) {
	out, err := r.api.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: &arn})
	if err != nil {
		return nil, err
	}
	var all setup.Tags
	for _, t := range out.Tags {
		if strings.HasPrefix(*t.Key, "aws:") {
			continue
		}
		if all == nil {
			all = setup.Tags{}
		}
		all[*t.Key] = *t.Value
	}
	return all, nil
}

// take removes a tag and returns its value.
func take(tags *setup.Tags, name string) string {
	v := (*tags)[name]
	delete(*tags, name)
	if len(*tags) == 0 {
		*tags = nil
	}
	return v
}

func (r *reader) locations(ctx context.Context) error {
	for page := gamelift.NewListLocationsPaginator(r.api, &gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterCustom}}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, l := range out.Locations {
			tags, err := r.tags(ctx, *l.LocationArn)
			if err != nil {
				return err
			}
			put(&r.Setup.Locations, *l.LocationName, &setup.Location{Tags: tags})
			r.is(setup.LocationKind, *l.LocationName, *l.LocationArn)
		}
	}
	return nil
}

// buildsOf reads the builds that are READY, or wait for their files.
func (r *reader) buildsOf(ctx context.Context) error {
	var all []types.Build
	for page := gamelift.NewListBuildsPaginator(r.api, &gamelift.ListBuildsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, b := range out.Builds {
			if b.Status == types.BuildStatusReady {
				all = append(all, b)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b types.Build) int { return b.CreationTime.Compare(*a.CreationTime) }) // the newest first
	names := map[string]int{}
	for _, b := range all {
		names[val(b.Name)]++
	}
	for _, b := range all {
		tags, err := r.tags(ctx, *b.BuildArn)
		if err != nil {
			return err
		}
		back := take(&tags, setup.RolledBackTag)
		made := &setup.Build{Name: val(b.Name), Version: text(b.Version), OperatingSystem: b.OperatingSystem, ServerSdkVersion: text(b.ServerSdkVersion), Content: take(&tags, setup.ContentTag), Tags: tags}
		key := made.Name
		if key == "" || names[key] > 1 {
			key = made.Key()
		}
		if r.Setup.Builds[key] != nil || key == "" {
			key += "#" + *b.BuildId
		}
		r.Setup.AddBuild(key, made)
		if at, err := time.Parse(time.RFC3339, back); err == nil {
			r.Setup.RollBack(key, at)
			r.rolledBack[*b.BuildArn] = made.Content
		}
		r.builds[key] = b
		r.is(setup.BuildKind, key, *b.BuildArn)
	}
	return nil
}

func (r *reader) containerGroups(ctx context.Context) error {
	for page := gamelift.NewListContainerGroupDefinitionsPaginator(r.api, &gamelift.ListContainerGroupDefinitionsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, d := range out.ContainerGroupDefinitions {
			tags, err := r.tags(ctx, *d.ContainerGroupDefinitionArn)
			if err != nil {
				return err
			}
			made := &setup.ContainerGroup{
				ContainerGroupType: d.ContainerGroupType, OperatingSystem: d.OperatingSystem, TotalMemoryLimitMebibytes: d.TotalMemoryLimitMebibytes, TotalVcpuLimit: d.TotalVcpuLimit,
				VersionDescription: text(d.VersionDescription), Tags: tags,
			}
			if g := d.GameServerContainerDefinition; g != nil {
				made.GameServerContainerDefinition = &types.GameServerContainerDefinitionInput{
					ContainerName: g.ContainerName, ImageUri: g.ImageUri, PortConfiguration: g.PortConfiguration, ServerSdkVersion: g.ServerSdkVersion,
					DependsOn: list(g.DependsOn), EnvironmentOverride: list(g.EnvironmentOverride), MountPoints: list(g.MountPoints),
				}
			}
			for _, s := range d.SupportContainerDefinitions {
				made.SupportContainerDefinitions = append(made.SupportContainerDefinitions, types.SupportContainerDefinitionInput{
					ContainerName: s.ContainerName, ImageUri: s.ImageUri, DependsOn: list(s.DependsOn), EnvironmentOverride: list(s.EnvironmentOverride), Essential: s.Essential,
					HealthCheck: s.HealthCheck, MemoryHardLimitMebibytes: s.MemoryHardLimitMebibytes, MountPoints: list(s.MountPoints), PortConfiguration: s.PortConfiguration, Vcpu: s.Vcpu,
				})
			}
			put(&r.Setup.ContainerGroupDefinitions, *d.Name, made)
			r.is(setup.ContainerGroupKind, *d.Name, *d.ContainerGroupDefinitionArn)
		}
	}
	return nil
}

func (r *reader) aliasesOf(ctx context.Context) error {
	for page := gamelift.NewListAliasesPaginator(r.api, &gamelift.ListAliasesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, a := range out.Aliases {
			if err := r.alias(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) alias(ctx context.Context, a types.Alias) error {
	tags, err := r.tags(ctx, *a.AliasArn)
	if err != nil {
		return err
	}
	made := &setup.Alias{Description: text(a.Description), Tags: tags}
	key := r.unique(setup.AliasKind, val(a.Name), *a.AliasId)
	switch s := a.RoutingStrategy; {
	case s.Type == types.RoutingStrategyTypeTerminal:
		made.Message = s.Message
	default:
		for arn, n := range r.named {
			if strings.HasSuffix(arn, "/"+val(s.FleetId)) {
				made.Fleet, made.ContainerFleet = fleetRef(n)
			}
		}
		if made.Fleet == "" && made.ContainerFleet == "" {
			r.note("alias %s leads to %s, which is not in the file: it is left out", key, val(s.FleetId))
			return nil
		}
	}
	put(&r.Setup.Aliases, key, made)
	r.aliases[key] = a
	r.is(setup.AliasKind, key, *a.AliasArn)
	return nil
}

func fleetRef(n named) (fleet, containerFleet string) {
	if n.kind == setup.FleetKind {
		return n.key, ""
	}
	return "", n.key
}

// unique returns the key of a resource whose name need not be the only one of its kind.
func (r *reader) unique(kind setup.Kind, name, id string) string {
	if name == "" {
		return id
	}
	if _, twice := r.arns[kind][name]; twice {
		r.note("there are several %s resources named %s: %s is written as %s@%s. A file cannot change them until each has a name of its own", kind, name, id, name, id)
		return name + "@" + id
	}
	return name
}

func (r *reader) queues(ctx context.Context) error {
	for page := gamelift.NewDescribeGameSessionQueuesPaginator(r.api, &gamelift.DescribeGameSessionQueuesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, q := range out.GameSessionQueues {
			tags, err := r.tags(ctx, *q.GameSessionQueueArn)
			if err != nil {
				return err
			}
			made := &setup.Queue{
				TimeoutInSeconds: q.TimeoutInSeconds, PlayerLatencyPolicies: list(q.PlayerLatencyPolicies), FilterConfiguration: q.FilterConfiguration,
				PriorityConfiguration: q.PriorityConfiguration, CustomEventData: text(q.CustomEventData), NotificationTarget: text(q.NotificationTarget), Tags: tags,
			}
			for _, d := range q.Destinations {
				made.Destinations = append(made.Destinations, r.destination(*d.DestinationArn))
			}
			put(&r.Setup.GameSessionQueues, *q.Name, made)
			r.is(setup.QueueKind, *q.Name, *q.GameSessionQueueArn)
		}
	}
	return nil
}

// destination returns a destination of a queue by what its ARN names.
func (s *State) destination(arn string) setup.Destination {
	_, of, _ := strings.Cut(arn, ":gamelift:")
	for known, n := range s.named {
		if _, is, _ := strings.Cut(known, ":gamelift:"); resource(is) != resource(of) {
			continue
		}
		switch n.kind {
		case setup.FleetKind:
			return setup.Destination{Fleet: n.key}
		case setup.ContainerFleetKind:
			return setup.Destination{ContainerFleet: n.key}
		case setup.AliasKind:
			return setup.Destination{Alias: n.key}
		}
	}
	return setup.Destination{DestinationArn: arn}
}

// resource returns the last part of an ARN, such as fleet/fleet-….
func resource(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }

func (r *reader) ruleSets(ctx context.Context) error {
	for page := gamelift.NewDescribeMatchmakingRuleSetsPaginator(r.api, &gamelift.DescribeMatchmakingRuleSetsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, s := range out.RuleSets {
			tags, err := r.tags(ctx, *s.RuleSetArn)
			if err != nil {
				return err
			}
			put(&r.Setup.MatchmakingRuleSets, *s.RuleSetName, &setup.RuleSet{RuleSetBody: s.RuleSetBody, Tags: tags})
			r.is(setup.RuleSetKind, *s.RuleSetName, *s.RuleSetArn)
		}
	}
	return nil
}

func (r *reader) configurations(ctx context.Context) error {
	for page := gamelift.NewDescribeMatchmakingConfigurationsPaginator(r.api, &gamelift.DescribeMatchmakingConfigurationsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, c := range out.Configurations {
			tags, err := r.tags(ctx, *c.ConfigurationArn)
			if err != nil {
				return err
			}
			made := &setup.Matchmaking{
				Description: text(c.Description), RuleSet: *c.RuleSetName, FlexMatchMode: c.FlexMatchMode, BackfillMode: c.BackfillMode, RequestTimeoutSeconds: c.RequestTimeoutSeconds,
				AcceptanceRequired: c.AcceptanceRequired, AcceptanceTimeoutSeconds: c.AcceptanceTimeoutSeconds, AdditionalPlayerCount: c.AdditionalPlayerCount,
				GameProperties: list(c.GameProperties), GameSessionData: text(c.GameSessionData), CustomEventData: text(c.CustomEventData), NotificationTarget: text(c.NotificationTarget), Tags: tags,
			}
			for _, arn := range c.GameSessionQueueArns {
				if n, ok := r.named[arn]; ok {
					arn = n.key
				}
				made.GameSessionQueues = append(made.GameSessionQueues, arn)
			}
			put(&r.Setup.MatchmakingConfigurations, *c.Name, made)
			r.is(setup.MatchmakingKind, *c.Name, *c.ConfigurationArn)
		}
	}
	return nil
}

// missing reports whether an error says that something does not exist.
func missing(err error) bool {
	_, ok := errors.AsType[*types.NotFoundException](err)
	return ok
}
