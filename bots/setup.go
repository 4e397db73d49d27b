package bots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsgamelift "github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/sdk/session"
)

type house struct {
	fleetID, fleetARN string
	location          string
	configuration     string // of matchmaking; the matchmaker has the same name
}

func (h house) target() session.Target {
	return session.Target{FleetID: h.fleetID, Location: h.location}
}

// setup finds or creates what the bots need: a queue for the fleet, a rule set and a
// configuration, under the bots' own names.
type setup struct {
	api  *awsgamelift.Client
	opts Options
	h    house
}

func (s *setup) run(ctx context.Context) (house, error) {
	if s.opts.Matchmaker != "" {
		s.h.configuration = s.opts.Matchmaker
		return s.h, nil
	}
	if err := s.awaitFleet(ctx); err != nil {
		return s.h, err
	}
	if s.opts.Via == Sessions {
		return s.h, nil
	}
	queue, err := s.queue(ctx)
	if err != nil {
		return s.h, fmt.Errorf("make the bots' queue: %w", err)
	}
	if err := s.matchmaker(ctx, queue); err != nil {
		return s.h, fmt.Errorf("make the bots' matchmaking configuration: %w", err)
	}
	return s.h, nil
}

// fleetTimeout is how long to wait for a fleet: a server that has just started is
// about to create the demo's.
const fleetTimeout = 5 * time.Second

var errNoFleet = errors.New("`muster local` has one called demo")

func (s *setup) awaitFleet(ctx context.Context) error {
	until := time.Now().Add(fleetTimeout)
	for {
		err := s.findFleet(ctx)
		if !errors.Is(err, errNoFleet) || time.Now().After(until) || !wake.Sleep(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// findFleet finds the fleet by its id or name, and its first location.
func (s *setup) findFleet(ctx context.Context) error {
	pages := awsgamelift.NewDescribeFleetAttributesPaginator(s.api, &awsgamelift.DescribeFleetAttributesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("find the fleet: %w", err)
		}
		for _, f := range page.FleetAttributes {
			if id := aws.ToString(f.FleetId); id == s.opts.Fleet || aws.ToString(f.Name) == s.opts.Fleet {
				s.h.fleetID, s.h.fleetARN = id, aws.ToString(f.FleetArn)
				return s.findLocation(ctx)
			}
		}
	}
	return fmt.Errorf("there is no fleet %q: %w", s.opts.Fleet, errNoFleet)
}

func (s *setup) findLocation(ctx context.Context) error {
	out, err := s.api.DescribeFleetLocationAttributes(ctx, &awsgamelift.DescribeFleetLocationAttributesInput{FleetId: &s.h.fleetID})
	if err != nil {
		return fmt.Errorf("find the fleet's location: %w", err)
	}
	for _, l := range out.LocationAttributes {
		if l.LocationState != nil && s.h.location == "" {
			s.h.location = aws.ToString(l.LocationState.Location)
		}
	}
	return nil
}

// queue returns the ARN of a queue with the fleet as its destination.
func (s *setup) queue(ctx context.Context) (string, error) {
	name := "bots-" + s.h.fleetID
	made, err := s.api.CreateGameSessionQueue(ctx, &awsgamelift.CreateGameSessionQueueInput{
		Name: &name, TimeoutInSeconds: aws.Int32(60),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: &s.h.fleetARN}},
	})
	if err == nil {
		return aws.ToString(made.GameSessionQueue.GameSessionQueueArn), nil
	}
	old, lookErr := s.api.DescribeGameSessionQueues(ctx, &awsgamelift.DescribeGameSessionQueuesInput{Names: []string{name}})
	if lookErr != nil || len(old.GameSessionQueues) == 0 {
		return "", err // it does not exist, so this is why
	}
	return aws.ToString(old.GameSessionQueues[0].GameSessionQueueArn), nil
}

// matchmaker creates the rule set and the configuration for the size of games.
func (s *setup) matchmaker(ctx context.Context, queue string) error {
	rules := fmt.Sprintf("bots-%d", s.opts.MatchSize)
	body, err := ruleSet(s.opts.MatchSize)
	if err != nil {
		return err
	}
	if _, err := s.api.CreateMatchmakingRuleSet(ctx, &awsgamelift.CreateMatchmakingRuleSetInput{Name: &rules, RuleSetBody: &body}); err != nil {
		old, lookErr := s.api.DescribeMatchmakingRuleSets(ctx, &awsgamelift.DescribeMatchmakingRuleSetsInput{Names: []string{rules}})
		if lookErr != nil || len(old.RuleSets) == 0 {
			return err
		}
	}
	s.h.configuration = fmt.Sprintf("%s-%s", rules, s.h.fleetID)
	_, err = s.api.CreateMatchmakingConfiguration(ctx, &awsgamelift.CreateMatchmakingConfigurationInput{
		Name: &s.h.configuration, RuleSetName: &rules, GameSessionQueueArns: []string{queue},
		RequestTimeoutSeconds: aws.Int32(int32(min(max(s.opts.Patience.Seconds(), 1), 43200))),
		AcceptanceRequired:    aws.Bool(false), BackfillMode: types.BackfillModeManual,
	})
	if err != nil {
		old, lookErr := s.api.DescribeMatchmakingConfigurations(ctx, &awsgamelift.DescribeMatchmakingConfigurationsInput{Names: []string{s.h.configuration}})
		if lookErr != nil || len(old.Configurations) == 0 {
			return errors.Join(err, lookErr)
		}
	}
	return nil
}

// ruleSet returns a rule set with one team of up to size players of similar skill. It
// starts with full games of close skill and is relaxed with time, so that nobody
// waits forever.
func ruleSet(size int) (string, error) {
	step := func(seconds, value int) map[string]int {
		return map[string]int{"waitTimeSeconds": seconds, "value": value}
	}
	body, err := json.Marshal(map[string]any{
		"name": "bots", "ruleLanguageVersion": "1.0",
		"playerAttributes": []any{map[string]any{"name": "skill", "type": "number", "default": 0}},
		"teams":            []any{map[string]any{"name": "players", "minPlayers": size, "maxPlayers": size}},
		"rules": []any{map[string]any{"name": "LikeSkill", "type": "batchDistance", "batchAttribute": "skill",
			"maxDistance": 500}},
		"expansions": []any{
			map[string]any{"target": "rules[LikeSkill].maxDistance", "steps": []any{step(3, 1000)}},
			map[string]any{"target": "teams[players].minPlayers", "steps": []any{step(5, (size+1)/2), step(10, 1)}},
		},
	})
	return string(body), err
}
