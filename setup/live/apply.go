package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// maker makes changes. Its State follows them.
type maker struct {
	*Server
	*State
	want *setup.Setup
	// deployed is the fleet whose build is deployed, nil if the file decides on capacities.
	deployed *deployed
	rolling  *rolling
}

// maker returns a maker that knows the builds of the server by the keys of the file. What it
// uploads takes those keys, so there must be one maker for all that follows.
func (s *Server) maker(want *setup.Setup, state *State) *maker {
	m := &maker{Server: s, want: want, State: state}
	found := map[string]types.Build{}
	for old, key := range state.Setup.Matching(want) {
		found[key] = m.builds[old]
	}
	for key, b := range found {
		m.builds[key] = b
		m.is(setup.BuildKind, key, *b.BuildArn)
	}
	return m
}

func isFleet(k setup.Kind) bool { return k == setup.FleetKind || k == setup.ContainerFleetKind }

// do does one action for a resource that is no fleet, or deletes one.
func (m *maker) do(ctx context.Context, a setup.Action) error {
	if a.Op == setup.Delete {
		return m.remove(ctx, a)
	}
	var tags setup.Tags
	var err error
	switch a.Kind {
	case setup.LocationKind:
		tags = m.want.Locations[a.Name].Tags
		if a.Op == setup.Create {
			var out *gamelift.CreateLocationOutput
			if out, err = m.API.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &a.Name, Tags: tagsOf(tags)}); err == nil {
				m.is(a.Kind, a.Name, *out.Location.LocationArn)
			}
		}
	case setup.BuildKind:
		tags = m.want.Builds[a.Name].Tags
		if a.Op == setup.Update {
			break // its tags alone can change
		}
		var made *types.Build
		if made, err = m.build(ctx, a.Name, m.want.Builds[a.Name]); err == nil {
			m.builds[a.Name] = *made
			m.is(a.Kind, a.Name, *made.BuildArn)
		}
	case setup.ContainerGroupKind:
		tags, err = m.want.ContainerGroupDefinitions[a.Name].Tags, m.containerGroup(ctx, a)
	case setup.AliasKind:
		tags, err = m.want.Aliases[a.Name].Tags, m.alias(ctx, a)
	case setup.QueueKind:
		tags, err = m.want.GameSessionQueues[a.Name].Tags, m.queue(ctx, a)
	case setup.RuleSetKind:
		tags, err = m.want.MatchmakingRuleSets[a.Name].Tags, m.ruleSet(ctx, a)
	case setup.MatchmakingKind:
		tags, err = m.want.MatchmakingConfigurations[a.Name].Tags, m.configuration(ctx, a)
	}
	if err != nil || a.Op != setup.Update {
		return err
	}
	return m.retag(ctx, m.arns[a.Kind][a.Name], tags, a.Changes)
}

// retag makes the changes of tags among changes; tags are those that the file has.
func (m *maker) retag(ctx context.Context, arn string, tags setup.Tags, changes []setup.Change) error {
	add, drop := setup.Tags{}, []string(nil)
	for _, c := range changes {
		key, ok := strings.CutPrefix(c.Member, "Tags.")
		if value, has := tags[key]; ok && has {
			add[key] = value
		} else if ok {
			drop = append(drop, key)
		}
	}
	if len(drop) > 0 {
		if _, err := m.API.UntagResource(ctx, &gamelift.UntagResourceInput{ResourceARN: &arn, TagKeys: drop}); err != nil {
			return err
		}
	}
	if len(add) > 0 {
		if _, err := m.API.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: &arn, Tags: tagsOf(add)}); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) containerGroup(ctx context.Context, a setup.Action) error {
	w := m.want.ContainerGroupDefinitions[a.Name]
	if a.Op == setup.Create {
		out, err := m.API.CreateContainerGroupDefinition(ctx, &gamelift.CreateContainerGroupDefinitionInput{
			Name: &a.Name, OperatingSystem: cmp.Or(w.OperatingSystem, types.ContainerOperatingSystemAmazonLinux2023), TotalMemoryLimitMebibytes: w.TotalMemoryLimitMebibytes, TotalVcpuLimit: w.TotalVcpuLimit,
			ContainerGroupType: w.ContainerGroupType, GameServerContainerDefinition: w.GameServerContainerDefinition, SupportContainerDefinitions: w.SupportContainerDefinitions,
			VersionDescription: w.VersionDescription, Tags: tagsOf(w.Tags),
		})
		if err != nil {
			return err
		}
		m.is(a.Kind, a.Name, *out.ContainerGroupDefinition.ContainerGroupDefinitionArn)
	} else if len(without(a.Changes, "Tags.")) > 0 {
		_, err := m.API.UpdateContainerGroupDefinition(ctx, &gamelift.UpdateContainerGroupDefinitionInput{
			Name: &a.Name, OperatingSystem: w.OperatingSystem, TotalMemoryLimitMebibytes: w.TotalMemoryLimitMebibytes, TotalVcpuLimit: w.TotalVcpuLimit,
			GameServerContainerDefinition: w.GameServerContainerDefinition, SupportContainerDefinitions: w.SupportContainerDefinitions, VersionDescription: w.VersionDescription,
		})
		if err != nil {
			return err
		}
	}
	err := m.wait(ctx, "container group definition "+a.Name, func(ctx context.Context) (bool, string, error) {
		out, err := m.API.DescribeContainerGroupDefinition(ctx, &gamelift.DescribeContainerGroupDefinitionInput{Name: &a.Name})
		if err != nil {
			return false, "", err
		}
		d := out.ContainerGroupDefinition
		if d.Status == types.ContainerGroupDefinitionStatusFailed {
			return false, "", fmt.Errorf("version %d is FAILED: %s", val(d.VersionNumber), val(d.StatusReason))
		}
		return d.Status == types.ContainerGroupDefinitionStatusReady, "the server looks up its images", nil
	})
	if err != nil {
		return err
	}
	return m.follow(ctx, a.Name)
}

