package pool

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/search"
)

// fillEach fills the teams one after another with the fixed tickets and some of a group, and
// returns the set and the team of each ticket, -1 for a game session. It returns nil if that fails.
// The tickets that it chose are those of the filling.
func (a crowdSearch) fillEach(group []int32) (set []*item, teams []int) {
	c, s := &a.memory.crowd, a.columns.seats[a.level]
	e := each{a: a, s: s, left: slices.Clone(group), most: a.mostPlayers(), others: s.level.Least()}
	for _, it := range c.fixed {
		e.most = min(e.most, it.Most)
	}
	if !e.begin() {
		return nil, nil
	}
	for _, team := range e.order() {
		if !e.fill(team) {
			return nil, nil
		}
	}
	if least := max(c.least, 1); e.players < least || !e.wholeHolds() {
		return nil, nil
	}
	c.filling.chosen, c.filling.teams = c.filling.chosen[:0], c.filling.teams[:0]
	for n, i := range e.chosen {
		c.filling.chosen = append(c.filling.chosen, slices.Index(group, i))
		c.filling.teams = append(c.filling.teams, e.in[n])
	}
	return e.set, e.teams
}

// each fills the teams one after another.
type each struct {
	a       crowdSearch
	s       *seats
	left    []int32 // of the group
	most    int     // players of the match
	players int
	others  int // players whom the teams that are not filled need at least

	has    [][]uint8 // by team: the values of the fixed tickets
	begun  []bool    // by team: it has fixed tickets
	set    []*item
	teams  []int
	chosen []int32 // of the group
	in     []int   // the team of each
}

// begin seats the fixed tickets. It returns false if a team cannot take one.
func (e *each) begin() bool {
	cols := e.a.columns
	e.begun = make([]bool, len(e.s.teams))
	for _, p := range e.s.teams {
		e.has = append(e.has, make([]uint8, len(p.digits)))
	}
	for _, it := range e.a.memory.crowd.fixed {
		team := -1
		if it.Party.Individuals {
			for player, team := range it.Teams {
				if k := kindOfPlayer(it, player, cols.counted); !e.s.teams[team].join(e.has[team], &k, team) {
					return false
				}
				e.begun[team] = true
			}
		} else if team = e.first(&cols.kinds[it.kind]); team < 0 {
			return false
		}
		e.set, e.teams = append(e.set, it), append(e.teams, team)
	}
	return true
}

// first adds a kind to the first team that can take it, and returns the team, or -1.
func (e *each) first(k *kind) int {
	for team, p := range e.s.teams {
		if now := slices.Clone(e.has[team]); k.in(e.s.number, team) && p.join(now, k, team) && p.viable(now) {
			e.has[team], e.begun[team] = now, true
			return team
		}
	}
	return -1
}

// order returns the teams in the order in which they are filled: those with fixed tickets first.
func (e *each) order() (out []int) {
	for _, begun := range []bool{true, false} {
		for team := range e.s.teams {
			if e.begun[team] == begun {
				out = append(out, team)
			}
		}
	}
	return out
}

// fill fills a team. It returns false if the tickets that are left do not allow it.
func (e *each) fill(team int) bool {
	c, f := &e.a.memory.crowd, &e.a.memory.crowd.filling
	c.kinds = c.kinds[:0]
	for _, i := range e.left {
		c.kinds = append(c.kinds, c.list[i].kind)
	}
	size := e.s.level.Sizes[team]
	e.others -= size.Min
	for _, s := range e.s.lone[team] {
		if s == nil {
			continue
		}
		at, ok := s.parts[0].number[string(e.has[team])]
		if !ok {
			continue
		}
		e.a.budget.sets -= 1 + len(e.left)*s.words()/stepWords
		players := f.fill(s, []state{state(at)}, c.kinds, max(1, size.Min), min(size.Max, e.most-e.players-e.others))
		if players == 0 {
			continue
		}
		e.players += players
		for n := len(f.chosen) - 1; n >= 0; n-- {
			i := e.left[f.chosen[n]]
			e.chosen, e.in = append(e.chosen, i), append(e.in, team)
			e.set, e.teams = append(e.set, c.list[i].it), append(e.teams, team)
			e.left = slices.Delete(e.left, f.chosen[n], f.chosen[n]+1)
		}
		return true
	}
	return e.s.teams[team].complete(e.has[team])
}

// wholeHolds reports whether the rules about counts of the match hold. Where one leaves out a team
// it returns false, which may be wrong.
func (e *each) wholeHolds() bool {
	return !slices.ContainsFunc(e.s.whole, func(of search.Counted) bool {
		n := 0
		for _, it := range e.set {
			n += of.Of(&it.Party)
		}
		return len(of.Instances) < len(e.s.teams) || n < of.Least() || n > mostOf(&of.Counts)
	})
}
