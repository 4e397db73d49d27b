package pool

import (
	"cmp"
	"slices"
)

// placing distributes a set of tickets over the teams, where states do not say which team they
// join. It goes through the tickets, the largest parties first, and tries the teams for each, but
// nothing twice that leaves the teams the same. Its memory is reused.
type placing struct {
	seats *seats
	kinds []*kind // of the tickets
	order []int   // of the tickets
	teams []int   // by ticket
	left  int     // steps
	tried map[string]bool
	key   []byte
}

// Bounds of the steps of a placing: fewer if the last ones found no way.
const (
	leastPlacings = 64
	mostPlacings  = 4096
)

// place returns a team for each item, -1 for a game session; teams has -1 for these. It returns
// nil if it finds none.
func (a crowdSearch) place(items []*item, teams []int) []int {
	p := &a.memory.crowd.placing
	*p = placing{seats: a.columns.seats[a.level], kinds: p.kinds[:0], order: p.order[:0], teams: teams, left: leastPlacings + a.partition.places, tried: p.tried, key: p.key}
	if clear(p.tried); p.tried == nil {
		p.tried = map[string]bool{}
	}
	at := make([][]uint8, len(p.seats.teams))
	for team, part := range p.seats.teams {
		at[team] = make([]uint8, len(part.digits))
	}
	for n, it := range items {
		if !it.Party.Individuals {
			p.kinds, p.order = append(p.kinds, &a.columns.kinds[it.kind]), append(p.order, n)
			continue
		}
		p.kinds = append(p.kinds, nil)
		for player, team := range it.Teams {
			if k := kindOfPlayer(it, player, a.columns.counted); !p.seats.teams[team].join(at[team], &k, team) {
				return nil
			}
		}
	}
	slices.SortStableFunc(p.order, func(x, y int) int { return p.kinds[y].size - p.kinds[x].size })
	granted := p.left
	found := p.from(0, at)
	spent := granted - p.left
	if a.budget.sets -= spent / 16; found {
		a.partition.places = min(mostPlacings, max(a.partition.places, 4*spent))
		return p.teams
	}
	if p.left < 0 {
		a.partition.places /= 2
	}
	return nil
}

// from places the tickets from the n-th on. It returns false if it finds no way.
func (p *placing) from(n int, at [][]uint8) bool {
	if n == len(p.order) {
		return p.complete(at)
	}
	if p.left--; p.left < 0 || p.known(n, at) {
		return false
	}
	ticket := p.order[n]
	for _, c := range p.choices(p.kinds[ticket], at) {
		was := at[c.team]
		at[c.team], p.teams[ticket] = c.values, c.team
		if p.from(n+1, at) {
			return true
		}
		at[c.team] = was
	}
	return false
}

// complete reports whether all teams are.
func (p *placing) complete(at [][]uint8) bool {
	for team, part := range p.seats.teams {
		if !part.complete(at[team]) {
			return false
		}
	}
	return true
}

// known reports whether the tickets from the n-th on have been tried with the teams as they are,
// and notes that they are now.
func (p *placing) known(n int, at [][]uint8) bool {
	p.key = append(p.key[:0], uint8(n))
	for _, values := range at {
		p.key = append(p.key, values...)
	}
	known := p.tried[string(p.key)]
	if !known {
		p.tried[string(p.key)] = true
	}
	return known
}

// seating is a team that can take a ticket.
type seating struct {
	team   int
	values []uint8 // of the team with the ticket
	lacks  int     // players whom it lacks less with the ticket
	free   int     // places that are left
}

// choices returns the teams that can take a ticket, one of those that are alike: first those that
// lack its players most, then those with most places.
func (p *placing) choices(k *kind, at [][]uint8) (out []seating) {
	for team, part := range p.seats.teams {
		if !k.in(p.seats.number, team) || k.teams == nil && p.hasAlike(team, at) {
			continue
		}
		now := slices.Clone(at[team])
		if part.join(now, k, team) && part.viable(now) {
			out = append(out, seating{team, now, part.lacks(at[team]) - part.lacks(now), part.room - int(now[0])})
		}
	}
	slices.SortStableFunc(out, func(x, y seating) int { return cmp.Or(y.lacks-x.lacks, y.free-x.free) })
	return out
}

// hasAlike reports whether an earlier team has the same rules and the same players to them.
func (p *placing) hasAlike(team int, at [][]uint8) bool {
	for earlier := range team {
		if p.seats.like[earlier] == p.seats.like[team] && slices.Equal(at[earlier], at[team]) {
			return true
		}
	}
	return false
}
