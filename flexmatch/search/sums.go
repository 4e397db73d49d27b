package search

import (
	"math"
	"math/big"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// sums is a rule about a sum over teams, on whole numbers. Sets of possible sums are
// numbers with a bit for each sum.
type sums struct {
	rule ruleset.Sum
	zero uint // the bit of the sum 0
}

// maxSums bounds the total bits of all sets.
const maxSums = 1 << 28

// extent returns how far from 0 the tickets can bring the sum, and false if they add
// numbers that are not whole.
func (s *sums) extent(set []*Candidate) (reach float64, whole bool) {
	for _, c := range set {
		far := 0.0
		for _, n := range s.moves(c) {
			if n != math.Trunc(n) {
				return 0, false
			}
			far = max(far, math.Abs(n))
		}
		reach += far
	}
	return reach, true
}

// end returns the goals when no candidates are left, by players wanted: the rule's range,
// for no players.
func (s *sums) end(reach float64, most int) []*big.Int {
	out := make([]*big.Int, most+1)
	for k := range out {
		out[k] = new(big.Int)
	}
	low, high := max(math.Ceil(s.rule.Range.Low), -reach), min(math.Floor(s.rule.Range.High), reach)
	if low <= high {
		one := big.NewInt(1)
		out[0].Sub(new(big.Int).Lsh(one, uint(high-low)+1), one)
		out[0].Lsh(out[0], uint(float64(s.zero)+low))
	}
	return out
}

// moves returns what a ticket can add to the sum: the distinct values over the teams, or
// one value if its players are in teams already.
func (s *sums) moves(c *Candidate) []float64 {
	total := s.adds(c)
	if c.Teams != nil {
		return []float64{total}
	}
	var out []float64
	for _, w := range s.rule.Weights {
		if n := float64(w) * total; !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// adds returns what a ticket adds in a team of weight 1, or in the teams that its players
// are in.
func (s *sums) adds(c *Candidate) float64 {
	total := 0.0
	for i := range c.Party.Players {
		n := ruleset.Member{Party: &c.Party, Index: i}.Counted(s.rule.Attribute, s.rule.Party)
		if c.Teams != nil {
			n *= float64(s.rule.Weights[c.Teams[i]])
		}
		total += n
	}
	return total
}

// shifted returns a set of sums with n added to each.
func shifted(set *big.Int, n float64) *big.Int {
	if n < 0 {
		return new(big.Int).Rsh(set, uint(-n))
	}
	return new(big.Int).Lsh(set, uint(n))
}

// sumGoals lets the reference search skip sets of candidates that cannot bring a sum into
// a rule's range. It works backwards from the goal: for the candidates from the i-th on
// and a number of players, it computes the sums that they can complete in any teams.
type sumGoals struct {
	sums
	goals [][]*big.Int // by candidate and players wanted
}

// goalsOf returns the sums for an attempt of at most that many new players. Rules with
// sums that are not whole or are too large are left out.
func (a *attempt) goalsOf(most int) []*sumGoals {
	var out []*sumGoals
	rs := a.pass.rules.Set
	for _, rule := range a.pass.rules.Teams {
		for n, of := range rs.Level(0).Rules[rule].Sums(len(rs.Instances)) {
			of.Range = loosest(rs, rule, n)
			s := &sumGoals{sums: sums{rule: of}}
			if s.prepare(a, most) {
				out = append(out, s)
			}
		}
	}
	return out
}

// loosest returns the union of the ranges of a rule's n-th sum at all levels, or an
// unbounded range if levels differ in more than the range.
func loosest(rs *ruleset.RuleSet, rule, n int) ruleset.Range {
	first := rs.Level(0).Rules[rule].Sums(len(rs.Instances))[n]
	out := first.Range
	for _, l := range rs.Levels() {
		all := l.Rules[rule].Sums(len(rs.Instances))
		if n >= len(all) || all[n].Attribute != first.Attribute || all[n].Party != first.Party || !slices.Equal(all[n].Weights, first.Weights) {
			return ruleset.Range{Low: math.Inf(-1), High: math.Inf(1)}
		}
		out.Low, out.High = min(out.Low, all[n].Range.Low), max(out.High, all[n].Range.High)
	}
	return out
}

// prepare computes the goals. It returns false if sums are not whole or too large.
func (s *sumGoals) prepare(a *attempt, most int) bool {
	reach, whole := s.extent(append(a.set[:1:1], a.candidates...))
	if !whole || reach*float64(len(a.candidates)+1)*float64(most+1) > maxSums {
		return false
	}
	s.zero = 2 * uint(reach)
	s.goals = make([][]*big.Int, len(a.candidates)+1)
	s.goals[len(a.candidates)] = s.end(reach, most)
	for i := len(a.candidates) - 1; i >= 0; i-- {
		s.goals[i] = s.back(a.candidates[i], s.goals[i+1])
	}
	return true
}

// back returns the goals with one more candidate, which may join or not.
func (s *sumGoals) back(c *Candidate, after []*big.Int) []*big.Int {
	out := make([]*big.Int, len(after))
	for k := range out {
		out[k] = new(big.Int).Set(after[k])
		if k < c.Size {
			continue
		}
		for _, n := range s.moves(c) {
			out[k].Or(out[k], shifted(after[k-c.Size], -n))
		}
	}
	return out
}

// reachesSums reports whether the rules about sums could pass with candidates from the
// i-th on that add that many players.
func (a *attempt) reachesSums(i, players int) bool {
	return !slices.ContainsFunc(a.goals, func(s *sumGoals) bool { return !s.reaches(a.set, i, players) })
}

// reaches reports whether a set with candidates from the i-th on, who add that many
// players, might have a sum within the range.
func (s *sumGoals) reaches(set []*Candidate, i, players int) bool {
	at := new(big.Int).Lsh(big.NewInt(1), s.zero)
	for _, c := range set {
		next := new(big.Int)
		for _, n := range s.moves(c) {
			next.Or(next, shifted(at, n))
		}
		at = next
	}
	return at.And(at, s.goals[i][players]).Sign() != 0
}

// teamSum limits the seating of one set to the teams that can reach the sum that a rule
// requires: it knows which sums the tickets not yet placed can complete.
type teamSum struct {
	sums
	values []float64  // by position in the order: what the ticket adds with weight 1
	at     []float64  // by position: the sum of the tickets before it
	left   []*big.Int // by position: sums that the tickets from there on can complete
}

// prepareSums prepares the seating for rules about sums.
func (s *Seating) prepareSums() {
	for _, rule := range s.judge.Rules.Teams {
		for _, of := range s.level.Rules[rule].Sums(len(s.judge.Rules.Set.Instances)) {
			t := &teamSum{sums: sums{rule: of}}
			if t.prepare(s) {
				s.sums = append(s.sums, t)
			}
		}
	}
}

// prepare computes the sets of sums, from the last ticket to the first. It returns false
// if sums are not whole or too large.
func (t *teamSum) prepare(s *Seating) bool {
	reach, whole := t.extent(s.set)
	if !whole || reach*float64(len(s.set)+1) > maxSums {
		return false
	}
	t.at = make([]float64, len(s.order)+1)
	for _, c := range s.set {
		if c.Teams != nil {
			t.at[0] += t.moves(c)[0]
		}
	}
	t.zero = 2 * uint(reach)
	t.values, t.left = make([]float64, len(s.order)), make([]*big.Int, len(s.order)+1)
	t.left[len(s.order)] = t.end(reach, 0)[0]
	for n := len(s.order) - 1; n >= 0; n-- {
		c := s.set[s.order[n]]
		t.values[n], t.left[n] = t.adds(c), new(big.Int)
		for _, add := range t.moves(c) {
			t.left[n].Or(t.left[n], shifted(t.left[n+1], -add))
		}
	}
	return true
}

// reachesSums records the team of the n-th ticket. It returns false if the tickets after
// it cannot bring every sum into its range.
func (s *Seating) reachesSums(n, team int) bool {
	for _, t := range s.sums {
		t.at[n+1] = t.at[n] + float64(t.rule.Weights[team])*t.values[n]
		if t.left[n+1].Bit(int(float64(t.zero)+t.at[n+1])) == 0 {
			return false
		}
	}
	return true
}
