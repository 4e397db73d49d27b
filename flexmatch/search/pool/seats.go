package pool

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// seats is how the teams of a level can be filled. A state is an occupancy of each team, and one of
// the match if rules count its players; a set of states is a bit set. So all ways to seat some
// tickets are found at once, and a set of tickets that fills the teams is found without trying sets.
// Where there would be too many states, all teams are one part, and a set that fills it is
// distributed over the teams afterwards (placing); if it cannot be, the teams are filled one after
// another.
type seats struct {
	number   int // of the level
	level    *ruleset.Level
	teams    []*part
	like     []int            // by team: the first one with the same limits
	parts    []*part          // of which a state is made
	together bool             // all teams are one part
	lone     [][]*seats       // by team, if all are one part: those of the team alone, first with no more players of a string than it needs
	whole    []search.Counted // rules about counts of the match
	loose    bool             // states count only what rules need, not what they allow at most
	capped   []int            // what rules limit and states do not count, by index in columns.counted
	needs    []int            // players of a match who must count, by index in columns.counted
	most     []int            // players of a match who may count, likewise
	useful   []int            // players of a match who can count, since others have to count for other rules
	without  int              // rules about counts that are left out
	states   int
	goals    []bitset // by number of players: states in which the match is complete
	upward   []bitset // by number of players: the goals of so many and more
	moves    [][]move // by kind of ticket
}

// maxStates is the most states that a level may have.
const maxStates = 1 << 13

// state is an occupancy of each part, as one number.
type state int32

// move is how a ticket's joining of a team changes states.
type move struct {
	team int    // -1 if all teams are one part
	by   int    // is added to the state
	from bitset // the states in which the team has room for it
}

// seatsAt returns the seats of a level.
func (c *columns) seatsAt(n int) *seats {
	level := c.rs.Levels()[n]
	counted := search.AllCountsAt(level)
	s := &seats{number: n, level: level}
	for team, size := range level.Sizes {
		s.teams = append(s.teams, c.teamPart(team, size, counted))
		s.like = append(s.like, slices.IndexFunc(s.teams, s.teams[team].same))
	}
	s.whole = slices.DeleteFunc(slices.Clone(counted), func(of search.Counted) bool { return !of.Whole })
	if s.parts = s.teams; len(s.whole) > 0 {
		s.parts = append(slices.Clone(s.teams), c.wholePart(level, s.whole))
	}
	if !s.enumerate() {
		s.unite(c, counted)
	}
	s.bound(c, counted)
	s.findGoals()
	return s
}

// teamPart returns the part of a team.
func (c *columns) teamPart(team int, size ruleset.Size, counted []search.Counted) *part {
	p := sizedPart(team, size.Min, size.Max)
	for i := range counted {
		if of := &counted[i].Counts; !of.Whole && slices.Contains(of.Instances, team) {
			p.limit(digit{of: of, text: c.textOf(of), cap: mostOf(of), needs: of.Least()})
		}
	}
	return p
}

// wholePart returns the part of the match. It has no digit for the number of its players.
func (c *columns) wholePart(level *ruleset.Level, whole []search.Counted) *part {
	p := &part{team: -1, room: level.Capacity()}
	for i := range whole {
		of := &whole[i].Counts
		p.limit(digit{of: of, text: c.textOf(of), teams: of.Instances, cap: mostInMatch(level, of), needs: of.Least()})
	}
	return p
}

// unite makes all teams one part, of as much as there are not too many states for: it knows how many
// players rules allow at most, or only how many they need, and how many parties take more than half
// of a team. Of many rules the last ones are left out.
func (s *seats) unite(c *columns, counted []search.Counted) {
	s.together = true
	for _, p := range s.teams {
		s.lone = append(s.lone, []*seats{s.alone(p.exact()), s.alone(p)})
	}
	for s.without = 0; ; s.without++ {
		for _, s.loose = range []bool{false, true} {
			for _, parties := range []bool{true, false} {
				s.parts = []*part{c.unitedPart(s.level, counted[:len(counted)-s.without], s.loose, parties)}
				if s.enumerate() {
					return
				}
			}
		}
	}
}

