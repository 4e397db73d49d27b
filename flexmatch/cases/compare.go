package cases

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

func (g *game) compare() error {
	for _, check := range []func() error{g.valid, g.compareMatches, g.compareWaiting, g.compareTickets, g.compareErrors, g.compareEvents} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// valid judges every match by the definition.
func (g *game) valid() error {
	for _, p := range g.matches {
		if err := search.Verify(g.rs, g.opts, p.match, clock(p.at)); err != nil {
			return fmt.Errorf("match of %v at %v: %w", p.ids(), p.at, err)
		}
	}
	return nil
}

func (p played) ids() []string {
	var out []string
	for _, t := range p.match.Tickets {
		out = append(out, t.ID)
	}
	return slices.Sorted(slices.Values(out))
}

func (g *game) compareMatches() error {
	want := g.c.Expect.Matches
	if want == nil {
		return nil
	}
	if len(want) != len(g.matches) {
		return fmt.Errorf("%d matches formed, not %d: %v", len(g.matches), len(want), each(g.matches, played.ids))
	}
	for i := range want {
		if err := g.compareMatch(g.matches[i], want[i]); err != nil {
			return fmt.Errorf("match %d: %w", i+1, err)
		}
	}
	return nil
}

func (g *game) compareMatch(got played, want ExpectMatch) error {
	teams := g.teams(got.match)
	switch {
	case want.At != nil && *want.At != got.at:
		return fmt.Errorf("formed at %v, not %v", got.at, *want.At)
	case want.Tickets != nil && !sameSet(got.ids(), want.Tickets):
		return fmt.Errorf("tickets %v, not %v", got.ids(), want.Tickets)
	case want.TicketCount != nil && *want.TicketCount != len(got.match.Tickets):
		return fmt.Errorf("%d tickets, not %d", len(got.match.Tickets), *want.TicketCount)
	}
	for name, players := range want.Teams {
		if !sameSet(teams[name], players) {
			return fmt.Errorf("team %s is %v, not %v", name, teams[name], players)
		}
	}
	for name, n := range want.TeamSizes {
		if len(teams[name]) != n {
			return fmt.Errorf("team %s has %d players, not %d", name, len(teams[name]), n)
		}
	}
	return g.compareShape(got, want, teams)
}

// compareShape checks what does not depend on the names of teams.
func (g *game) compareShape(got played, want ExpectMatch, teams map[string][]string) error {
	if want.Grouping != nil && !sameSet(each(slices.Collect(maps.Values(teams)), canonical), each(want.Grouping, canonical)) {
		return fmt.Errorf("teams %v, not grouped as %v", teams, want.Grouping)
	}
	if want.SizesMultiset != nil {
		var sizes []int
		for _, players := range teams {
			sizes = append(sizes, len(players))
		}
		if !slices.Equal(slices.Sorted(slices.Values(sizes)), slices.Sorted(slices.Values(want.SizesMultiset))) {
			return fmt.Errorf("team sizes %v, not %v", sizes, want.SizesMultiset)
		}
	}
	if limit := want.MaxTeamAvgSpread; limit != nil {
		if spread := g.spread(got.match, limit.Attribute); !(spread <= limit.Value+1e-9) {
			return fmt.Errorf("team averages of %s differ by %v, more than %v", limit.Attribute, spread, limit.Value)
		}
	}
	return nil
}

// teams returns the player ids of each team, including those of a backfilled game
// session.
func (g *game) teams(m *search.Match) map[string][]string {
	out := map[string][]string{}
	for i, team := range m.Lineup(g.rs).Teams {
		out[g.rs.Instances[i].Name] = each(team, func(m ruleset.Member) string { return m.Party.Players[m.Index].ID })
	}
	return out
}

// spread returns the distance between the highest and the lowest team average, NaN if
// there is no such attribute.
func (g *game) spread(m *search.Match, attribute string) float64 {
	i := slices.IndexFunc(g.rs.Attributes, func(a ruleset.Attribute) bool { return a.Name == attribute })
	if i < 0 {
		return math.NaN()
	}
	return search.Spread(m.Lineup(g.rs), i)
}

func (g *game) compareWaiting() error {
	if g.c.Expect.Waiting == nil {
		return nil
	}
	got := []string{}
	for _, t := range g.tickets {
		if t.Status.Waits() {
			got = append(got, t.ID)
		}
	}
	if !sameSet(got, g.c.Expect.Waiting) {
		return fmt.Errorf("waiting are %v, not %v", got, g.c.Expect.Waiting)
	}
	return nil
}

func (g *game) compareTickets() error {
	for _, id := range slices.Sorted(maps.Keys(g.c.Expect.Tickets)) {
		t, want := g.find(id), g.c.Expect.Tickets[id]
		switch {
		case t == nil:
			return fmt.Errorf("there is no ticket %s", id)
		case want.Status != nil && string(t.Status) != *want.Status:
			return fmt.Errorf("ticket %s is %s, not %s", id, t.Status, *want.Status)
		case want.StatusReason != nil && t.Reason != *want.StatusReason:
			return fmt.Errorf("ticket %s has the reason %q, not %q", id, t.Reason, *want.StatusReason)
		}
	}
	return nil
}

func (g *game) compareErrors() error {
	if want := g.c.Expect.Errors; want != nil && !maps.Equal(g.errors, want) {
		return fmt.Errorf("refused were %v, not %v", g.errors, want)
	}
	return nil
}

func (g *game) compareEvents() error {
	want := g.c.Expect.Events
	if want == nil {
		return nil
	}
	fits := func(got, want Event) bool {
		return got.At == want.At && got.Type == want.Type && sameSet(got.Tickets, want.Tickets) &&
			(want.Acceptance == "" || got.Acceptance == want.Acceptance) && (want.Reason == "" || got.Reason == want.Reason)
	}
	if !slices.EqualFunc(g.events, want, fits) {
		return fmt.Errorf("events %v, not %v", g.events, want)
	}
	return nil
}

func sameSet(a, b []string) bool { return canonical(a) == canonical(b) }

// canonical returns a string that is equal for equal sets of strings.
func canonical(set []string) string { return fmt.Sprintf("%q", slices.Sorted(slices.Values(set))) }

func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
