package host

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/placement"
)

// Anybody is a rule set that matches any players, two to four at a time: nothing is known of
// whose game it is for.
const Anybody = `{
  "name": "anybody",
  "ruleLanguageVersion": "1.0",
  "teams": [{"name": "players", "minPlayers": 2, "maxPlayers": 4}]
}`

// matchTimeout is the time limit of a request for a match on this machine.
const matchTimeout = 5 * time.Minute

// makePlayable creates the queue, the rule set and the matchmaking configuration of a
// place if they are missing; later changes by its owner stay.
func (s Places) makePlayable(ctx context.Context, name, aliasID, rules string) error {
	view := s.Store.View()
	if s.Placements.Queues.Get(view, name) == nil {
		_, err := s.Placements.Queues.Create.Do(ctx, placement.QueueInput{
			Queue: placement.Queue{Name: name, Destinations: []string{s.Fleets.Home().OfAlias(aliasID)}},
		})
		if err != nil {
			return fmt.Errorf("make queue %s: %w", name, err)
		}
	}
	if s.Matches.Configurations.Get(view, name) != nil {
		return nil
	}
	_, err := s.Matches.RuleSets.Create(ctx, flexmatch.RuleSetInput{Name: name, Body: rules})
	if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.InvalidRequest) {
		return fmt.Errorf("make rule set %s: %w", name, err)
	}
	_, err = s.Matches.Configurations.Create(ctx, flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{
		Name: name, RuleSet: name, Queues: []string{s.Placements.Queues.ARN(name)}, RequestTimeout: matchTimeout,
	}})
	if err != nil {
		return fmt.Errorf("make matchmaking configuration %s: %w", name, err)
	}
	return nil
}