// alone returns the seats of one team.
func (s *seats) alone(p *part) *seats {
	out := &seats{number: s.number, level: s.level, teams: s.teams, parts: []*part{p}}
	if !out.enumerate() {
		return nil
	}
	out.findGoals()
	return out
}

// bound finds how many players of a match must and may count.
func (s *seats) bound(c *columns, counted []search.Counted) {
	s.needs, s.most = make([]int, len(c.counted)), slices.Repeat([]int{math.MaxInt32}, len(c.counted))
	for i := range counted {
		of := &counted[i].Counts
		needs, most, text := counted[i].Needed(s.level), mostInMatch(s.level, of), c.textOf(of)
		if of.Whole {
			needs = of.Least()
		}
		s.needs[text], s.most[text] = max(s.needs[text], needs), min(s.most[text], most)
		if s.loose && most < math.MaxInt32 && !slices.Contains(s.capped, text) {
			s.capped = append(s.capped, text)
		}
	}
	s.useful = slices.Clone(s.most)
	for text := range s.useful {
		s.useful[text] = min(s.useful[text], s.level.Capacity()-s.othersNeed(c, text))
	}
}

// othersNeed returns how many players of a match must have another string in the place of one.
func (s *seats) othersNeed(c *columns, text int) (n int) {
	attribute, single := c.counted[text].Attribute()
	for o := range c.counted {
		if of, _ := c.counted[o].Attribute(); single && o != text && of == attribute {
			n += s.needs[o]
		}
	}
	return n
}

// unitedPart returns the part of all teams, where they are one.
func (c *columns) unitedPart(level *ruleset.Level, counted []search.Counted, loose, parties bool) *part {
	p := sizedPart(-1, level.Least(), level.Capacity())
	p.empty = false
	if half := c.largest / 2; parties && half > 0 {
		p.digits = append(p.digits, digit{larger: half, cap: len(level.Sizes)})
	}
	for i := range counted {
		of := &counted[i].Counts
		needs, most, once := counted[i].Needed(level), math.MaxInt32, of.Least()
		if of.Whole {
			needs, once = of.Least(), 0
		}
		if !loose {
			most = mostInMatch(level, of)
		}
		p.limit(digit{of: of, text: c.textOf(of), cap: most, needs: needs, once: once})
	}
	return p
}

// mostInMatch returns how many players of a match may count, math.MaxInt32 if there is no limit.
func mostInMatch(level *ruleset.Level, of *ruleset.Counts) int {
	n, limited := of.Most()
	switch {
	case !limited:
		return math.MaxInt32
	case of.Whole:
		return n + roomOutside(level, of)
	}
	return n*len(of.Instances) + roomOutside(level, of)
}

// roomOutside returns for how many players there is room in teams that a rule leaves out.
func roomOutside(level *ruleset.Level, of *ruleset.Counts) (n int) {
	for team, size := range level.Sizes {
		if !slices.Contains(of.Instances, team) {
			n += size.Max
		}
	}
	return n
}

// mostOf returns how many players may count, math.MaxInt32 if there is no limit.
func mostOf(of *ruleset.Counts) int {
	if n, limited := of.Most(); limited {
		return n
	}
	return math.MaxInt32
}

// textOf returns the index in c.counted of what a rule counts.
func (c *columns) textOf(of *ruleset.Counts) int {
	return slices.IndexFunc(c.counted, func(o search.Counted) bool { return o.Same(of) })
}

// enumerate numbers the states. It returns false if there are too many. With all values of the
// parts, fewer moves lead from each state, so that is tried first.
func (s *seats) enumerate() bool { return s.count(true) || s.count(false) }

func (s *seats) count(all bool) bool {
	s.states = 1
	for _, p := range s.parts {
		if !p.enumerate(all, maxStates/s.states) {
			return false
		}
		p.step = s.states
		if s.states *= len(p.occupancies); s.states > maxStates {
			return false
		}
	}
	return true
}

