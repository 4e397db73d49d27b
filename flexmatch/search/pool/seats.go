package pool

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// seats is how the teams of a level can be filled. A state says how many players each team
// has, and how many of them count for each rule about counts; a set of states is a bit set.
// So all ways to seat some tickets are found at once, and a set of tickets that fills the
// teams is found without trying sets.
type seats struct {
	number int // of the level
	level  *ruleset.Level
	digits []digit
	states int
	goals  []bitset // by number of players: states in which the match is complete
	moves  [][]move // by kind of ticket
}

// maxStates is the most states that a level may have. With more, the rules about counts are
// left out, and then the largest teams count together.
const maxStates = 1 << 15

// state is a digit for each counter, as one number.
type state int32

// digit is a counter of a state.
type digit struct {
	team    int             // -1 if it counts the players of all teams of count
	count   *ruleset.Counts // nil if it counts all players of the team
	text    int             // of count: its index in columns.counted
	cap     int             // the highest value
	full    bool            // a higher value counts as cap; else the match fails
	step    int             // of the state for one more
	needs   int             // at the end, unless the team is empty
	players bool
}

// move is how a ticket's joining of a team changes states.
type move struct {
	team int
	by   int    // is added to the state
	from bitset // the states in which the team has room for it
}

type bitset []uint64

func (b bitset) has(s state) bool { return b[s>>6]>>(s&63)&1 == 1 }
func (b bitset) set(s state)      { b[s>>6] |= 1 << (s & 63) }

// meets reports whether two sets have a state in common.
func (b bitset) meets(o bitset) bool {
	for i := range o {
		if b[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// up adds the states of o that a move leads to. o must be another set.
func (b bitset) up(o bitset, m *move) {
	words, shift := m.by>>6, m.by&63
	for i := len(b) - 1; i >= words; i-- {
		v := o[i-words] & m.from[i-words] << shift
		if shift > 0 && i > words {
			v |= o[i-words-1] & m.from[i-words-1] >> (64 - shift)
		}
		b[i] |= v
	}
}

// down adds the states from which a move leads to one of o. o must be another set.
func (b bitset) down(o bitset, m *move) {
	words, shift := m.by>>6, m.by&63
	for i := 0; i+words < len(b); i++ {
		v := o[i+words] >> shift
		if shift > 0 && i+words+1 < len(b) {
			v |= o[i+words+1] << (64 - shift)
		}
		b[i] |= v & m.from[i]
	}
}

// seatsAt returns the seats of a level, or nil if it has too many states.
func (c *columns) seatsAt(n int) *seats {
	level := c.rs.Levels()[n]
	s := &seats{number: n, level: level, states: 1}
	for team, size := range level.Sizes {
		s.add(digit{team: team, cap: size.Max, players: true})
	}
	for _, of := range search.AllCountsAt(level) {
		s.limit(&of.Counts, slices.IndexFunc(c.counted, func(o search.Counted) bool { return o.Same(&of.Counts) }))
	}
	if s.states > maxStates {
		return nil
	}
	s.goals = make([]bitset, level.Capacity()+1)
	for v := range s.states {
		players, ok := s.complete(state(v))
		if !ok {
			continue
		}
		if s.goals[players] == nil {
			s.goals[players] = make(bitset, s.words())
		}
		s.goals[players].set(state(v))
	}
	return s
}

func (s *seats) add(d digit) {
	d.step = s.states
	s.states = min(s.states*(d.cap+1), maxStates+1)
	s.digits = append(s.digits, d)
}

// limit adds the digits of a limit on counts that can matter.
func (s *seats) limit(of *ruleset.Counts, text int) {
	needs := of.Least()
	most, limited := of.Most()
	places := 0
	for _, team := range of.Instances {
		places += s.level.Sizes[team].Max
	}
	teams := of.Instances
	if of.Whole {
		teams = []int{-1}
	}
	for _, team := range teams {
		room := places
		if team >= 0 {
			room = s.level.Sizes[team].Max
		}
		switch {
		case limited && most < room:
			s.add(digit{team: team, count: of, text: text, cap: max(0, most), needs: needs})
		case needs > 0:
			s.add(digit{team: team, count: of, text: text, cap: needs, full: true, needs: needs})
		}
	}
}

func (s *seats) digit(at state, d *digit) int { return int(at) / d.step % (d.cap + 1) }

// complete returns the number of players in a state, and whether they are a match.
func (s *seats) complete(at state) (players int, ok bool) {
	ok = true
	for i, size := range s.level.Sizes {
		n := s.digit(at, &s.digits[i])
		players += n
		ok = ok && n >= size.Min
	}
	for i := range s.digits[len(s.level.Sizes):] {
		d := &s.digits[len(s.level.Sizes)+i]
		if d.team < 0 || s.digit(at, &s.digits[d.team]) > 0 {
			ok = ok && s.digit(at, d) >= d.needs
		}
	}
	return players, ok
}

// joined returns the state after players of a kind join a team. It returns false if the team
// cannot take them.
func (s *seats) joined(at state, team int, k *kind) (state, bool) {
	for i := range s.digits {
		d := &s.digits[i]
		n := 0
		switch {
		case d.players && d.team == team:
			n = k.size
		case !d.players && (d.team == team || d.team < 0 && slices.Contains(d.count.Instances, team)):
			n = k.counts[d.text]
		}
		if n == 0 {
			continue
		}
		was := s.digit(at, d)
		is := was + n
		if is > d.cap {
			if !d.full {
				return 0, false
			}
			is = d.cap
		}
		at += state((is - was) * d.step)
	}
	return at, true
}

// learn adds the moves of a kind.
func (s *seats) learn(k *kind) {
	var out []move
	for team := range s.level.Sizes {
		if k.teams != nil && k.teams[s.number]>>team&1 == 0 {
			continue
		}
		first := len(out)
		for v := range s.states {
			to, ok := s.joined(state(v), team, k)
			if !ok {
				continue
			}
			by := int(to) - v
			at := slices.IndexFunc(out[first:], func(m move) bool { return m.by == by })
			if at < 0 {
				at = len(out) - first
				out = append(out, move{team, by, make(bitset, s.words())})
			}
			out[first+at].from.set(state(v))
		}
	}
	s.moves = append(s.moves, out)
}

func (s *seats) words() int { return (s.states + 63) / 64 }

// session returns the state of a game session's players in their teams. It returns false if
// they break a limit.
func (s *seats) session(it *item, counted []search.Counted) (state, bool) {
	at, ok := state(0), true
	for i, team := range it.Teams {
		k := kind{size: 1, counts: make([]int, len(counted))}
		for n := range counted {
			if counted[n].Has(&it.Party, i) {
				k.counts[n] = 1
			}
		}
		if at, ok = s.joined(at, team, &k); !ok {
			return 0, false
		}
	}
	return at, true
}

// filling finds tickets that fill the seats, in memory that it reuses.
type filling struct {
	now   bitset   // the states that the tickets so far can reach
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
		f.next.up(f.now, &s.moves[kind][m])
	}
	f.now, f.next = f.next, f.now
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
	for _, at := range from {
		f.now.set(at)
	}
}

// reached returns the most players of a match in some states, at least least and at most most, or
// 0.
func (s *seats) reached(states bitset, least, most int) int {
	for n := min(most, len(s.goals)-1); n >= max(least, 1); n-- {
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
