package search_test

import (
	"testing"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// FuzzPool compares the pool with the reference on random worlds.
func FuzzPool(f *testing.F) {
	f.Add(uint64(1), 20)
	f.Fuzz(func(t *testing.T, seed uint64, now int) {
		now = max(20, now%100)
		rs, opts, tickets, _ := world(t, seed)
		want := search.Pass(rs, opts, tickets, second(now))
		for _, limits := range []pool.Limits{{}, unbounded} {
			p := pool.New(rs, opts, limits)
			for _, ticket := range tickets {
				p.Add(ticket)
			}
			if got := p.Pass(second(now)); describe(got) != describe(want) {
				t.Fatalf("seed %d: formed\n%s\nreference\n%s", seed, describe(got), describe(want))
			}
		}
	})
}
