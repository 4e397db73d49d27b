package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// Pool forms matches from the tickets in it. Pass removes the tickets it has matched.
type Pool interface {
	Add(t *search.Ticket)
	Remove(id string)
	Pass(now time.Time) []*search.Match
}

// Matcher returns an empty pool.
type Matcher func(rs *ruleset.RuleSet, opts search.Options) Pool

// exact is a Pool that uses the reference search.
type exact struct {
	rs      *ruleset.RuleSet
	opts    search.Options
	tickets map[string]*search.Ticket
}

// Exact returns an empty pool that uses the reference search. It is a Matcher.
func Exact(rs *ruleset.RuleSet, opts search.Options) Pool {
	return &exact{rs: rs, opts: opts, tickets: map[string]*search.Ticket{}}
}

func (e *exact) Add(t *search.Ticket) { e.tickets[t.ID] = t }
func (e *exact) Remove(id string)     { delete(e.tickets, id) }

func (e *exact) Pass(now time.Time) []*search.Match {
	matches := pool.Reference(e.rs, e.opts, slices.Collect(maps.Values(e.tickets)), now)
	for _, m := range matches {
		for _, t := range m.Tickets {
			e.Remove(t.ID)
		}
	}
	return matches
}

// Indexed returns a Matcher of pools like the server's.
func Indexed(limits pool.Limits) Matcher {
	return func(rs *ruleset.RuleSet, opts search.Options) Pool { return pool.New(rs, opts, limits) }
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
		team := rs.Instance(name)
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
