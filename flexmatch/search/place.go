package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// maxPlacements bounds the complete placements that are judged for one set. Sets
// of up to ten solo players never reach it.
const maxPlacements = 20000

// place distributes a set over the teams. It returns nil if no placement is a valid
// match.
func (s *searcher) place(set []*entry) *Match {
	if seats, known := s.shapes.known(set); known && !seats {
		return nil
	}
	level := s.rs.LevelAt(age(s.rs, set, s.now))
	if !s.keeps(s.rs.Levels()[level], s.seats.together(s.rs, set), s.plan.flat) {
		return nil
	}
	if !s.shapes.seats(s, set) || !s.shapes.placing.found {
		return nil
	}
	m := newMatch(set, s.shapes.placing.best, level)
	if s.verify(m) != nil {
		return nil // cannot happen: everything that verify judges has been judged
	}
	return m
}

// placement is the search for the teams of one set. It can be reused after reset.
type placement struct {
	*searcher
	set    []*entry
	level  *ruleset.Level
	order  []int // tickets by size, largest first
	teams  []int // by ticket
	filled []int // players by team
	left   int   // players not yet placed
	lack   int   // players missing in teams below their minimum
	limit  int   // the most placements to judge
	judged int
	passed int      // placements rejected without being judged
	aims   *aims    // nil if there is nothing to aim at
	aimed  aims     // the memory of aims
	splits []*split // only in the reference search

	tooLate func(steps int) bool // nil in the reference search

	found  bool
	best   []int
	spread float64 // of best, with strategy balanced

	unsure []int   // rules about teams that sums do not decide
	choice [][]int // teams to try, by depth
	seats  seating // of the placement judged last
}

// reset prepares the placement for a set.
func (p *placement) reset(set []*entry, level, limit int) {
	p.set, p.level, p.limit = set, p.rs.Levels()[level], limit
	p.judged, p.passed, p.left, p.lack, p.found, p.spread = 0, 0, 0, 0, false, math.Inf(1)
	p.order, p.splits = p.order[:0], nil
	p.filled = zeros(p.filled, len(p.rs.Instances))
	p.teams = zeros(p.teams, len(set))
	for len(p.choice) < len(set) {
		p.choice = append(p.choice, nil)
	}
}

// zeros returns a slice of n zeros, in the memory of old if that suffices.
func zeros[T int | float64](old []T, n int) []T {
	old = slices.Grow(old[:0], n)[:n]
	clear(old)
	return old
}

// begin seats the game session's players. It returns false if the set cannot fit the team
// sizes.
func (p *placement) begin() bool {
	total := 0
	for i, e := range p.set {
		for _, seat := range e.seats {
			p.filled[seat]++
		}
		if e.size > 0 {
			p.order = append(p.order, i)
		}
		p.left += e.size
		total += e.size + e.held
	}
	for i, n := range p.filled {
		if n > p.level.Sizes[i].Max {
			return false
		}
		p.lack += max(0, p.level.Sizes[i].Min-n)
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return p.set[b].size - p.set[a].size })
	return total <= p.level.Capacity()-p.opts.AdditionalPlayerCount && p.lack <= p.left
}

// next places the n-th ticket and those after it. It returns true to end the search.
func (p *placement) next(n int) bool {
	if n == len(p.order) {
		return p.judge()
	}
	i := p.order[n]
	size := p.set[i].size
	choices := p.choices(n, size)
	for c, team := range choices {
		if p.sameBefore(choices[:c], team) {
			continue
		}
		p.teams[i] = team
		p.move(i, team, 1)
		done := p.lack <= p.left && p.balances(n, team) && p.next(n+1)
		p.move(i, team, -1)
		if done {
			return true
		}
	}
	return false
}

// sameBefore reports whether team is empty and equivalent to an empty team tried before.
func (p *placement) sameBefore(tried []int, team int) bool {
	if p.filled[team] > 0 || !p.plan.symmetric {
		return false
	}
	for _, other := range tried {
		if p.filled[other] == 0 && p.level.Sizes[other] == p.level.Sizes[team] {
			return true
		}
	}
	return false
}

// move adds a ticket to a team or, with sign -1, removes it.
func (p *placement) move(i, team, sign int) {
	size, least := p.set[i].size, p.level.Sizes[team].Min
	p.lack -= max(0, least-p.filled[team])
	p.filled[team] += sign * size
	p.lack += max(0, least-p.filled[team])
	p.left -= sign * size
	if p.aims != nil {
		p.aims.sums[team] += float64(sign) * p.aims.values[i]
	}
}

// choices returns the teams with room: those below their minimum first, then those with
// the most open slots.
func (p *placement) choices(depth, size int) []int {
	out := p.choice[depth][:0]
	for i, limits := range p.level.Sizes {
		if p.filled[i]+size > limits.Max {
			continue
		}
		out = append(out, i)
		for n := len(out) - 1; n > 0 && p.before(out[n], out[n-1]); n-- {
			out[n], out[n-1] = out[n-1], out[n]
		}
	}
	p.choice[depth] = out
	return out
}

// before reports whether team a, later in the rule set than b, is tried before it.
func (p *placement) before(a, b int) bool {
	return cmp.Or(cmp.Compare(p.short(b), p.short(a)), cmp.Compare(p.open(b), p.open(a)), p.lighter(a, b)) < 0
}

func (p *placement) short(team int) int {
	if p.filled[team] < p.level.Sizes[team].Min {
		return 1
	}
	return 0
}

func (p *placement) open(team int) int { return p.level.Sizes[team].Max - p.filled[team] }
