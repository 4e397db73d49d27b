package search

import (
	"math"
	"math/big"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// sums lets the reference search skip sets of candidates that cannot bring a sum over
// teams into a rule's range. It works backwards from the goal: for the candidates from
// the i-th on and a number of players, it computes the set of sums that they can complete
// in any teams. Numbers must be whole; each sum is a bit.
type sums struct {
	rule  ruleset.Sum
	zero  uint         // the bit of the sum 0
	goals [][]*big.Int // by candidate and players wanted
}

// maxSums bounds the total bits of all sets.
const maxSums = 1 << 28

// sumsOf returns the sums for an attempt of at most that many new players. Rules with
// sums that are not whole or are too large are left out.
func (a *attempt) sumsOf(most int) []*sums {
	var out []*sums
	for _, rule := range a.plan.teams {
		for n, of := range a.rs.Level(0).Rules[rule].Sums(len(a.rs.Instances)) {
			of.Range = a.loosest(rule, n)
			s := &sums{rule: of}
			if s.prepare(a, most) {
				out = append(out, s)
			}
		}
	}
	return out
}

// loosest returns the union of a rule's ranges at all levels, or an unbounded range if
// levels differ in more than the range.
func (a *attempt) loosest(rule, n int) ruleset.Range {
	first := a.rs.Level(0).Rules[rule].Sums(len(a.rs.Instances))[n]
	out := first.Range
	for _, l := range a.rs.Levels() {
		all := l.Rules[rule].Sums(len(a.rs.Instances))
		if n >= len(all) || all[n].Attribute != first.Attribute || all[n].Party != first.Party || !slices.Equal(all[n].Weights, first.Weights) {
			return ruleset.Range{Low: math.Inf(-1), High: math.Inf(1)}
		}
		out.Low, out.High = min(out.Low, all[n].Range.Low), max(out.High, all[n].Range.High)
	}
	return out
}

// prepare computes the goals. It returns false if sums are not whole or too large.
func (s *sums) prepare(a *attempt, most int) bool {
	reach, whole := s.span(append(a.set[:1:1], a.candidates...))
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

// span returns how far from 0 the tickets can bring the sum, and false if they add
// numbers that are not whole.
func (s *sums) span(entries []*entry) (reach float64, whole bool) {
	for _, e := range entries {
		far := 0.0
		for _, n := range s.moves(e) {
			if n != math.Trunc(n) {
				return 0, false
			}
			far = max(far, math.Abs(n))
		}
		reach += far
	}
	return reach, true
}

// end returns the goals when no candidates are left: the range, for no players.
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

// back returns the goals with one more candidate, which may join or not.
func (s *sums) back(e *entry, after []*big.Int) []*big.Int {
	out := make([]*big.Int, len(after))
	for k := range out {
		out[k] = new(big.Int).Set(after[k])
		if k < e.size {
			continue
		}
		for _, n := range s.moves(e) {
			out[k].Or(out[k], shifted(after[k-e.size], -n))
		}
	}
	return out
}

// moves returns what a ticket can add to the sum: the distinct values over the teams, or
// one value if its players are in teams already.
func (s *sums) moves(e *entry) []float64 {
	total := s.adds(e)
	if e.seats != nil {
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
func (s *sums) adds(e *entry) float64 {
	total := 0.0
	for i := range e.party.Players {
		n := ruleset.Member{Party: e.party, Index: i}.Counted(s.rule.Attribute, s.rule.Party)
		if e.seats != nil {
			n *= float64(s.rule.Weights[e.seats[i]])
		}
		total += n
	}
	return total
}

// reaches reports whether a set with candidates from the i-th on, who add that many
// players, might have a sum within the range.
func (s *sums) reaches(set []*entry, i, players int) bool {
	at := new(big.Int).Lsh(big.NewInt(1), s.zero)
	for _, e := range set {
		next := new(big.Int)
		for _, n := range s.moves(e) {
			next.Or(next, shifted(at, n))
		}
		at = next
	}
	return at.And(at, s.goals[i][players]).Sign() != 0
}

// shifted returns a set of sums with n added to each.
func shifted(set *big.Int, n float64) *big.Int {
	if n < 0 {
		return new(big.Int).Rsh(set, uint(-n))
	}
	return new(big.Int).Lsh(set, uint(n))
}
