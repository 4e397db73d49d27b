package search

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
	e := s.evenness()
	x, y, spare, best := -1, -1, -1, e.squares*(1-1e-6)
	for n, i := range s.order {
		for _, j := range s.order[:n] {
			if s.teams[i] == s.teams[j] || s.set[i].Size != s.set[j].Size || s.balance.values[i] == s.balance.values[j] ||
				!spares.May(i, s.teams[j]) || !spares.May(j, s.teams[i]) {
				continue
			}
			by := s.balance.values[j] - s.balance.values[i]
			if u := e.after(s.teams[i], by, s.teams[j], -by); u < best && s.countsHoldAfter(i, j) {
				best, x, y = u, i, j
			}
		}
		if !take || i == 0 { // the first is the one around which a match is sought
			continue
		}
		own := s.balance.values[i]
		for at, c := range spares.Candidates {
			if c == nil || !spares.Alike(i, at) {
				continue
			}
			if u := e.after(s.teams[i], s.balance.valueOf(c)-own, s.teams[i], 0); u < best {
				best, x, y, spare = u, i, -1, at
			}
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

// evenness knows how far the averages of the teams are from their mean, and how far they would be
// after an exchange.
type evenness struct {
	players []int     // by team
	off     []float64 // by team: its average less the mean before the exchange
	squares float64   // the sum of the squares of off
	teams   float64   // with players
}

// evenness returns that of the placement, in memory that the next call reuses.
func (s *Seating) evenness() *evenness {
	e := &s.even
	*e = evenness{players: s.filled, off: zeros(e.off, len(s.filled))}
	mean := 0.0
	for team, players := range s.filled {
		if players > 0 {
			mean += s.balance.sums[team] / float64(players)
			e.teams++
		}
	}
	mean /= max(1, e.teams)
	for team, players := range s.filled {
		if players > 0 {
			e.off[team] = s.balance.sums[team]/float64(players) - mean
			e.squares += e.off[team] * e.off[team]
		}
	}
	return e
}

// after returns the sum of the squared distances of the averages of teams from their mean, once the
// sums of two teams with players have changed by some numbers. If it is the same team, the second
// number counts for nothing.
func (e *evenness) after(a int, byA float64, b int, byB float64) float64 {
	sum, squares := 0.0, e.squares
	change := func(team int, by float64) {
		is := e.off[team] + by/float64(e.players[team])
		sum, squares = sum+is-e.off[team], squares+is*is-e.off[team]*e.off[team]
	}
	if byA != 0 {
		change(a, byA)
	}
	if a != b && byB != 0 {
		change(b, byB)
	}
	return squares - sum*sum/e.teams
}

// countsHoldAfter reports whether the rules about counts hold after two tickets exchange teams.
func (s *Seating) countsHoldAfter(i, j int) bool {
	if len(s.counts) == 0 {
		return true
	}
	s.swap(i, j)
	defer s.swap(i, j)
	return s.countsHold()
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
