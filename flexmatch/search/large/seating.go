package large

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// seat distributes tickets over the teams of a large match: bigger parties and higher
// values first, each in the team that needs it most. Then it evens the teams out. Tickets
// that fit nowhere are left out. It returns nil if a team stays too small or the match is
// not valid, else the match and its tickets.
func (s *Search) seat(set []*member) (*search.Match, []*member) {
	t := &seating{level: s.rules.Set.Level(s.now.Sub(s.gathering.created)), set: set}
	t.fill(s.rules.Set.Algorithm.Balanced)
	if !t.complete() {
		return nil, nil
	}
	t.even()
	used, candidates, teams := make([]*member, 0, len(set)), make([]*search.Candidate, 0, len(set)), t.teams[:0]
	fresh := 0
	for i, c := range set {
		if team := t.teams[i]; team >= 0 || c.Ticket.Backfill {
			used, candidates, teams = append(used, c), append(candidates, c.Candidate), append(teams, team)
			fresh += c.Size
		}
	}
	if fresh == 0 {
		return nil, nil
	}
	return s.judge.Form(candidates, teams, s.judge.LevelOf(candidates)), used
}

type seating struct {
	level  *ruleset.Level
	set    []*member
	values []float64 // by ticket: sum of the balanced attribute
	teams  []int     // by ticket; -1 if none
	filled []int     // players by team
	sums   []float64 // of values by team
	other  []int     // tickets of a team, for swap
}

func (t *seating) fill(balanced int) {
	t.filled, t.sums = make([]int, len(t.level.Sizes)), make([]float64, len(t.level.Sizes))
	t.teams, t.values = slices.Repeat([]int{-1}, len(t.set)), make([]float64, len(t.set))
	order := make([]int, 0, len(t.set))
	for i, c := range t.set {
		for p := range c.Party.Players {
			v := c.Party.Players[p].Values[balanced].Number
			t.values[i] += v
			if c.Teams != nil {
				t.filled[c.Teams[p]]++
				t.sums[c.Teams[p]] += v
			}
		}
		if c.Size > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := t.set[a], t.set[b]
		return cmp.Or(y.Size-x.Size, cmp.Compare(t.values[b]/float64(y.Size), t.values[a]/float64(x.Size)))
	})
	for _, i := range order {
		if team := t.choose(t.set[i].Size); team >= 0 {
			t.teams[i] = team
			t.filled[team] += t.set[i].Size
			t.sums[team] += t.values[i]
		}
	}
}

// choose returns the team for a ticket: one below its minimum if there is one, then the
// one with the most open slots, then the lowest sum. It returns -1 if the ticket fits
// nowhere.
func (t *seating) choose(size int) int {
	best := -1
	better := func(a, b int) bool {
		if shortA, shortB := t.filled[a] < t.level.Sizes[a].Min, t.filled[b] < t.level.Sizes[b].Min; shortA != shortB {
			return shortA
		}
		open := func(i int) int { return t.level.Sizes[i].Max - t.filled[i] }
		return cmp.Or(open(a)-open(b), cmp.Compare(t.sums[b], t.sums[a])) > 0
	}
	for i, limits := range t.level.Sizes {
		if t.filled[i]+size <= limits.Max && (best < 0 || better(i, best)) {
			best = i
		}
	}
	return best
}

func (t *seating) complete() bool {
	for i, n := range t.filled {
		if n < t.level.Sizes[i].Min || n > t.level.Sizes[i].Max {
			return false
		}
	}
	return true
}

// even swaps tickets of equal size between the teams with the highest and lowest average
// as long as that brings the averages closer.
func (t *seating) even() {
	for range 4 * len(t.filled) * len(t.set) {
		high, low := t.extremes()
		if high == low || !t.swap(high, low) {
			return
		}
	}
}

func (t *seating) extremes() (high, low int) {
	high, low = -1, -1
	for i, n := range t.filled {
		if n == 0 {
			continue
		}
		if high < 0 || t.average(i) > t.average(high) {
			high = i
		}
		if low < 0 || t.average(i) < t.average(low) {
			low = i
		}
	}
	return high, low
}

func (t *seating) average(team int) float64 { return t.sums[team] / float64(t.filled[team]) }

// swap makes the exchange that brings the two teams closest. It returns false if none
// brings them closer.
func (t *seating) swap(high, low int) bool {
	best, a, b := math.Abs(t.average(high)-t.average(low)), -1, -1
	t.other = t.other[:0]
	for j, team := range t.teams {
		if team == low {
			t.other = append(t.other, j)
		}
	}
	for i := range t.set {
		if t.teams[i] != high {
			continue
		}
		for _, j := range t.other {
			if t.set[i].Size != t.set[j].Size {
				continue
			}
			d := t.values[i] - t.values[j]
			gap := math.Abs((t.sums[high]-d)/float64(t.filled[high]) - (t.sums[low]+d)/float64(t.filled[low]))
			if gap < best-1e-12 {
				best, a, b = gap, i, j
			}
		}
	}
	if a < 0 {
		return false
	}
	d := t.values[a] - t.values[b]
	t.teams[a], t.teams[b] = low, high
	t.sums[high] -= d
	t.sums[low] += d
	return true
}
