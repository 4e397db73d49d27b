package pool

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// ways is a set of ways to fill the teams, one bit each. A way is a number of players for
// every team.
type ways uint64

// maxWays is the most distinct ways that a set can hold.
const maxWays = 64

// teamSizes holds the ways to fill the teams of a rule set at any age. Parties stay
// together, so most sets of parties with the right number of players cannot fill the
// teams, and are skipped without judging any rule.
type teamSizes struct {
	counter []int    // by team: the counter that counts its players; teams can share one
	step    []int    // by counter: how far one more player shifts the bit of a way
	room    [][]ways // by counter and number of players: the ways with room for that many more
	total   []ways   // by number of players: the ways with that many
	least   ways     // the ways in which no counter lacks players
}

// teamSizesOf returns the team sizes of a rule set. If there are more ways than bits, the
// smallest teams share counters, and fewer sets are ruled out.
func teamSizesOf(rs *ruleset.RuleSet) *teamSizes {
	counter, sizes := counters(rs)
	t := &teamSizes{counter: counter}
	count := 1
	for _, size := range sizes {
		t.step = append(t.step, count)
		t.room = append(t.room, make([]ways, size.Max+1))
		count *= size.Max + 1
	}
	for way := range count {
		t.note(way, sizes)
	}
	return t
}

// counters returns each team's counter, and each counter's loosest size over all ages.
func counters(rs *ruleset.RuleSet) (counter []int, sizes []ruleset.Size) {
	for team := range rs.Instances {
		size := rs.Level(0).Sizes[team]
		for _, l := range rs.Levels() {
			size = ruleset.Size{Min: min(size.Min, l.Sizes[team].Min), Max: max(size.Max, l.Sizes[team].Max)}
		}
		counter, sizes = append(counter, team), append(sizes, size)
	}
	for tooMany(sizes) {
		a, b := smallest(sizes)
		sizes[a] = ruleset.Size{Min: sizes[a].Min + sizes[b].Min, Max: sizes[a].Max + sizes[b].Max}
		sizes = slices.Delete(sizes, b, b+1)
		for team, n := range counter {
			switch {
			case n == b:
				counter[team] = a
			case n > b:
				counter[team]--
			}
		}
	}
	return counter, sizes
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

// smallest returns the two counters with the fewest places, the earlier first.
func smallest(sizes []ruleset.Size) (a, b int) {
	order := make([]int, len(sizes))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[a].Max - sizes[b].Max })
	return min(order[0], order[1]), max(order[0], order[1])
}

// note adds a way to the sets that it belongs to.
func (t *teamSizes) note(way int, sizes []ruleset.Size) {
	bit, players, short := ways(1)<<way, 0, false
	for b, size := range sizes {
		n := way / t.step[b] % (size.Max + 1)
		for more := range size.Max - n + 1 {
			t.room[b][more] |= bit
		}
		players += n
		short = short || n < size.Min
	}
	if !short {
		t.least |= bit
	}
	for len(t.total) <= players {
		t.total = append(t.total, 0)
	}
	t.total[players] |= bit
}

// nobody is the set with the one way in which all teams are empty.
const nobody ways = 1

// with returns the ways of a set after a ticket joins.
func (t *teamSizes) with(set ways, e *entry) ways {
	if e.held > 0 {
		return t.seated(set, e.it.Teams)
	}
	return t.plus(set, int(e.size))
}

// plus returns the ways of a set after a party of that many players joins one team.
func (t *teamSizes) plus(set ways, players int) ways {
	if players == 0 {
		return set
	}
	var out ways
	for b, step := range t.step {
		if players < len(t.room[b]) {
			out |= (set & t.room[b][players]) << (step * players)
		}
	}
	return out
}

// seated returns the ways of a set after players join the given teams.
func (t *teamSizes) seated(set ways, teams []int) ways {
	for _, team := range teams {
		b := t.counter[team]
		set = (set & t.room[b][1]) << t.step[b]
	}
	return set
}

// of returns the ways with that many players; with enough, only those in which no counter
// lacks players.
func (t *teamSizes) of(players int, enough bool) ways {
	switch {
	case players < 0 || players >= len(t.total):
		return 0
	case enough:
		return t.total[players] & t.least
	}
	return t.total[players]
}

// reaches reports whether adding some of the tickets leads from a set of ways to a goal.
func (t *teamSizes) reaches(set ways, tickets []entry, goal ways) bool {
	for i := range tickets {
		if set&goal != 0 {
			return true
		}
		set |= t.plus(set, int(tickets[i].size))
	}
	return set&goal != 0
}
