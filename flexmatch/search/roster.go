package search

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// ways is a set of ways to fill the teams, one bit each. A way is a number of players for
// every team.
type ways uint64

// maxWays is the number of distinct ways in a set.
const maxWays = 64

// roster holds the ways to fill the teams of a rule set at any age. Parties stay
// together, so most sets of parties with the right number of players cannot fill the
// teams, and are skipped without judging any rule.
type roster struct {
	bench []int    // by team: the bench that counts its players; teams can share one
	step  []int    // by bench: how far one more player shifts the bit of a way
	room  [][]ways // by bench and number of players: the ways with room for that many more
	total []ways   // by number of players: the ways with that many
	least ways     // the ways in which no bench lacks players
}

// rosterOf returns the roster of a rule set. If there are more ways than bits, the
// smallest teams share benches, and fewer sets are ruled out.
func rosterOf(rs *ruleset.RuleSet) *roster {
	bench, sizes := benches(rs)
	r := &roster{bench: bench}
	count := 1
	for _, size := range sizes {
		r.step = append(r.step, count)
		r.room = append(r.room, make([]ways, size.Max+1))
		count *= size.Max + 1
	}
	for way := range count {
		r.note(way, sizes)
	}
	return r
}

// benches returns each team's bench, and each bench's loosest size over all ages.
func benches(rs *ruleset.RuleSet) (bench []int, sizes []ruleset.Size) {
	for team := range rs.Instances {
		size := rs.Level(0).Sizes[team]
		for _, l := range rs.Levels() {
			size = ruleset.Size{Min: min(size.Min, l.Sizes[team].Min), Max: max(size.Max, l.Sizes[team].Max)}
		}
		bench, sizes = append(bench, team), append(sizes, size)
	}
	for tooMany(sizes) {
		a, b := smallest(sizes)
		sizes[a] = ruleset.Size{Min: sizes[a].Min + sizes[b].Min, Max: sizes[a].Max + sizes[b].Max}
		sizes = slices.Delete(sizes, b, b+1)
		for team, n := range bench {
			switch {
			case n == b:
				bench[team] = a
			case n > b:
				bench[team]--
			}
		}
	}
	return bench, sizes
}

func tooMany(sizes []ruleset.Size) bool {
	count := 1
	for _, size := range sizes {
		if count *= size.Max + 1; count > maxWays && len(sizes) > 1 {
			return true
		}
	}
	return false
}

// smallest returns the two benches with the fewest places, the earlier first.
func smallest(sizes []ruleset.Size) (a, b int) {
	order := make([]int, len(sizes))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[a].Max - sizes[b].Max })
	return min(order[0], order[1]), max(order[0], order[1])
}

// note adds a way to the sets that it belongs to.
func (r *roster) note(way int, sizes []ruleset.Size) {
	bit, players, short := ways(1)<<way, 0, false
	for b, size := range sizes {
		n := way / r.step[b] % (size.Max + 1)
		for more := range size.Max - n + 1 {
			r.room[b][more] |= bit
		}
		players += n
		short = short || n < size.Min
	}
	if !short {
		r.least |= bit
	}
	for len(r.total) <= players {
		r.total = append(r.total, 0)
	}
	r.total[players] |= bit
}

// nobody is the set with the one way in which all teams are empty.
const nobody ways = 1

// with returns the ways of a set after a ticket joins.
func (r *roster) with(set ways, e *entry) ways {
	if e.held > 0 {
		return r.seated(set, e.seats)
	}
	return r.plus(set, e.size)
}

// plus returns the ways of a set after a party of that many players joins one team.
func (r *roster) plus(set ways, players int) ways {
	if players == 0 {
		return set
	}
	var out ways
	for b, step := range r.step {
		if players < len(r.room[b]) {
			out |= (set & r.room[b][players]) << (step * players)
		}
	}
	return out
}

// seated returns the ways of a set after players join the given teams.
func (r *roster) seated(set ways, teams []int) ways {
	for _, team := range teams {
		b := r.bench[team]
		set = (set & r.room[b][1]) << r.step[b]
	}
	return set
}

// of returns the ways with that many players; with enough, only those in which no bench
// lacks players.
func (r *roster) of(players int, enough bool) ways {
	switch {
	case players < 0 || players >= len(r.total):
		return 0
	case enough:
		return r.total[players] & r.least
	}
	return r.total[players]
}

// reaches reports whether adding some of the items leads from a set of ways to a goal.
func (r *roster) reaches(set ways, items []*item, goal ways) bool {
	for _, it := range items {
		if set&goal != 0 {
			return true
		}
		set |= r.plus(set, it.size)
	}
	return set&goal != 0
}
