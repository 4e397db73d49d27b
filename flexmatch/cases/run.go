package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// Matcher returns a function that forms matches from all tickets that are searching at a
// time.
type Matcher func(rs *ruleset.RuleSet, opts search.Options) func(tickets []*search.Ticket, now time.Time) []*search.Match

// Exact matches with the reference search.
func Exact(rs *ruleset.RuleSet, opts search.Options) func([]*search.Ticket, time.Time) []*search.Match {
	return func(tickets []*search.Ticket, now time.Time) []*search.Match {
		return pool.Reference(rs, opts, tickets, now)
	}
}

// Indexed matches with a Pool that lives as long as the play.
func Indexed(limits pool.Limits) Matcher {
	return func(rs *ruleset.RuleSet, opts search.Options) func([]*search.Ticket, time.Time) []*search.Match {
		p := pool.New(rs, opts, limits)
		known := map[string]bool{}
		return func(tickets []*search.Ticket, now time.Time) []*search.Match {
			waiting := map[string]bool{}
			for _, t := range tickets {
				if waiting[t.ID] = true; !known[t.ID] {
					p.Add(t)
				}
			}
			for id := range known {
				if !waiting[id] {
					p.Remove(id)
				}
			}
			matches := p.Pass(now)
			for _, m := range matches {
				for _, t := range m.Tickets {
					delete(waiting, t.ID)
				}
			}
			known = waiting
			return matches
		}
	}
}

// Run plays a case. It returns an error if the result differs from what is expected.
func (c *Case) Run(matcher Matcher) error {
	if err := c.check(); err != nil {
		return err
	}
	switch c.Kind {
	case "validate":
		return c.validate()
	case "eval":
		return c.eval()
	}
	return c.play(matcher)
}

func (c *Case) validate() error {
	_, err := ruleset.Parse(c.Body)
	var errs ruleset.Errors
	switch got := errors.As(err, &errs); {
	case *c.Expect.Valid && got:
		return fmt.Errorf("must be valid, but: %w", err)
	case !*c.Expect.Valid && !got:
		return fmt.Errorf("is valid, but must break %s", c.Expect.Error)
	case got && c.Expect.Error != "" && string(errs[0].Code) != c.Expect.Error:
		return fmt.Errorf("must break %s first, but: %w", c.Expect.Error, err)
	}
	return nil
}

func (c *Case) eval() error {
	rs, err := ruleset.Parse(c.Body)
	if err != nil {
		return err
	}
	lineup := &ruleset.Lineup{Teams: make([][]ruleset.Member, len(rs.Instances))}
	for name, players := range c.Teams {
		team := slices.IndexFunc(rs.Instances, func(i ruleset.Instance) bool { return i.Name == name })
		if team < 0 {
			return fmt.Errorf("the rule set has no team %q", name)
		}
		for _, p := range players {
			request := p.Request()
			values, _ := rs.Resolve(request.Given())
			party := &ruleset.Party{Players: []ruleset.Player{{ID: p.PlayerID, Values: values, Latency: p.LatencyInMs}}}
			lineup.Teams[team] = append(lineup.Teams[team], ruleset.Member{Party: party})
			lineup.Parties = append(lineup.Parties, party)
		}
	}
	got, err := rs.Evaluate(c.Expression, lineup)
	if err != nil {
		return err
	}
	var want any
	if err := json.Unmarshal(c.Expect.Value, &want); err != nil {
		return fmt.Errorf("read expect.value: %w", err)
	}
	if !same(got, want) {
		return fmt.Errorf("gives %v, not %v", got, want)
	}
	return nil
}

// same reports whether values are equal. Numbers may differ by a millionth.
func same(got, want any) bool {
	switch w := want.(type) {
	case float64:
		g, ok := got.(float64)
		return ok && math.Abs(g-w) <= 1e-6
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, same)
	}
	return got == want
}

// Request returns the player as in a request to the server. A latency that is not an
// integer becomes 0, which is refused as well.
func (p Player) Request() life.Player {
	out := life.Player{ID: p.PlayerID, Team: p.Team, Attributes: map[string]life.Attribute{}, Latency: map[string]int{}}
	for name, a := range p.PlayerAttributes {
		out.Attributes[name] = life.Attribute(a)
	}
	for location, ms := range p.LatencyInMs {
		if out.Latency[location] = int(ms); ms != math.Trunc(ms) {
			out.Latency[location] = 0
		}
	}
	return out
}
