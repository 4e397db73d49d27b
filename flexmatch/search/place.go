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

// place spreads a set over the teams; nil if no placement is a valid match.
func (s *searcher) place(set []*entry) *Match {
	level := s.rs.LevelAt(age(s.rs, set, s.now))
	p := &placement{searcher: s, set: set, level: s.rs.Levels()[level], spread: math.Inf(1), limit: maxPlacements}
	if !p.begin() || !s.keeps(p.level, together(s.rs, set), s.plan.flat) {
		return nil
	}
	p.next(0)
	if p.best == nil {
		return nil
	}
	return newMatch(s.rs, set, p.best, level)
}

// placement is the search for the teams of one set.
type placement struct {
	*searcher
	set     []*entry
	level   *ruleset.Level
	order   []int // tickets by size, greatest first
	teams   []int // by ticket
	filled  []int // players by team
	left    int   // players not yet placed
	limit   int   // of placements to judge
	judged  int
	passed  int                  // placements seen to fail without judging them
	aims    *aims                // nil in the reference search
	tooLate func(steps int) bool // nil in the reference search

	best   []int
	spread float64 // of the best, under the strategy balanced
}

// begin seats the game session's players; false if the numbers cannot fit.
func (p *placement) begin() bool {
	p.filled = make([]int, len(p.rs.Instances))
	p.teams = make([]int, len(p.set))
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
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return p.set[b].size - p.set[a].size })
	return total <= p.level.Capacity()-p.opts.AdditionalPlayerCount && p.lacking() <= p.left
}

// lacking counts the players that teams still need.
func (p *placement) lacking() int {
	n := 0
	for i, size := range p.level.Sizes {
		n += max(0, size.Min-p.filled[i])
	}
	return n
}

// next places the n-th ticket and those after it; true ends the search.
func (p *placement) next(n int) bool {
	if n == len(p.order) {
		return p.judge()
	}
	i := p.order[n]
	size := p.set[i].size
	var empty []ruleset.Size
	for _, team := range p.choices(size) {
		limits := p.level.Sizes[team]
		if p.filled[team] == 0 && len(p.plan.teams) == 0 {
			if slices.Contains(empty, limits) {
				continue // the same as an empty team tried before
			}
			empty = append(empty, limits)
		}
		p.teams[i] = team
		p.move(i, team, 1)
		done := p.lacking() <= p.left && p.next(n+1)
		p.move(i, team, -1)
		if done {
			return true
		}
	}
	return false
}

// move puts a ticket into a team, or with sign -1 takes it out.
func (p *placement) move(i, team, sign int) {
	p.filled[team] += sign * p.set[i].size
	p.left -= sign * p.set[i].size
	if p.aims != nil {
		p.aims.sums[team] += float64(sign) * p.aims.values[i]
	}
}

// choices gives the teams with room: those that lack players first, then those
// with most open slots.
func (p *placement) choices(size int) []int {
	var out []int
	for i, limits := range p.level.Sizes {
		if p.filled[i]+size <= limits.Max {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(-cmp.Compare(p.short(a), p.short(b)), -cmp.Compare(p.open(a), p.open(b)), p.lighter(a, b))
	})
	return out
}

func (p *placement) short(team int) int {
	if p.filled[team] < p.level.Sizes[team].Min {
		return 1
	}
	return 0
}

func (p *placement) open(team int) int { return p.level.Sizes[team].Max - p.filled[team] }

// judge looks at a complete placement and keeps it if it is valid and better.
func (p *placement) judge() bool {
	if p.aims != nil {
		if rule := p.aims.off(p.filled); rule >= 0 {
			p.tally.note(rule, false)
			p.passed++
			return p.passed >= judgement*p.limit || p.tooLate(p.passed)
		}
	}
	p.judged++
	balanced := p.rs.Algorithm.Strategy == ruleset.Balanced
	if len(p.plan.teams) == 0 && !balanced {
		p.best = slices.Clone(p.teams)
		return true
	}
	l := lineup(p.rs, p.set, p.teams)
	spread := 0.0
	if balanced {
		spread = Spread(l, p.rs.Algorithm.Balanced)
	}
	if (p.best == nil || spread < p.spread) && p.keeps(p.level, l, p.plan.teams) {
		p.best, p.spread = slices.Clone(p.teams), spread
	}
	return p.judged >= p.limit || p.tooLate != nil && p.tooLate(4*p.judged) || p.best != nil && (!balanced || p.spread == 0)
}

// Spread is the distance of the highest from the lowest team average of a number
// attribute; teams without players do not count.
func Spread(l *ruleset.Lineup, attribute int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, team := range l.Teams {
		if len(team) == 0 {
			continue
		}
		total := 0.0
		for _, m := range team {
			total += m.Party.Players[m.Index].Values[attribute].Number
		}
		low, high = min(low, total/float64(len(team))), max(high, total/float64(len(team)))
	}
	return max(0, high-low)
}
