package pool_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

const sixes = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
"teams":[{"name":"a","minPlayers":3,"maxPlayers":3,"quantity":2}],
"rules":[{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},{"name":"Window","type":"batchDistance","batchAttribute":"skill","maxDistance":4}]}`

// Many single players added together are packed: the number of matches is the greatest
// possible, and no ticket is left out in favor of a younger one that it could replace.
func TestPool_PacksBulk(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 11))
		rs := ruleSet(t, sixes)
		p := pool.New(rs, search.Options{}, pool.Limits{})
		waiting := map[string]*search.Ticket{}
		byMode := map[string][]float64{}
		for i := range 600 {
			mode := []string{"ctf", "tdm"}[r.IntN(2)]
			ticket := duelist(fmt.Sprint("k", i), i, 300*r.Float64(), mode, nil)
			ticket.Created = second(r.IntN(20))
			byMode[mode] = append(byMode[mode], ticket.Players[0].Attributes["skill"].Number)
			waiting[ticket.ID] = ticket
			p.Add(ticket)
		}
		matches := p.Pass(second(20))
		check(t, seed, rs, search.Options{}, matches, 20)
		if most := windows(byMode["ctf"], 6, 4) + windows(byMode["tdm"], 6, 4); len(matches) != most || most < 5 {
			t.Errorf("seed %d: %d matches; there can be %d", seed, len(matches), most)
		}
		for _, m := range matches {
			for _, ticket := range m.Tickets {
				delete(waiting, ticket.ID)
			}
		}
		for _, m := range matches {
			for _, left := range waiting {
				if younger := displaceable(rs, m, left); younger != nil {
					t.Errorf("seed %d: %s waits while the younger %s plays", seed, left.ID, younger.ID)
				}
			}
		}
	}
}

// displaceable returns a younger ticket of a match that left could replace, or nil.
func displaceable(rs *ruleset.RuleSet, m *search.Match, left *search.Ticket) *search.Ticket {
	for i, ticket := range m.Tickets {
		other := *m
		other.Tickets = slices.Clone(m.Tickets)
		other.Tickets[i] = left
		if left.Created.Before(ticket.Created) && search.Verify(rs, search.Options{}, &other, second(20)) == nil {
			return ticket
		}
	}
	return nil
}

// windows returns the greatest number of groups of a size that lie within a reach.
func windows(values []float64, size int, reach float64) int {
	slices.Sort(values)
	n := 0
	for i := 0; i+size <= len(values); {
		if values[i+size-1]-values[i] > reach {
			i++
			continue
		}
		i, n = i+size, n+1
	}
	return n
}
