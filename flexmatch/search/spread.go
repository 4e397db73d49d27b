package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// spreadOut places the tickets of a large match: bigger parties and higher values first,
// each in the team that needs it most. Then it evens the teams out. Tickets that fit
// nowhere are left out. It returns nil if a team stays too small or the match is not
// valid.
func (s *searcher) spreadOut(entries []*entry) *Match {
	t := &table{searcher: s, level: s.rs.Level(age(s.rs, entries, s.now)), entries: entries}
	t.seat()
	if !t.complete() {
		return nil
	}
	t.even()
	var chosen []*entry
	var teams []int
	fresh := 0
	for i, e := range t.entries {
		if t.teams[i] >= 0 || e.ticket.Backfill {
			chosen, teams = append(chosen, e), append(teams, t.teams[i])
			fresh += e.size
		}
	}
	if fresh == 0 {
		return nil
	}
	m := newMatch(chosen, teams, s.rs.LevelAt(age(s.rs, chosen, s.now)))
	if s.verify(m) != nil {
		return nil
	}
	return m
}

// table is the seating of a large match.
type table struct {
	*searcher
	level   *ruleset.Level
	entries []*entry
	values  []float64 // by ticket: sum of the balanced attribute
	teams   []int     // by ticket; -1 if none
	filled  []int
	sums    []float64
}

func (t *table) seat() {
	t.filled, t.sums = make([]int, len(t.level.Sizes)), make([]float64, len(t.level.Sizes))
	t.teams, t.values = slices.Repeat([]int{-1}, len(t.entries)), make([]float64, len(t.entries))
	order := make([]int, 0, len(t.entries))
	balanced := t.rs.Algorithm.Balanced
	for i, e := range t.entries {
		for p := range e.party.Players {
			v := e.party.Players[p].Values[balanced].Number
			t.values[i] += v
			if e.seats != nil {
				t.filled[e.seats[p]]++
				t.sums[e.seats[p]] += v
			}
		}
		if e.size > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := t.entries[a], t.entries[b]
		return cmp.Or(y.size-x.size, cmp.Compare(t.values[b]/float64(y.size), t.values[a]/float64(x.size)))
	})
	for _, i := range order {
		if team := t.choose(t.entries[i].size); team >= 0 {
			t.put(i, team)
		}
	}
}

// choose returns the team for a ticket: one below its minimum if there is one, then the
// one with the most open slots, then the lowest sum. It returns -1 if the ticket fits
// nowhere.
func (t *table) choose(size int) int {
	best := -1
	better := func(a, b int) bool {
		short := func(i int) int { return boolInt(t.filled[i] < t.level.Sizes[i].Min) }
		open := func(i int) int { return t.level.Sizes[i].Max - t.filled[i] }
		return cmp.Or(short(a)-short(b), open(a)-open(b), cmp.Compare(t.sums[b], t.sums[a])) > 0
	}
	for i, limits := range t.level.Sizes {
		if t.filled[i]+size <= limits.Max && (best < 0 || better(i, best)) {
			best = i
		}
	}
	return best
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *table) put(i, team int) {
	t.teams[i] = team
	t.filled[team] += t.entries[i].size
	t.sums[team] += t.values[i]
}

func (t *table) complete() bool {
	for i, n := range t.filled {
		if n < t.level.Sizes[i].Min || n > t.level.Sizes[i].Max {
			return false
		}
	}
	return true
}

// even swaps tickets of equal size between the teams with the highest and lowest average
// as long as that brings the averages closer.
func (t *table) even() {
	for range 4 * len(t.filled) * len(t.entries) {
		high, low := t.extremes()
		if high == low || !t.swap(high, low) {
			return
		}
	}
}

func (t *table) extremes() (high, low int) {
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

func (t *table) average(team int) float64 { return t.sums[team] / float64(t.filled[team]) }

// swap makes the exchange that brings the two teams closest. It returns false if none
// brings them closer.
func (t *table) swap(high, low int) bool {
	best, a, b := math.Abs(t.average(high)-t.average(low)), -1, -1
	for i := range t.entries {
		for j := range t.entries {
			if t.teams[i] != high || t.teams[j] != low || t.entries[i].size != t.entries[j].size {
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
