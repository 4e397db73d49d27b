package pool_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// Parties whose sizes cannot fill the teams are not tried: 4 and 3 and 3 are ten players
// but not two teams of five. Trying all such sets would exceed the bound.
func TestPool_SizesThatFillNoTeams(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":5,"maxPlayers":5,"quantity":2}]}`)
	p := pool.New(rs, search.Options{}, pool.Limits{Exact: -1, Nodes: 40})
	for i, size := range []int{4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 5} {
		ticket := &search.Ticket{ID: fmt.Sprint("k", i), Created: second(0), Arrival: uint64(i)}
		for p := range size {
			ticket.Players = append(ticket.Players, search.Player{ID: fmt.Sprint(i, "-", p)})
		}
		p.Add(ticket)
	}
	if got := describe(p.Pass(second(1))); got != "k0 k21 k22" {
		t.Errorf("formed %q", got)
	}
}
