package lint

import (
	"fmt"
	"math"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/plain"
)

// Setting is what a configuration and its queue say of the matches of a rule set.
type Setting struct {
	RequestTimeout    time.Duration // of tickets; 0 if it is not known
	AdditionalPlayers int           // AdditionalPlayerCount: seats that matches leave free

	Queue string  // that places the matches; "" if none does, or it is not known
	Cap   float64 // the highest latency that its PlayerLatencyPolicies allow, in ms; 0 if there are none
}

// In returns what is wrong with a rule set in a setting, besides what is wrong with it anyway.
func In(rs *ruleset.RuleSet, s Setting) []Finding {
	c := &checked{rs: rs}
	for _, step := range rs.Steps {
		if s.RequestTimeout > 0 && step.From >= s.RequestTimeout {
			c.say(Unreached, step.At, c.target(&step), "the step at %s is never reached: tickets time out after %s", step.From, s.RequestTimeout)
		}
	}
	var reached []*ruleset.Level
	for _, l := range rs.Levels() {
		if s.RequestTimeout <= 0 || l.From < s.RequestTimeout {
			reached = append(reached, l)
		}
	}
	c.room(reached, s.AdditionalPlayers)
	if s.Queue != "" {
		c.latency(reached, s)
	}
	return c.found
}

// room finds seats that are left free although the teams need them.
func (c *checked) room(levels []*ruleset.Level, free int) {
	for _, l := range levels {
		if l.Least() <= l.Capacity()-free {
			return
		}
	}
	l := levels[len(levels)-1]
	c.say(Impossible, c.rs.Teams[0].At, "teams", "AdditionalPlayerCount %d leaves room for %s, and the teams need %d: no match is possible", free, plain.Count(max(0, l.Capacity()-free), "player"), l.Least())
}

// latency finds latencies that the rules allow and the queue exceeds. Rules only choose who plays
// together; the queue chooses where.
func (c *checked) latency(levels []*ruleset.Level, s Setting) {
	for i, r := range levels[0].Rules {
		most := 0.0
		for _, l := range levels {
			at, ok := l.Rules[i].Traits.Column.(ruleset.AtLocation)
			if !r.Enforced || !ok || !at.Most.Set {
				most = math.Inf(1)
				break
			}
			most = max(most, at.Most.Value)
		}
		if math.IsInf(most, 1) || s.Cap > 0 && s.Cap <= most {
			continue
		}
		queue := fmt.Sprintf("queue %s allows %v ms", s.Queue, s.Cap)
		if s.Cap == 0 {
			queue = fmt.Sprintf("queue %s has no cap (PlayerLatencyPolicies)", s.Queue)
		}
		c.rule(Loose, i, "it keeps players together who have at most %v ms to a common location, but %s: where that location has no game server free, the match may land at one that is farther. A policy with MaximumIndividualPlayerLatencyMilliseconds %v in the queue prevents that", most, queue, most)
	}
}
