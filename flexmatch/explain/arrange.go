package explain

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// arrange distributes the group over the teams in several ways, and records what is wrong
// with the best one.
func (c *crowd) arrange() {
	if len(c.set) == 1 && c.set[0].Backfill {
		c.teams = "no new player for the game session"
		return
	}
	r := rand.New(rand.NewPCG(1, 1)) // deterministic
	order := make([]int, len(c.set))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(c.set[b].Players) - len(c.set[a].Players) })
	for try := range c.limits.Placements {
		broken, teams, unplaced := c.place(order, r, try)
		if try == 0 || cmp.Or(unplaced-c.unplaced, len(broken)-len(c.broken), len(teams)-len(c.teams)) < 0 {
			c.broken, c.teams, c.unplaced = broken, teams, unplaced
		}
		if c.match() {
			return
		}
		r.Shuffle(len(order), func(i, j int) {
			if len(c.set[order[i]].Players) == len(c.set[order[j]].Players) {
				order[i], order[j] = order[j], order[i]
			}
		})
	}
}

// place distributes the group once: to teams below their minimum first, then to those
// with the most open slots. After the first try it sometimes takes any team with room.
func (c *crowd) place(order []int, r *rand.Rand, try int) (broken []string, teams string, unplaced int) {
	level := c.rs.Levels()[c.level]
	l := &ruleset.Lineup{Teams: make([][]ruleset.Member, len(c.rs.Instances))}
	for _, o := range c.set {
		l.Parties = append(l.Parties, o.party)
		for i, seat := range o.seats {
			l.Teams[seat] = append(l.Teams[seat], ruleset.Member{Party: o.party, Index: i})
		}
	}
	for _, i := range order {
		o := c.set[i]
		if o.Backfill {
			continue
		}
		team := roomiest(level, l, len(o.Players), r, try > 0)
		if team < 0 {
			unplaced += len(o.Players)
			continue
		}
		for m := range o.party.Players {
			l.Teams[team] = append(l.Teams[team], ruleset.Member{Party: o.party, Index: m})
		}
	}
	teams = c.sizes(level, l)
	if unplaced > 0 {
		teams = fmt.Sprintf("no team has room for %d of the players together with their parties", unplaced)
	}
	return brokenNames(level, l), teams, unplaced
}

// roomiest returns a team for a party, or -1 if none has room.
func roomiest(level *ruleset.Level, l *ruleset.Lineup, players int, r *rand.Rand, mix bool) int {
	var fit []int
	for i, size := range level.Sizes {
		if len(l.Teams[i])+players <= size.Max {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return -1
	}
	if mix && r.IntN(4) == 0 {
		return fit[r.IntN(len(fit))]
	}
	return slices.MaxFunc(fit, func(a, b int) int {
		short := func(i int) int {
			if len(l.Teams[i]) < level.Sizes[i].Min {
				return 1
			}
			return 0
		}
		open := func(i int) int { return level.Sizes[i].Max - len(l.Teams[i]) }
		return cmp.Or(short(a)-short(b), open(a)-open(b), b-a)
	})
}

// sizes returns text about a team below its minimum, or "".
func (c *crowd) sizes(level *ruleset.Level, l *ruleset.Lineup) string {
	for i, size := range level.Sizes {
		if n := len(l.Teams[i]); n < size.Min {
			return fmt.Sprintf("team %s has %d of at least %d players", c.rs.Instances[i].Name, n, size.Min)
		}
	}
	return ""
}

// brokenNames returns the enforced rules that a lineup breaks.
func brokenNames(level *ruleset.Level, l *ruleset.Lineup) []string {
	var out []string
	for i, r := range level.Rules {
		if r.Enforced && !level.Holds(i, l) {
			out = append(out, r.Name)
		}
	}
	if located := level.Located(); len(out) == 0 && len(located) > 1 && len(level.Locations(l, located)) == 0 {
		out = append(out, level.Rules[located[len(located)-1]].Name)
	}
	return out
}
