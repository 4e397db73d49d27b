package search_test

import (
	"testing"

	"github.com/musterhq/muster/flexmatch/search"
)

// FuzzPool compares the pool with the reference on random worlds.
func FuzzPool(f *testing.F) {
	f.Add(uint64(1), 20)
	f.Fuzz(func(t *testing.T, seed uint64, now int) {
		now = max(20, now%100)
		rs, opts, tickets, _ := world(t, seed)
		want := search.Pass(rs, opts, tickets, second(now))
		for _, limits := range []search.Limits{{}, unbounded} {
			pool := search.NewPool(rs, opts, limits)
			for _, ticket := range tickets {
				pool.Add(ticket)
			}
			if got := pool.Pass(second(now)); describe(got) != describe(want) {
				t.Fatalf("seed %d: formed\n%s\nreference\n%s", seed, describe(got), describe(want))
			}
		}
	})
}
