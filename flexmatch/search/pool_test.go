package search_test

import (
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// worlds is how many random rule sets each property is tried on.
const worlds = 3000

// The pool forms the very matches of the reference, with bounds or without, when
// its tickets come at once.
func TestPool_AgreesWithReference(t *testing.T) {
	formed := 0
	for seed := range uint64(worlds) {
		rs, opts, tickets, _ := world(t, seed)
		want := search.Pass(rs, opts, tickets, second(20))
		formed += len(want)
		for name, limits := range map[string]search.Limits{"exact": {}, "bounded": {Exact: -1}} {
			pool := search.NewPool(rs, opts, limits)
			for _, ticket := range tickets {
				pool.Add(ticket)
			}
			got := pool.Pass(second(20))
			if describe(got) != describe(want) {
				t.Fatalf("seed %d, %s: formed\n%s\nreference\n%s", seed, name, describe(got), describe(want))
			}
			if pool.Rejected > 0 || pool.Cut > 0 {
				t.Fatalf("seed %d, %s: %d matches refused, %d searches cut", seed, name, pool.Rejected, pool.Cut)
			}
			check(t, seed, rs, opts, got, 20)
		}
	}
	if formed < worlds/4 {
		t.Fatalf("only %d matches in %d worlds: the worlds say little", formed, worlds)
	}
}

// Searching only around what changed leaves no match behind, whatever comes and
// goes meanwhile.
func TestPool_LeavesNoMatchBehind(t *testing.T) {
	for seed := range uint64(worlds) {
		rs, opts, first, r := world(t, seed)
		pool := search.NewPool(rs, opts, search.Limits{Exact: -1})
		waiting := map[string]*search.Ticket{}
		add := func(tickets []*search.Ticket) {
			for _, ticket := range tickets {
				waiting[ticket.ID] = ticket
				pool.Add(ticket)
			}
		}
		add(first)
		for step, now := range []int{20, 22, 27, 60} {
			got := pool.Pass(second(now))
			check(t, seed, rs, opts, got, now)
			for _, m := range got {
				for _, ticket := range m.Tickets {
					if waiting[ticket.ID] == nil {
						t.Fatalf("seed %d: ticket %s is matched and was not waiting", seed, ticket.ID)
					}
					delete(waiting, ticket.ID)
				}
			}
			var rest []*search.Ticket
			for _, ticket := range waiting {
				rest = append(rest, ticket)
			}
			if left := search.Pass(rs, opts, rest, second(now)); len(left) > 0 {
				t.Fatalf("seed %d, second %d: the pool left %s", seed, now, describe(left))
			}
			for id := range waiting {
				if r.IntN(6) == 0 {
					pool.Remove(id)
					delete(waiting, id)
				}
			}
			add(randomTickets(r, rs, r.IntN(3), 100*(step+1)))
		}
		if pool.Len() != len(waiting) {
			t.Fatalf("seed %d: the pool holds %d tickets, not %d", seed, pool.Len(), len(waiting))
		}
	}
}

// check judges matches by the definition, and no ticket is in two.
func check(t *testing.T, seed uint64, rs *ruleset.RuleSet, opts search.Options, matches []*search.Match, now int) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range matches {
		if err := search.Verify(rs, opts, m, second(now)); err != nil {
			t.Fatalf("seed %d: match of %s: %v", seed, describe([]*search.Match{m}), err)
		}
		for _, ticket := range m.Tickets {
			if seen[ticket.ID] {
				t.Fatalf("seed %d: ticket %s is in two matches", seed, ticket.ID)
			}
			seen[ticket.ID] = true
		}
	}
}
