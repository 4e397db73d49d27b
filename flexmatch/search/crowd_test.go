package search_test

import (
	"testing"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// What a search in a crowd forms are matches, and they have nearly as many players as those of the
// reference, or more, however few wait.
func TestPool_Crowd(t *testing.T) {
	found, possible := 0, 0
	try := func(seed uint64, counts bool) {
		rs, opts, tickets, _ := world(t, seed)
		if counts {
			rs, opts, tickets = counting(t, seed, 9)
		}
		want := search.Pass(rs, opts, tickets, second(20))
		p := pool.New(rs, opts, pool.Limits{Exact: -1})
		for _, ticket := range tickets {
			p.Add(ticket)
		}
		got := p.Pass(second(20))
		check(t, seed, rs, opts, got, 20)
		if p.Rejected > 0 {
			t.Fatalf("seed %d: %d matches refused", seed, p.Rejected)
		}
		players := func(list []*search.Match) (n int) {
			for _, m := range list {
				n += m.NewPlayers()
			}
			return n
		}
		found += players(got)
		possible += players(want)
	}
	for seed := range uint64(worlds) {
		try(seed, false)
		try(seed, true)
	}
	if found < possible*98/100 || possible < worlds {
		t.Errorf("%d players are matched, and by the reference %d", found, possible)
	}
}