// without returns the changes whose member does not begin with prefix.
func without(all []setup.Change, prefix string) (rest []setup.Change) {
	for _, c := range all {
		if !strings.HasPrefix(c.Member, prefix) {
			rest = append(rest, c)
		}
	}
	return rest
}

// fleetID returns the id of a fleet, of either kind.
func (m *maker) fleetID(fleet, containerFleet string) (string, error) {
	if fleet != "" {
		if f, ok := m.fleets[fleet]; ok {
			return *f.FleetId, nil
		}
		return "", fmt.Errorf("there is no fleet %s", fleet)
	}
	if f, ok := m.containerFleets[containerFleet]; ok {
		return *f.FleetId, nil
	}
	return "", fmt.Errorf("there is no container fleet %s", containerFleet)
}

func (m *maker) alias(ctx context.Context, a setup.Action) error {
	w := m.want.Aliases[a.Name]
	to := &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: w.Message}
	if w.Message == nil {
		id, err := m.fleetID(w.Fleet, w.ContainerFleet)
		if err != nil {
			return err
		}
		to = &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &id}
	}
	if a.Op == setup.Create {
		out, err := m.API.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: &a.Name, Description: w.Description, RoutingStrategy: to, Tags: tagsOf(w.Tags)}, once)
		if err != nil {
			return err
		}
		m.aliases[a.Name] = *out.Alias
		m.is(a.Kind, a.Name, *out.Alias.AliasArn)
		return nil
	}
	_, err := m.API.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: m.aliases[a.Name].AliasId, Description: w.Description, RoutingStrategy: to})
	return err
}

func (m *maker) queue(ctx context.Context, a setup.Action) error {
	w := m.want.GameSessionQueues[a.Name].WithCanaries(m.Setup.GameSessionQueues[a.Name], m.want, func(fleet string) bool { _, ok := m.fleets[fleet]; return ok })
	var to []types.GameSessionQueueDestination
	for _, d := range w.Destinations {
		arn := d.DestinationArn
		for kind, name := range map[setup.Kind]string{setup.FleetKind: d.Fleet, setup.ContainerFleetKind: d.ContainerFleet, setup.AliasKind: d.Alias} {
			if name == "" {
				continue
			}
			if arn = m.arns[kind][name]; arn == "" {
				return fmt.Errorf("there is no %s %s", kind, name)
			}
		}
		to = append(to, types.GameSessionQueueDestination{DestinationArn: &arn})
	}
	if a.Op == setup.Create {
		out, err := m.API.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{
			Name: &a.Name, Destinations: to, TimeoutInSeconds: w.TimeoutInSeconds, PlayerLatencyPolicies: w.PlayerLatencyPolicies, FilterConfiguration: w.FilterConfiguration,
			PriorityConfiguration: w.PriorityConfiguration, CustomEventData: w.CustomEventData, NotificationTarget: w.NotificationTarget, Tags: tagsOf(w.Tags),
		})
		if err == nil {
			m.is(a.Kind, a.Name, *out.GameSessionQueue.GameSessionQueueArn)
		}
		return err
	}
	if w.Destinations != nil && to == nil {
		to = []types.GameSessionQueueDestination{}
	}
	_, err := m.API.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{
		Name: &a.Name, Destinations: to, TimeoutInSeconds: w.TimeoutInSeconds, PlayerLatencyPolicies: w.PlayerLatencyPolicies, FilterConfiguration: w.FilterConfiguration,
		PriorityConfiguration: w.PriorityConfiguration, CustomEventData: w.CustomEventData, NotificationTarget: w.NotificationTarget,
	})
	return err
}

