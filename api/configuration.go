package api

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerConfigurations(srv *awsrpc.Server) {
	on(srv, "CreateMatchmakingConfiguration", h.createMatchmakingConfiguration)
	on(srv, "UpdateMatchmakingConfiguration", h.updateMatchmakingConfiguration)
	on(srv, "DescribeMatchmakingConfigurations", h.describeMatchmakingConfigurations)
	on(srv, "DeleteMatchmakingConfiguration", h.deleteMatchmakingConfiguration)
}

func (h handlers) createMatchmakingConfiguration(ctx context.Context, in *gamelift.CreateMatchmakingConfigurationInput) (*gamelift.CreateMatchmakingConfigurationOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	c := flexmatch.Configuration{
		Name: *in.Name, Description: val(in.Description), RuleSet: *in.RuleSetName, Queues: in.GameSessionQueueArns,
		RequestTimeout: seconds(in.RequestTimeoutSeconds), AcceptanceRequired: *in.AcceptanceRequired,
		AcceptanceTimeout: seconds(in.AcceptanceTimeoutSeconds), Mode: flexmatch.Mode(val(in.FlexMatchMode)),
		Backfill: flexmatch.BackfillMode(val(in.BackfillMode)), Additional: int(val(in.AdditionalPlayerCount)),
		Properties: list(in.GameProperties, propertyIn), Data: val(in.GameSessionData),
		Target: val(in.NotificationTarget), EventData: val(in.CustomEventData),
	}
	made, err := h.Matches.Configurations.Create(ctx, flexmatch.ConfigurationInput{Configuration: c, Tags: tags})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateMatchmakingConfigurationOutput{Configuration: new(h.configurationOut(made))}, nil
}

func (h handlers) updateMatchmakingConfiguration(ctx context.Context, in *gamelift.UpdateMatchmakingConfigurationInput) (*gamelift.UpdateMatchmakingConfigurationOutput, error) {
	u := flexmatch.ConfigurationUpdate{
		Name: *in.Name, Description: in.Description, RuleSet: in.RuleSetName, AcceptanceRequired: in.AcceptanceRequired,
		Mode: as[flexmatch.Mode](in.FlexMatchMode), Backfill: as[flexmatch.BackfillMode](in.BackfillMode),
		Data: in.GameSessionData, Target: in.NotificationTarget, EventData: in.CustomEventData,
		RequestTimeout: times(in.RequestTimeoutSeconds, time.Second), Additional: count(in.AdditionalPlayerCount),
		AcceptanceTimeout: times(in.AcceptanceTimeoutSeconds, time.Second), Properties: listIfGiven(in.GameProperties, propertyIn),
	}
	if in.GameSessionQueueArns != nil {
		u.Queues = &in.GameSessionQueueArns
	}
	c, err := h.Matches.Configurations.Update.Do(ctx, u)
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateMatchmakingConfigurationOutput{Configuration: new(h.configurationOut(c))}, nil
}

func (h handlers) describeMatchmakingConfigurations(ctx context.Context, in *gamelift.DescribeMatchmakingConfigurationsInput) (*gamelift.DescribeMatchmakingConfigurationsOutput, error) {
	view := h.Store.View()
	ruleSet := h.Home.ID("matchmakingruleset", val(in.RuleSetName))
	fits := func(c *flexmatch.Configuration) bool { return in.RuleSetName == nil || c.RuleSet == ruleSet }
	if len(in.Names) > 0 {
		named := existing(in.Names, func(name string) *flexmatch.Configuration { return h.Matches.Configurations.Get(view, name) })
		named = slices.DeleteFunc(named, func(c *flexmatch.Configuration) bool { return !fits(c) })
		return &gamelift.DescribeMatchmakingConfigurationsOutput{Configurations: list(named, h.configurationOut)}, nil
	}
	size := limit(in.Limit, largestMatchmakingPage, largestMatchmakingPage)
	page, next, err := pageOf(in.NextToken, size, func(after string) iter.Seq[*flexmatch.Configuration] {
		return filtered(reached(ctx, h.Matches.Configurations.After(view, after), h.configurationARN), fits)
	}, func(c *flexmatch.Configuration) string { return c.Name }, "DescribeMatchmakingConfigurations", ruleSet)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeMatchmakingConfigurationsOutput{Configurations: list(page, h.configurationOut), NextToken: next}, nil
}

func (h handlers) deleteMatchmakingConfiguration(ctx context.Context, in *gamelift.DeleteMatchmakingConfigurationInput) (*gamelift.DeleteMatchmakingConfigurationOutput, error) {
	return nil, h.Matches.Configurations.Delete.Do(ctx, *in.Name)
}

func (h handlers) configurationARN(c *flexmatch.Configuration) string {
	return h.Matches.Configurations.ARN(c.Name)
}

func (h handlers) configurationOut(c *flexmatch.Configuration) gamelift.MatchmakingConfiguration {
	return gamelift.MatchmakingConfiguration{
		Name: &c.Name, ConfigurationArn: new(h.configurationARN(c)), Description: opt(c.Description),
		GameSessionQueueArns: c.Queues, RequestTimeoutSeconds: num(int(c.RequestTimeout / time.Second)),
		AcceptanceRequired: &c.AcceptanceRequired, RuleSetName: &c.RuleSet, RuleSetArn: new(h.Matches.RuleSets.ARN(c.RuleSet)),
		NotificationTarget: opt(c.Target), AdditionalPlayerCount: num(c.Additional), CustomEventData: opt(c.EventData),
		CreationTime: gamelift.At(c.Created), GameProperties: propertiesOut(c.Properties), GameSessionData: opt(c.Data),
		BackfillMode: new(string(c.Backfill)), FlexMatchMode: new(string(c.Mode)),
		AcceptanceTimeoutSeconds: opt(int32(c.AcceptanceTimeout / time.Second)),
	}
}