// findGoals finds the states in which the match is complete.
func (s *seats) findGoals() {
	s.goals = make([]bitset, s.level.Capacity()+1)
	for v := range s.states {
		players, complete := 0, true
		for _, p := range s.parts {
			values := p.occupancies[v/p.step%len(p.occupancies)]
			if complete = complete && p.complete(values); p.sized {
				players += int(values[0])
			}
		}
		if !complete {
			continue
		}
		if s.goals[players] == nil {
			s.goals[players] = make(bitset, s.words())
		}
		s.goals[players].set(state(v))
	}
	s.upward = make([]bitset, len(s.goals)+1)
	s.upward[len(s.goals)] = make(bitset, s.words())
	for n := len(s.goals) - 1; n >= 0; n-- {
		s.upward[n] = slices.Clone(s.upward[n+1])
		for w, states := range s.goals[n] {
			s.upward[n][w] |= states
		}
	}
}

// learn adds the moves of a kind.
func (s *seats) learn(k *kind) {
	for _, lone := range slices.Concat(s.lone...) {
		if lone != nil {
			lone.learn(k)
		}
	}
	var out []move
	switch {
	case !s.together:
		for team := range s.teams {
			if k.in(s.number, team) {
				out = append(out, s.movesTo(team, k)...)
			}
		}
	case s.somewhere(k):
		out = s.movesTo(-1, k)
	}
	s.moves = append(s.moves, out)
}

// somewhere reports whether a team can take players of a kind.
func (s *seats) somewhere(k *kind) bool {
	for team, p := range s.teams {
		if values := make([]uint8, len(p.digits)); k.in(s.number, team) && p.join(values, k, team) && p.viable(values) {
			return true
		}
	}
	return false
}

// movesTo returns the moves of players of a kind to a team.
func (s *seats) movesTo(team int, k *kind) []move {
	out := []move{{team: team, from: s.all()}}
	if !slices.ContainsFunc(s.parts, func(p *part) bool { return p.of(team) }) {
		return nil
	}
	for _, p := range s.parts {
		if !p.of(team) {
			continue
		}
		shifts := p.shifts(k, team)
		var next []move
		for _, m := range out {
			for _, sh := range shifts {
				from := s.statesOf(p, sh.from)
				for w := range from {
					from[w] &= m.from[w]
				}
				next = append(next, move{team, m.by + sh.by*p.step, from})
			}
		}
		out = next
	}
	return out
}

// all returns the set of all states.
func (s *seats) all() bitset {
	out := make(bitset, s.words())
	for v := range s.states {
		out.set(state(v))
	}
	return out
}

// statesOf returns the states with some occupancies of a part.
func (s *seats) statesOf(p *part, occupancies []int) bitset {
	out := make(bitset, s.words())
	for base := 0; base < s.states; base += p.step * len(p.occupancies) {
		for _, o := range occupancies {
			for v := range p.step {
				out.set(state(base + o*p.step + v))
			}
		}
	}
	return out
}

func (s *seats) words() int { return (s.states + 63) / 64 }

// session returns the state of a game session's players in their teams. It returns false if
// they break a limit.
func (s *seats) session(it *item, counted []search.Counted) (at state, ok bool) {
	for _, p := range s.parts {
		values := make([]uint8, len(p.digits))
		for player, team := range it.Teams {
			if !p.of(team) {
				continue
			}
			if k := kindOfPlayer(it, player, counted); !p.join(values, &k, team) {
				return 0, false
			}
		}
		number, ok := p.number[string(values)]
		if !ok {
			return 0, false
		}
		at += state(number * p.step)
	}
	return at, true
}

// kindOfPlayer returns the kind of one player of a game session.
func kindOfPlayer(it *item, player int, counted []search.Counted) kind {
	k := kind{size: 1, counts: make([]int, len(counted))}
	for n := range counted {
		if counted[n].Has(&it.Party, player) {
			k.counts[n] = 1
		}
	}
	return k
}
