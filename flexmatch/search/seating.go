package search

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Judgement is the cost in steps of judging a placement, or a candidate by the evaluator.
// Trying a set costs one step.
const Judgement = 20

// MaxPlacements bounds the complete placements that are judged for one set. Sets of up to
// ten solo players never reach it.
const MaxPlacements = 20000

// Seating is the search for the teams of one set: it tries placements, each a team for
// every ticket, and judges those that are complete by the rules about teams. Begin reuses
// it for another set.
type Seating struct {
	judge    *Judge
	deadline *Deadline

	set    []*Candidate
	level  *ruleset.Level
	limit  int   // the most placements to judge
	order  []int // tickets by size, largest first
	teams  []int // by ticket
	filled []int // players by team
	left   int   // players not yet placed
	lack   int   // players missing in teams below their minimum

	balance   balance
	even      evenness
	counted   []Counted   // the rules about counts at the level
	uncounted []int       // the other rules about teams
	counts    []headcount // by rule of counted

	Found   bool
	Best    []int   // the best valid placement: teams by ticket
	spread  float64 // of Best, with strategy balanced
	Judged  int     // placements
	Skipped int     // placements rejected without being judged, those with the same beginning as one

	unsure []int   // rules about teams that sums do not decide
	choice [][]int // teams to try, by depth
}

// NewSeating returns a seating that stops at a deadline.
func NewSeating(judge *Judge, deadline *Deadline) *Seating {
	return &Seating{judge: judge, deadline: deadline}
}

// Begin prepares the seating of a set, with at most limit placements judged. It returns
// false if the set cannot fit the team sizes.
func (s *Seating) Begin(set []*Candidate, level, limit int) bool {
	s.set, s.level, s.limit = set, s.judge.Rules.Set.Levels()[level], limit
	s.Judged, s.Skipped, s.left, s.lack, s.Found, s.spread = 0, 0, 0, 0, false, math.Inf(1)
	s.order, s.balance.of = s.order[:0], &s.judge.Rules.balanced[level]
	s.counted, s.uncounted = s.judge.Rules.counted[level], s.judge.Rules.uncounted[level]
	s.filled = zeros(s.filled, len(s.judge.Rules.Set.Instances))
	s.teams = zeros(s.teams, len(set))
	for len(s.choice) < len(set) {
		s.choice = append(s.choice, nil)
	}
	total, most := 0, s.level.Capacity()-s.judge.Rules.Options.AdditionalPlayerCount
	for i, c := range s.set {
		most = min(most, c.Most)
		if c.Party.Individuals && slices.ContainsFunc(s.set, func(o *Candidate) bool { return o != c && !c.Joins(o) }) {
			return false
		}
		for _, team := range c.Teams {
			s.filled[team]++
		}
		if c.Size > 0 {
			s.order = append(s.order, i)
		}
		s.left += c.Size
		total += c.Size + c.Held
	}
	for i, n := range s.filled {
		if n > s.level.Sizes[i].Max {
			return false
		}
		s.lack += max(0, s.level.Sizes[i].Min-n)
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return s.set[b].Size - s.set[a].Size })
	return total <= most && s.lack <= s.left
}

// zeros returns a slice of n zeros, in the memory of old if that suffices.
func zeros[T int | float64](old []T, n int) []T {
	old = slices.Grow(old[:0], n)[:n]
	clear(old)
	return old
}

// Run searches for the best placement. It returns true if the search ended before all
// placements were tried.
func (s *Seating) Run() bool {
	s.prepareBalance()
	s.prepareCounts()
	return s.next(0)
}

// Exhausted reports whether too many placements were rejected without being judged.
func (s *Seating) Exhausted() bool { return s.Skipped >= Judgement*s.limit }

// next places the n-th ticket and those after it, unless those before it break a rule. It
// returns true to end the search.
func (s *Seating) next(n int) bool {
	if !s.decideCounts() {
		return s.skip()
	}
	if n == len(s.order) {
		return s.complete()
	}
	i := s.order[n]
	choices := s.choices(n, s.set[i].Size)
	for c, team := range choices {
		if s.sameBefore(choices[:c], team) {
			continue
		}
		s.teams[i] = team
		s.move(i, team, 1)
		done := s.lack <= s.left && s.next(n+1)
		s.move(i, team, -1)
		if done {
			return true
		}
	}
	return false
}

// sameBefore reports whether team is empty and equivalent to an empty team tried before.
func (s *Seating) sameBefore(tried []int, team int) bool {
	if s.filled[team] > 0 || !s.judge.Rules.symmetric {
		return false
	}
	for _, other := range tried {
		if s.filled[other] == 0 && s.level.Sizes[other] == s.level.Sizes[team] {
			return true
		}
	}
	return false
}

