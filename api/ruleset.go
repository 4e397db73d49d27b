package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerRuleSets(srv *awsrpc.Server) {
	on(srv, "CreateMatchmakingRuleSet", h.createMatchmakingRuleSet)
	on(srv, "DescribeMatchmakingRuleSets", h.describeMatchmakingRuleSets)
	on(srv, "DeleteMatchmakingRuleSet", h.deleteMatchmakingRuleSet)
	on(srv, "ValidateMatchmakingRuleSet", h.validateMatchmakingRuleSet)
}

func (h handlers) createMatchmakingRuleSet(ctx context.Context, in *gamelift.CreateMatchmakingRuleSetInput) (*gamelift.CreateMatchmakingRuleSetOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	made, err := h.Matches.RuleSets.Create(ctx, flexmatch.RuleSetInput{Name: *in.Name, Body: *in.RuleSetBody, Tags: tags})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateMatchmakingRuleSetOutput{RuleSet: new(h.ruleSetOut(made))}, nil
}

// The largest page of DescribeMatchmakingRuleSets and DescribeMatchmakingConfigurations
// (API reference).
const largestMatchmakingPage = 10

func (h handlers) describeMatchmakingRuleSets(ctx context.Context, in *gamelift.DescribeMatchmakingRuleSetsInput) (*gamelift.DescribeMatchmakingRuleSetsOutput, error) {
	view := h.Store.View()
	if len(in.Names) > 0 {
		named := make([]gamelift.MatchmakingRuleSet, 0, len(in.Names))
		for _, name := range in.Names {
			r, err := h.Matches.RuleSets.Get(view, name)
			if err != nil {
				return nil, err
			}
			named = append(named, h.ruleSetOut(r))
		}
		return &gamelift.DescribeMatchmakingRuleSetsOutput{RuleSets: named}, nil
	}
	size := limit(in.Limit, largestMatchmakingPage, largestMatchmakingPage)
	page, next, err := pageOf(in.NextToken, size, func(after string) iter.Seq[*flexmatch.RuleSet] {
		return reached(ctx, h.Matches.RuleSets.After(view, after), h.ruleSetARN)
	}, func(r *flexmatch.RuleSet) string { return r.Name }, "DescribeMatchmakingRuleSets")
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeMatchmakingRuleSetsOutput{RuleSets: list(page, h.ruleSetOut), NextToken: next}, nil
}

func (h handlers) deleteMatchmakingRuleSet(ctx context.Context, in *gamelift.DeleteMatchmakingRuleSetInput) (*gamelift.DeleteMatchmakingRuleSetOutput, error) {
	return nil, h.Matches.RuleSets.Delete.Do(ctx, *in.Name)
}

func (h handlers) validateMatchmakingRuleSet(_ context.Context, in *gamelift.ValidateMatchmakingRuleSetInput) (*gamelift.ValidateMatchmakingRuleSetOutput, error) {
	if err := h.Matches.RuleSets.Validate(*in.RuleSetBody); err != nil {
		return nil, err
	}
	return &gamelift.ValidateMatchmakingRuleSetOutput{Valid: new(true)}, nil
}

func (h handlers) ruleSetARN(r *flexmatch.RuleSet) string { return h.Matches.RuleSets.ARN(r.Name) }

func (h handlers) ruleSetOut(r *flexmatch.RuleSet) gamelift.MatchmakingRuleSet {
	return gamelift.MatchmakingRuleSet{
		RuleSetName: &r.Name, RuleSetArn: new(h.ruleSetARN(r)), RuleSetBody: &r.Body, CreationTime: gamelift.At(r.Created),
	}
}
