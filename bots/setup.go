package bots

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

type house struct {
	fleetID, fleetARN string
	location          string
	configuration     string // of matchmaking; the matchmaker has the same name
}

// setup finds or creates what the bots need: a queue for the fleet, a rule set and a
// configuration, under the bots' own names.
type setup struct {
	api  api
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
	for token := ""; ; {
		var page struct {
			FleetAttributes []struct {
				ID   string `json:"FleetId"`
				ARN  string `json:"FleetArn"`
				Name string
			}
			NextToken string
		}
		if err := s.api.call(ctx, "DescribeFleetAttributes", members{"NextToken": token}, &page); err != nil {
			return fmt.Errorf("find the fleet: %w", err)
		}
		for _, f := range page.FleetAttributes {
			if f.ID == s.opts.Fleet || f.Name == s.opts.Fleet {
				s.h.fleetID, s.h.fleetARN = f.ID, f.ARN
				return s.findLocation(ctx)
			}
		}
		if token = page.NextToken; token == "" {
			return fmt.Errorf("there is no fleet %q: %w", s.opts.Fleet, errNoFleet)
		}
	}
}

func (s *setup) findLocation(ctx context.Context) error {
	var out struct {
		LocationAttributes []struct{ LocationState struct{ Location string } }
	}
	if err := s.api.call(ctx, "DescribeFleetLocationAttributes", members{"FleetId": s.h.fleetID}, &out); err != nil {
		return fmt.Errorf("find the fleet's location: %w", err)
	}
	for _, l := range out.LocationAttributes {
		s.h.location = cmp.Or(s.h.location, l.LocationState.Location)
	}
	return nil
}

// queue returns the ARN of a queue with the fleet as its destination.
func (s *setup) queue(ctx context.Context) (string, error) {
	name := "bots-" + s.h.fleetID
	unmade := s.api.call(ctx, "CreateGameSessionQueue", members{
		"Name": name, "TimeoutInSeconds": 60, "Destinations": []members{{"DestinationArn": s.h.fleetARN}},
	}, nil)
	var found struct {
		GameSessionQueues []struct{ GameSessionQueueArn string }
	}
	err := s.api.call(ctx, "DescribeGameSessionQueues", members{"Names": []string{name}}, &found)
	if err != nil || len(found.GameSessionQueues) == 0 {
		return "", cmp.Or(unmade, err) // it does not exist, so this is why
	}
	return found.GameSessionQueues[0].GameSessionQueueArn, nil
}

// matchmaker creates the rule set and the configuration for the size of games.
func (s *setup) matchmaker(ctx context.Context, queue string) error {
	rules := fmt.Sprintf("bots-%d", s.opts.MatchSize)
	body, err := ruleSet(s.opts.MatchSize)
	if err != nil {
		return err
	}
	if err := s.api.call(ctx, "CreateMatchmakingRuleSet", members{"Name": rules, "RuleSetBody": body}, nil); err != nil {
		var old struct{ RuleSets []struct{} }
		if s.api.call(ctx, "DescribeMatchmakingRuleSets", members{"Names": []string{rules}}, &old) != nil || len(old.RuleSets) == 0 {
			return err
		}
	}
	s.h.configuration = fmt.Sprintf("%s-%s", rules, s.h.fleetID)
	err = s.api.call(ctx, "CreateMatchmakingConfiguration", members{
		"Name": s.h.configuration, "RuleSetName": rules, "GameSessionQueueArns": []string{queue},
		"RequestTimeoutSeconds": int(min(max(s.opts.Patience.Seconds(), 1), 43200)),
		"AcceptanceRequired":    false, "BackfillMode": "MANUAL",
	}, nil)
	if err != nil {
		var old struct{ Configurations []struct{} }
		if s.api.call(ctx, "DescribeMatchmakingConfigurations", members{"Names": []string{s.h.configuration}}, &old) != nil || len(old.Configurations) == 0 {
			return err
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
