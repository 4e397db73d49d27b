package search

import "math"

// Spares are candidates that may take the place of tickets of a set that Even seats.
type Spares struct {
	Candidates []*Candidate
	// Alike reports whether a spare may take a ticket's place: to all rules but those about
	// averages of teams and flat ones it must be the same.
	Alike func(ticket, spare int) bool
	// May reports whether a team can take a ticket.
	May func(ticket, team int) bool
	// Taken is, after Even, the spare in each ticket's place, or -1.
	Taken []int
}

// Even looks for teams of the set, after Begin, from a placement in which the numbers of players
// and the rules about counts hold. It exchanges tickets of equal sizes between teams, and tickets
// for spares, each time the two that bring the averages of the teams nearest to each other, until
// the rules about teams hold. With strategy balanced it exchanges none for spares, and goes on
// until nothing improves. It reports whether it found a placement, which then is Best; Run may find
// one of the set where Even does not.
func (s *Seating) Even(teams []int, spares *Spares) bool {
	s.prepareBalance()
	s.prepareCounts()
	spares.Taken = spares.Taken[:0]
	for i, team := range teams {
		spares.Taken = append(spares.Taken, -1)
		if s.set[i].Teams == nil {
			s.teams[i] = team
			s.move(i, team, 1)
		}
	}
	balanced := s.balanced()
	for range maxExchanges {
		if !balanced && s.accept() {
			return true
		}
		if !s.exchange(spares, !balanced) {
			break
		}
	}
	return s.accept()
}

// maxExchanges bounds the exchanges of Even.
const maxExchanges = 40

// accept keeps the placement if the rules about teams hold.
func (s *Seating) accept() bool {
	if !s.decideCounts() || !s.decide() {
		return false
	}
	s.Judged++
	l := s.judge.lineups.of(s.judge.Rules.Set, s.set, s.teams)
	if !s.level.Keeps(s.unsure, l, &s.judge.Tally) {
		return false
	}
	s.keep(0)
	return true
}

// exchange makes the exchange after which the teams are most even. It returns false if none makes
// them more even.
func (s *Seating) exchange(spares *Spares, take bool) bool {
	if !s.balance.on {
		return false
	}
	x, y, spare, best := -1, -1, -1, s.unevenness()*(1-1e-6)
	for n, i := range s.order {
		for _, j := range s.order[:n] {
			if s.teams[i] == s.teams[j] || s.set[i].Size != s.set[j].Size || s.balance.values[i] == s.balance.values[j] ||
				!spares.May(i, s.teams[j]) || !spares.May(j, s.teams[i]) {
				continue
			}
			s.swap(i, j)
			if u := s.unevenness(); u < best && s.countsHold() {
				best, x, y = u, i, j
			}
			s.swap(i, j)
		}
		if !take || i == 0 { // the first is the one around which a match is sought
			continue
		}
		sums, own := s.balance.sums, s.balance.values[i]
		for at, c := range spares.Candidates {
			if c == nil || !spares.Alike(i, at) {
				continue
			}
			by := s.balance.valueOf(c) - own
			sums[s.teams[i]] += by
			if u := s.unevenness(); u < best {
				best, x, y, spare = u, i, -1, at
			}
			sums[s.teams[i]] -= by
		}
	}
	switch {
	case x < 0:
		return false
	case y >= 0:
		s.swap(x, y)
		return true
	}
	team := s.teams[x]
	s.move(x, team, -1)
	s.set[x], spares.Candidates[spare] = spares.Candidates[spare], nil
	spares.Taken[x], s.balance.values[x] = spare, s.balance.valueOf(s.set[x])
	s.move(x, team, 1)
	return true
}

// swap exchanges the teams of two tickets.
func (s *Seating) swap(i, j int) {
	a, b := s.teams[i], s.teams[j]
	s.move(i, a, -1)
	s.move(j, b, -1)
	s.teams[i], s.teams[j] = b, a
	s.move(i, b, 1)
	s.move(j, a, 1)
}

// valueOf returns the sum of the balanced attribute over a ticket's players.
func (b *balance) valueOf(c *Candidate) (sum float64) {
	for i := range c.Party.Players {
		sum += c.Party.Players[i].Values[b.of.attribute].Number
	}
	return sum
}

// unevenness returns the sum of the squared distances of the averages of teams from their mean.
func (s *Seating) unevenness() float64 {
	mean, teams := 0.0, 0
	for team, players := range s.filled {
		if players > 0 {
			mean += s.balance.sums[team] / float64(players)
			teams++
		}
	}
	mean /= float64(max(1, teams))
	out := 0.0
	for team, players := range s.filled {
		if players > 0 {
			out += math.Pow(s.balance.sums[team]/float64(players)-mean, 2)
		}
	}
	return out
}

// countsHold reports whether the rules about counts hold.
func (s *Seating) countsHold() bool {
	for n := range s.counts {
		if s.counts[n].breaks(s) {
			return false
		}
	}
	return true
}
