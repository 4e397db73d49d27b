package main

import (
	"fmt"
	"math"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/sim"
)

// An offline solver knows all who come in an evening beforehand, and no one leaves it. What it
// matches at most is the optimum of a linear program: as many matches as there are tickets for,
// each of tickets that fill its teams. The program's dual bounds that optimum: prices of the kinds
// of tickets at which no match costs less than 1. The prices are found by raising those of the
// tickets of the cheapest match again and again (Garg and Könemann).

// offline are the rule sets that ask for sizes of teams and counts of roles alone.
var offline = []string{
	"any", "team-roles", "team-roles-always", "team-roles-exact", "match-roles", "match-roles-quantity", "match-roles-exact",
	"six-two-two-two", "five-lanes", "three-classes", "three-classes-twice", "ten-trios", "ten-trios-healers",
}

// nearly is the share of an offline solver's players that have to be matched.
const nearly = 0.95

// demands is what a rule set asks of sizes and roles.
type demands struct {
	teams []int // players of each
	roles []role
}

// role is a number of players who have it, in each team or in the match.
type role struct {
	name    string
	of      string // the attribute
	most    int    // -1 if any number may have it
	least   int
	ofMatch bool
}

// read returns the demands of a rule set in offline.
func read(rs *ruleset.RuleSet) (d demands, err error) {
	level := rs.Level(0)
	for _, size := range level.Sizes {
		if size.Min != size.Max {
			return d, fmt.Errorf("a team may have %d to %d players", size.Min, size.Max)
		}
		d.teams = append(d.teams, size.Max)
	}
	for _, of := range search.AllCountsAt(level) {
		attribute, _ := of.Attribute()
		r := role{name: of.Counts.Text, of: rs.Attributes[attribute].Name, most: -1, least: of.Least(), ofMatch: of.Whole}
		if most, limited := of.Most(); limited {
			r.most = most
		}
		d.roles = append(d.roles, r)
	}
	return d, nil
}

// party is a kind of ticket: its players, and how many of them have each role.
type party struct {
	size  int
	roles counts
}

// bound returns the most players whom an offline solver can match of those who come.
func (d *demands) bound(spec *sim.Spec, seed uint64, lasts time.Duration) int {
	number := map[party]int{}
	spec.Arrivals(seed, lasts, func(_ time.Duration, players []search.Player) {
		k := party{size: len(players)}
		for i := range players {
			for n := range d.roles {
				if players[i].Attributes[d.roles[n].of].Value.String == d.roles[n].name {
					k.roles[n]++
				}
			}
		}
		number[k]++
	})
	var kinds []party
	var prices []float64
	for k, n := range number {
		kinds, prices = append(kinds, k), append(prices, 1/float64(n))
	}
	players := 0
	for _, n := range d.teams {
		players += n
	}
	const step = 0.02
	best := math.Inf(1)
	for range 20_000 {
		used, price := d.cheapest(kinds, prices)
		if used == nil {
			return 0
		}
		total, least := 0.0, math.Inf(1)
		for i, k := range kinds {
			total += prices[i] * float64(number[k])
			if used[i] > 0 {
				least = min(least, float64(number[k])/float64(used[i]))
			}
		}
		best = min(best, total/price)
		for i, k := range kinds {
			prices[i] *= 1 + step*least*float64(used[i])/float64(number[k])
			prices[i] /= total // so that they stay small
		}
	}
	return int(best+1e-6) * players
}

// filled is the cheapest way to reach a state: players in a team, and by role how many count.
type filled struct {
	price float64
	kinds []int
}

type counts [5]int

// cheapest returns how many tickets of each kind the match has that costs the least, and what it
// costs. It returns nil if there is none.
func (d *demands) cheapest(kinds []party, prices []float64) (used []int, price float64) {
	match, teams := map[counts]filled{{}: {}}, map[int]map[counts]filled{}
	for _, size := range d.teams {
		if teams[size] == nil {
			teams[size] = d.team(size, kinds, prices)
		}
		team, next := teams[size], map[counts]filled{}
		for had, a := range match {
			for has, b := range team {
				is, ok := d.joined(had, has, true)
				if old, found := next[is]; ok && (!found || a.price+b.price < old.price) {
					next[is] = filled{a.price + b.price, append(append([]int{}, a.kinds...), b.kinds...)}
				}
			}
		}
		match = next
	}
	best := filled{price: math.Inf(1)}
	for has, f := range match {
		if d.enough(has, true) && f.price < best.price {
			best = f
		}
	}
	if math.IsInf(best.price, 1) {
		return nil, 0
	}
	used = make([]int, len(kinds))
	for _, k := range best.kinds {
		used[k]++
	}
	return used, best.price
}

// team returns the cheapest ways to fill a team of a size, by what they count for roles.
func (d *demands) team(size int, kinds []party, prices []float64) map[counts]filled {
	by := make([]map[counts]filled, size+1)
	for n := range by {
		by[n] = map[counts]filled{}
	}
	by[0][counts{}] = filled{}
	for n := 1; n <= size; n++ {
		for i, k := range kinds {
			if k.size > n {
				continue
			}
			for had, f := range by[n-k.size] {
				is, ok := d.joined(had, k.roles, false)
				if old, found := by[n][is]; ok && (!found || f.price+prices[i] < old.price) {
					by[n][is] = filled{f.price + prices[i], append(append([]int{}, f.kinds...), i)}
				}
			}
		}
	}
	for has := range by[size] {
		if !d.enough(has, false) {
			delete(by[size], has)
		}
	}
	return by[size]
}

// joined adds what counts: up to what is needed where there may be more. Of teams to a match, roles
// of each team no longer count. It returns false if too many have a role.
func (d *demands) joined(had, more counts, teams bool) (is counts, ok bool) {
	for n, r := range d.roles {
		if teams && !r.ofMatch {
			continue
		}
		switch is[n] = had[n] + more[n]; {
		case r.most < 0:
			is[n] = min(is[n], r.least)
		case is[n] > r.most:
			return is, false
		}
	}
	return is, true
}

// enough reports whether enough have the roles of the match, or those of a team.
func (d *demands) enough(has counts, match bool) bool {
	for n, r := range d.roles {
		if r.ofMatch == match && has[n] < r.least {
			return false
		}
	}
	return true
}