func (m *maker) ruleSet(ctx context.Context, a setup.Action) error {
	w := m.want.MatchmakingRuleSets[a.Name]
	create := func(name string) error {
		out, err := m.API.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: &name, RuleSetBody: w.RuleSetBody, Tags: tagsOf(w.Tags)})
		if err == nil {
			m.is(a.Kind, name, *out.RuleSet.RuleSetArn)
		}
		return err
	}
	if a.Op == setup.Update {
		return nil // its tags alone can change
	}
	stand := a.Name + setup.Replacing
	if a.Op == setup.Create && m.Setup.MatchmakingRuleSets[stand] == nil {
		return create(a.Name)
	}
	// What uses it goes to a rule set with another name, and comes back.
	if m.Setup.MatchmakingRuleSets[stand] != nil && m.Setup.MatchmakingRuleSets[a.Name] != nil {
		if err := m.use(ctx, stand, a.Name); err != nil { // a stand-in of an attempt that did not end
			return err
		}
		if err := m.dropRuleSet(ctx, stand); err != nil {
			return err
		}
		delete(m.Setup.MatchmakingRuleSets, stand)
	}
	if m.Setup.MatchmakingRuleSets[stand] == nil {
		if err := create(stand); err != nil {
			return err
		}
	}
	if err := m.use(ctx, a.Name, stand); err != nil {
		return err
	}
	if err := m.dropRuleSet(ctx, a.Name); err != nil && !missing(err) {
		return err
	}
	if err := create(a.Name); err != nil {
		return err
	}
	if err := m.use(ctx, stand, a.Name); err != nil {
		return err
	}
	return m.dropRuleSet(ctx, stand)
}

func (m *maker) dropRuleSet(ctx context.Context, name string) error {
	_, err := m.API.DeleteMatchmakingRuleSet(ctx, &gamelift.DeleteMatchmakingRuleSetInput{Name: &name})
	return err
}

// use lets the configurations that use one rule set use another.
func (m *maker) use(ctx context.Context, from, to string) error {
	for page := gamelift.NewDescribeMatchmakingConfigurationsPaginator(m.API, &gamelift.DescribeMatchmakingConfigurationsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, c := range out.Configurations {
			if *c.RuleSetName != from {
				continue
			}
			if _, err := m.API.UpdateMatchmakingConfiguration(ctx, &gamelift.UpdateMatchmakingConfigurationInput{Name: c.Name, RuleSetName: &to}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *maker) configuration(ctx context.Context, a setup.Action) error {
	w := m.want.MatchmakingConfigurations[a.Name]
	var queues []string
	for _, q := range w.GameSessionQueues {
		if !strings.HasPrefix(q, "arn:") {
			if q = m.arns[setup.QueueKind][q]; q == "" {
				return fmt.Errorf("a queue that it refers to does not exist")
			}
		}
		queues = append(queues, q)
	}
	if a.Op == setup.Create {
		out, err := m.API.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
			Name: &a.Name, Description: w.Description, RuleSetName: &w.RuleSet, GameSessionQueueArns: queues, FlexMatchMode: w.FlexMatchMode, BackfillMode: w.BackfillMode,
			RequestTimeoutSeconds: w.RequestTimeoutSeconds, AcceptanceRequired: cmp.Or(w.AcceptanceRequired, aws.Bool(false)), AcceptanceTimeoutSeconds: w.AcceptanceTimeoutSeconds,
			AdditionalPlayerCount: w.AdditionalPlayerCount, GameProperties: w.GameProperties, GameSessionData: w.GameSessionData, CustomEventData: w.CustomEventData,
			NotificationTarget: w.NotificationTarget, Tags: tagsOf(w.Tags),
		})
		if err == nil {
			m.is(a.Kind, a.Name, *out.Configuration.ConfigurationArn)
		}
		return err
	}
	backfill := w.BackfillMode
	if w.FlexMatchMode == types.FlexMatchModeStandalone {
		backfill = cmp.Or(backfill, types.BackfillModeManual) // what it was may need game sessions
	}
	_, err := m.API.UpdateMatchmakingConfiguration(ctx, &gamelift.UpdateMatchmakingConfigurationInput{
		Name: &a.Name, Description: w.Description, RuleSetName: &w.RuleSet, GameSessionQueueArns: queues, FlexMatchMode: w.FlexMatchMode, BackfillMode: backfill,
		RequestTimeoutSeconds: w.RequestTimeoutSeconds, AcceptanceRequired: w.AcceptanceRequired, AcceptanceTimeoutSeconds: w.AcceptanceTimeoutSeconds,
		AdditionalPlayerCount: w.AdditionalPlayerCount, GameProperties: w.GameProperties, GameSessionData: w.GameSessionData, CustomEventData: w.CustomEventData,
		NotificationTarget: w.NotificationTarget,
	})
	return err
}

// deleteLeft calls del, which deletes something that fleets use, again until they have left it: while fleets
// are being deleted, or leaving returns true.
func (m *maker) deleteLeft(ctx context.Context, what string, del func(context.Context) error, leaving func(context.Context) (bool, error)) error {
	return m.wait(ctx, what, func(ctx context.Context) (done bool, news string, err error) {
		err = del(ctx)
		if _, used := errors.AsType[*types.InvalidRequestException](err); !used {
			return true, "", err
		}
		left, err := leaving(ctx)
		if err != nil {
			return false, "", err
		}
		if left {
			return false, "waiting until fleets have left it", nil
		}
		return true, "", del(ctx) // they may have, since
	})
}

// fleetIDs returns the ids of all fleets, and whether one is being deleted.
func (m *maker) fleetIDs(ctx context.Context) (ids []string, ending bool, err error) {
	for page := gamelift.NewDescribeFleetAttributesPaginator(m.API, &gamelift.DescribeFleetAttributesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, false, err
		}
		for _, f := range out.FleetAttributes {
			ids, ending = append(ids, *f.FleetId), ending || f.Status == types.FleetStatusDeleting
		}
	}
	for page := gamelift.NewListContainerFleetsPaginator(m.API, &gamelift.ListContainerFleetsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, false, err
		}
		for _, f := range out.ContainerFleets {
			ids, ending = append(ids, *f.FleetId), ending || f.Status == types.ContainerFleetStatusDeleting
		}
	}
	return ids, ending, nil
}