// move adds a ticket to a team or, with sign -1, removes it.
func (s *Seating) move(i, team, sign int) {
	size, least := s.set[i].Size, s.level.Sizes[team].Min
	s.lack -= max(0, least-s.filled[team])
	s.filled[team] += sign * size
	s.lack += max(0, least-s.filled[team])
	s.left -= sign * size
	if s.balance.on {
		s.balance.sums[team] += float64(sign) * s.balance.values[i]
	}
	for n := range s.counts {
		s.counts[n].move(i, team, sign)
	}
}

// choices returns the teams with room: those below their minimum first, then those with
// the most open slots.
func (s *Seating) choices(depth, size int) []int {
	out := s.choice[depth][:0]
	for i, limits := range s.level.Sizes {
		if s.filled[i]+size > limits.Max {
			continue
		}
		out = append(out, i)
		for n := len(out) - 1; n > 0 && s.before(out[n], out[n-1]); n-- {
			out[n], out[n-1] = out[n-1], out[n]
		}
	}
	s.choice[depth] = out
	return out
}

// before reports whether team a, later in the rule set than b, is tried before it.
func (s *Seating) before(a, b int) bool {
	return cmp.Or(cmp.Compare(s.short(b), s.short(a)), cmp.Compare(s.open(b), s.open(a)), s.balance.lighter(a, b)) < 0
}

func (s *Seating) short(team int) int {
	if s.filled[team] < s.level.Sizes[team].Min {
		return 1
	}
	return 0
}

func (s *Seating) open(team int) int { return s.level.Sizes[team].Max - s.filled[team] }

// complete judges a complete placement and keeps it if it is valid and better than the
// best. It returns true to end the search.
func (s *Seating) complete() bool {
	if !s.decide() {
		return s.skip()
	}
	s.Judged++
	rs, balanced := s.judge.Rules.Set, s.balanced()
	if len(s.unsure) == 0 && !balanced {
		s.keep(0)
		return true
	}
	l := s.judge.lineups.of(rs, s.set, s.teams)
	spread := 0.0
	if balanced {
		spread = Spread(l, rs.Algorithm.Balanced)
	}
	if (!s.Found || spread < s.spread) && s.level.Keeps(s.unsure, l, &s.judge.Tally) {
		s.keep(spread)
	}
	return s.Judged >= s.limit || s.deadline.Reached(4*s.Judged) || s.Found && (!balanced || s.spread == 0)
}

// balanced reports whether teams are to be as even as possible.
func (s *Seating) balanced() bool {
	return s.judge.Rules.Set.Algorithm.Strategy == ruleset.Balanced
}

// skip counts placements that are rejected without being judged: one, or all that begin in
// the same way. It returns true to end the search.
func (s *Seating) skip() bool {
	s.Skipped++
	return s.Exhausted() || s.deadline.Reached(s.Skipped)
}

// decide judges rules about team averages by the sums of the balanced attribute. It
// returns false if one is broken, and leaves the rules that need the evaluator in unsure.
// Those about counts are kept: decideCounts has judged them.
func (s *Seating) decide() bool {
	s.unsure = append(s.unsure[:0], s.uncounted...)
	for n := range s.counted {
		s.judge.Tally.Note(s.counted[n].Number, true)
	}
	if !s.balance.on {
		return true
	}
	for i := range s.balance.of.rules {
		r := &s.balance.of.rules[i]
		switch s.balance.verdict(r, s.filled) {
		case broken:
			s.judge.Tally.Note(r.number, false)
			return false
		case kept:
			s.judge.Tally.Note(r.number, true)
			s.unsure = slices.DeleteFunc(s.unsure, func(rule int) bool { return rule == r.number })
		}
	}
	return true
}

func (s *Seating) keep(spread float64) {
	s.Found, s.spread = true, spread
	s.Best = append(s.Best[:0], s.teams...)
}

// Deadline is the time at which a search has to stop. The zero value never comes.
type Deadline struct {
	Clock  func() time.Time
	At     time.Time
	Missed bool // Reached has returned true
}

// clockEvery is the number of steps between two readings of the clock.
const clockEvery = 64

// Over reports whether the time has come.
func (d *Deadline) Over() bool { return !d.At.IsZero() && !d.Clock().Before(d.At) }

// Reached is like Over, but reads the clock only once every clockEvery steps.
func (d *Deadline) Reached(steps int) bool {
	if d.At.IsZero() || steps%clockEvery != 0 {
		return false
	}
	d.Missed = d.Missed || d.Over()
	return d.Missed
}
