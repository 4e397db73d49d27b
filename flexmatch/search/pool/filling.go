package pool

import "slices"

// filling finds tickets that fill the seats, in memory that it reuses.
type filling struct {
	now   bitset   // the states that the tickets so far can reach
	words int      // of now: those after them have no states
	next  bitset   // memory
	ahead []bitset // by ticket: the states from which it and those after it reach the goal

	first  int   // which of the starting states the tickets found add to
	chosen []int // the tickets found, as indexes
	teams  []int // of each
}

func grown(b bitset, words int) bitset {
	if cap(b) < words {
		return make(bitset, words)
	}
	return b[:words]
}

// fill chooses some of the tickets, given by kinds in order of preference, which from one of some
// states lead to a match of the most players: at least least, and at most most. Of several such
// sets it takes one of the fewest first tickets, and of these the one that has the first ones. It
// returns the number of players, 0 if there is no match.
func (f *filling) fill(s *seats, from []state, kinds []int32, least, most int) int {
	f.begin(s, from)
	best, prefix := s.reached(f.now, least, most), 0
	for i, k := range kinds {
		if best == most {
			break
		}
		f.take(s, k)
		if players := s.reached(f.now, max(best+1, least), most); players > 0 {
			best, prefix = players, i+1
		}
	}
	if best > 0 {
		f.choose(s, from, kinds[:prefix], best)
	}
	return best
}

// take adds the states that one more ticket of a kind leads to.
func (f *filling) take(s *seats, kind int32) {
	copy(f.next, f.now)
	for m := range s.moves[kind] {
		f.next.up(f.now, &s.moves[kind][m], f.words)
	}
	f.now, f.next = f.next, f.now
	for f.words = len(f.now); f.words > 0 && f.now[f.words-1] == 0; f.words-- {
	}
}

// reaches reports whether some tickets, given by kinds, lead from one of some states to a match of
// at most so many players.
func (f *filling) reaches(s *seats, from []state, kinds []int32, most int) bool {
	f.begin(s, from)
	for _, k := range kinds {
		if s.reached(f.now, 1, most) > 0 {
			return true
		}
		f.take(s, k)
	}
	return s.reached(f.now, 1, most) > 0
}

// begin starts with some states.
func (f *filling) begin(s *seats, from []state) {
	f.now, f.next = grown(f.now, s.words()), grown(f.next, s.words())
	clear(f.now)
	f.words = 0
	for _, at := range from {
		f.now.set(at)
		f.words = max(f.words, int(at)/64+1)
	}
}

// reached returns the most players of a match in some states, at least least and at most most, or
// 0.
func (s *seats) reached(states bitset, least, most int) int {
	least, most = max(least, 1), min(most, len(s.goals)-1)
	if least > most || !states.meets(s.upward[least]) {
		return 0
	}
	for n := most; n >= least; n-- {
		if states.meets(s.goals[n]) {
			return n
		}
	}
	return 0
}

// choose finds the first tickets that lead to a match of so many players.
func (f *filling) choose(s *seats, from []state, kinds []int32, players int) {
	for len(f.ahead) <= len(kinds) {
		f.ahead = append(f.ahead, nil)
	}
	f.ahead[len(kinds)] = append(f.ahead[len(kinds)][:0], s.goals[players]...)
	for i := len(kinds) - 1; i >= 0; i-- {
		f.ahead[i] = append(f.ahead[i][:0], f.ahead[i+1]...)
		for m := range s.moves[kinds[i]] {
			f.ahead[i].down(f.ahead[i+1], &s.moves[kinds[i]][m])
		}
	}
	f.chosen, f.teams = f.chosen[:0], f.teams[:0]
	f.first = slices.IndexFunc(from, f.ahead[0].has)
	at := from[f.first]
	for i, k := range kinds {
		for m := range s.moves[k] {
			if mv := &s.moves[k][m]; mv.from.has(at) && f.ahead[i+1].has(at+state(mv.by)) {
				f.chosen, f.teams = append(f.chosen, i), append(f.teams, mv.team)
				at += state(mv.by)
				break
			}
		}
	}
}
