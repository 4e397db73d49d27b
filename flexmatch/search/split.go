package search

import "math/big"

// split limits the search for the teams of one set to those that can reach the sum that a
// rule requires: it knows which sums the tickets not yet placed can complete.
type split struct {
	sums
	values []float64  // by position in the order: what the ticket adds with weight 1
	at     []float64  // by position: the sum of the tickets before it
	left   []*big.Int // by position: sums that the tickets from there on can complete
}

// split prepares the placement for rules about sums.
func (p *placement) split() {
	for _, rule := range p.plan.teams {
		for _, of := range p.level.Rules[rule].Sums(len(p.rs.Instances)) {
			s := &split{sums: sums{rule: of}}
			if s.begin(p) {
				p.splits = append(p.splits, s)
			}
		}
	}
}

// begin computes the sets of sums, from the last ticket to the first. It returns false if
// sums are not whole or too large.
func (s *split) begin(p *placement) bool {
	reach, whole := s.span(p.set)
	if !whole || reach*float64(len(p.set)+1) > maxSums {
		return false
	}
	s.at = make([]float64, len(p.order)+1)
	for _, e := range p.set {
		if e.seats != nil {
			s.at[0] += s.moves(e)[0]
		}
	}
	s.zero = 2 * uint(reach)
	s.values, s.left = make([]float64, len(p.order)), make([]*big.Int, len(p.order)+1)
	s.left[len(p.order)] = s.end(reach, 0)[0]
	for n := len(p.order) - 1; n >= 0; n-- {
		e := p.set[p.order[n]]
		s.values[n], s.left[n] = s.adds(e), new(big.Int)
		for _, add := range s.moves(e) {
			s.left[n].Or(s.left[n], shifted(s.left[n+1], -add))
		}
	}
	return true
}

// balances records the team of the n-th ticket. It returns false if the tickets after it
// cannot bring every sum into its range.
func (p *placement) balances(n, team int) bool {
	for _, s := range p.splits {
		s.at[n+1] = s.at[n] + float64(s.rule.Weights[team])*s.values[n]
		if s.left[n+1].Bit(int(float64(s.zero)+s.at[n+1])) == 0 {
			return false
		}
	}
	return true
}