// leaving reports whether any fleet is being deleted, or the location is being removed from one.
func (m *maker) leaving(ctx context.Context, location string) (bool, error) {
	ids, ending, err := m.fleetIDs(ctx)
	if err != nil || ending {
		return ending, err
	}
	for _, id := range ids {
		out, err := m.API.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &id, Locations: []string{location}})
		if missing(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(out.LocationAttributes, func(l types.LocationAttributes) bool { return l.LocationState.Status == types.FleetStatusDeleting }) {
			return true, nil
		}
	}
	return false, nil
}

// remove deletes a resource. One that is gone already is no error.
func (m *maker) remove(ctx context.Context, a setup.Action) error {
	arn := m.arns[a.Kind][a.Name]
	var err error
	switch a.Kind {
	case setup.LocationKind:
		err = m.deleteLeft(ctx, "location "+a.Name, func(ctx context.Context) error {
			_, err := m.API.DeleteLocation(ctx, &gamelift.DeleteLocationInput{LocationName: &a.Name})
			return err
		}, func(ctx context.Context) (bool, error) { return m.leaving(ctx, a.Name) })
	case setup.BuildKind:
		_, err = m.API.DeleteBuild(ctx, &gamelift.DeleteBuildInput{BuildId: m.builds[a.Name].BuildId})
	case setup.ContainerGroupKind:
		err = m.deleteLeft(ctx, "container group definition "+a.Name, func(ctx context.Context) error {
			_, err := m.API.DeleteContainerGroupDefinition(ctx, &gamelift.DeleteContainerGroupDefinitionInput{Name: &a.Name})
			return err
		}, func(ctx context.Context) (bool, error) { _, ending, err := m.fleetIDs(ctx); return ending, err })
	case setup.FleetKind:
		err = m.deleteFleet(ctx, *m.fleets[a.Name].FleetId)
	case setup.ContainerFleetKind:
		if err := m.unoccupied(ctx, *m.containerFleets[a.Name].FleetId); err != nil {
			return err
		}
		_, err = m.API.DeleteContainerFleet(ctx, &gamelift.DeleteContainerFleetInput{FleetId: m.containerFleets[a.Name].FleetId})
	case setup.AliasKind:
		_, err = m.API.DeleteAlias(ctx, &gamelift.DeleteAliasInput{AliasId: m.aliases[a.Name].AliasId})
	case setup.QueueKind:
		_, err = m.API.DeleteGameSessionQueue(ctx, &gamelift.DeleteGameSessionQueueInput{Name: &a.Name})
	case setup.RuleSetKind:
		err = m.dropRuleSet(ctx, a.Name)
	case setup.MatchmakingKind:
		_, err = m.API.DeleteMatchmakingConfiguration(ctx, &gamelift.DeleteMatchmakingConfigurationInput{Name: &a.Name})
	default:
		err = fmt.Errorf("%s cannot be deleted", arn)
	}
	if missing(err) {
		return nil
	}
	return err
}
