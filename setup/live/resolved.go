package live

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/setup"
)

// Resolved returns a set-up in which what the server has is named as Read names it: an ARN of a
// queue, a fleet or an alias is replaced by its name. Other ARNs stay. want is not changed.
func (s *State) Resolved(want *setup.Setup) *setup.Setup {
	out := *want
	out.GameSessionQueues = maps.Clone(want.GameSessionQueues)
	for name, q := range out.GameSessionQueues {
		copied := *q
		copied.Destinations = slices.Clone(q.Destinations)
		for i, d := range copied.Destinations {
			if d.DestinationArn != "" {
				copied.Destinations[i] = s.destination(d.DestinationArn)
			}
		}
		out.GameSessionQueues[name] = &copied
	}
	out.MatchmakingConfigurations = maps.Clone(want.MatchmakingConfigurations)
	for name, c := range out.MatchmakingConfigurations {
		copied := *c
		copied.GameSessionQueues = slices.Clone(c.GameSessionQueues)
		for i, queue := range copied.GameSessionQueues {
			if n, ok := s.named[queue]; ok {
				copied.GameSessionQueues[i] = n.key
			}
		}
		out.MatchmakingConfigurations[name] = &copied
	}
	return &out
}
