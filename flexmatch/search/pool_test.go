package search_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// worlds is how many random rule sets each property is tried on.
const worlds = 3000

// If all tickets are added together, the pool forms exactly the matches of the reference,
// with bounds or without.
func TestPool_AgreesWithReference(t *testing.T) {
	formed := 0
	for seed := range uint64(worlds) {
		rs, opts, tickets, _ := world(t, seed)
		want := search.Pass(rs, opts, tickets, second(20))
		formed += len(want)
		for name, limits := range map[string]search.Limits{"exact": {}, "unbounded": unbounded} {
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

// Searching only around changed tickets misses no match, whatever tickets are added and
// removed in between.
func TestPool_LeavesNoMatchBehind(t *testing.T) {
	for n := range uint64(worlds) {
		seed := n
		if n == 0 {
			seed = 205147 // only game sessions of low priority to search around
		}
		rs, opts, first, r := world(t, seed)
		pool := search.NewPool(rs, opts, unbounded)
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

// check judges matches by the definition, and checks that no ticket is in two.
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

// solos returns n tickets of one player each, in order of age.
func solos(n int) []*search.Ticket {
	var out []*search.Ticket
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		out = append(out, &search.Ticket{ID: id, Created: second(0), Arrival: uint64(i), Players: []search.Player{{ID: id}}})
	}
	return out
}

func ruleSet(t *testing.T, body string) *ruleset.RuleSet {
	t.Helper()
	rs, err := ruleset.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

const oneAgainstOne = `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":2}]}`

// Searches for which a pass has no steps left are done by the next ones, oldest first.
func TestPool_BoundedWork(t *testing.T) {
	pool := search.NewPool(ruleSet(t, oneAgainstOne), search.Options{}, search.Limits{Work: 50})
	for _, ticket := range solos(200) {
		pool.Add(ticket)
	}
	passes, formed := 0, 0
	for pool.Len() > 0 {
		matches := pool.Pass(second(1))
		if len(matches) == 0 || len(matches) > 50 {
			t.Fatalf("pass %d forms %d matches", passes, len(matches))
		}
		for i, m := range matches {
			if want := fmt.Sprintf("s%d", 2*(formed+i)); m.Tickets[0].ID != want {
				t.Fatalf("match %d is around %s, not %s", formed+i, m.Tickets[0].ID, want)
			}
		}
		passes, formed = passes+1, formed+len(matches)
	}
	if passes < 3 || formed != 100 {
		t.Errorf("%d matches in %d passes; want 100 in several", formed, passes)
	}
}

// A pass without any change searches around no ticket. Reaching a wait time is a change.
func TestPool_SearchesOnlyAfterChanges(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":3,"maxPlayers":3}],
		"expansions":[{"target":"teams[a].minPlayers","steps":[{"waitTimeSeconds":10,"value":2}]}]}`)
	pool := search.NewPool(rs, search.Options{}, search.Limits{})
	for _, ticket := range solos(2) {
		pool.Add(ticket)
	}
	for _, step := range []struct{ now, searches, matches int }{{0, 2, 0}, {9, 2, 0}, {10, 3, 1}, {11, 3, 0}} {
		if got := len(pool.Pass(second(step.now))); got != step.matches || pool.Searches != step.searches {
			t.Errorf("second %d: %d matches after %d searches, want %+v", step.now, got, pool.Searches, step)
		}
	}
}

// An id that is added again stands for the new ticket only.
func TestPool_AddReplaces(t *testing.T) {
	pool := search.NewPool(ruleSet(t, oneAgainstOne), search.Options{}, search.Limits{})
	tickets := solos(2)
	pool.Add(tickets[0])
	pool.Add(tickets[0])
	if matches := pool.Pass(second(1)); len(matches) > 0 || pool.Len() != 1 {
		t.Fatalf("a ticket plays against itself: %s", describe(matches))
	}
	pool.Add(tickets[1])
	if got := describe(pool.Pass(second(2))); got != "s0 s1" || pool.Len() != 0 {
		t.Errorf("formed %q, %d tickets left", got, pool.Len())
	}
}

// The number of parts searched concurrently does not change the result.
func TestPool_SideBySide(t *testing.T) {
	rs := ruleSet(t, fmt.Sprintf(fiveAgainstFive, 50, 10))
	waiting := crowd(rand.New(rand.NewPCG(5, 6)), 3000, 0, 3)
	formed := map[int]string{}
	for _, workers := range []int{1, 4} {
		pool := search.NewPool(rs, search.Options{}, search.Limits{Workers: workers, Work: 20_000})
		for _, ticket := range waiting {
			pool.Add(ticket)
		}
		for range 5 {
			matches := pool.Pass(second(1))
			check(t, 5, rs, search.Options{}, matches, 1)
			formed[workers] += describe(matches) + "\n"
		}
	}
	if formed[1] != formed[4] || len(formed[1]) < 1000 {
		t.Errorf("one worker formed\n%s\nfour\n%s", formed[1], formed[4])
	}
}

// Several latency rules, some with a column and some without, must share a location. The
// search enforces it before the match is judged.
func TestPool_LatencyRulesShareALocation(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":2,"maxPlayers":2}],
		"rules":[{"name":"Near","type":"latency","maxLatency":40},{"name":"Alike","type":"latency","maxDistance":10,"distanceReference":"min"}]}`)
	pool := search.NewPool(rs, search.Options{}, search.Limits{})
	for i, latency := range []map[string]float64{{"x": 10, "y": 90}, {"x": 35, "y": 95}, {"x": 15}} {
		ticket := solos(3)[i]
		ticket.Players[0].Latency = latency
		pool.Add(ticket)
	}
	if got := describe(pool.Pass(second(1))); got != "s0 s2" || pool.Rejected > 0 {
		t.Errorf("formed %q, %d matches refused", got, pool.Rejected)
	}
}

// A player with a very large number who was tried in a team leaves a rounding error in
// its sum. The error decides nothing.
func TestPool_GreatNumbersDecideNothing(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"n","type":"number"}],
		"teams":[{"name":"a","minPlayers":3,"maxPlayers":3},{"name":"b","minPlayers":1,"maxPlayers":1},{"name":"c","minPlayers":1,"maxPlayers":1}],
		"rules":[{"name":"Even","type":"distance","measurements":["avg(teams[a].players.attributes[n])"],"referenceValue":"avg(teams[b].players.attributes[n])","maxDistance":0.5}]}`)
	pool := search.NewPool(rs, search.Options{}, search.Limits{})
	for i, numbers := range [][]float64{{-1.3, -2}, {1e10}, {-2.5999999}, {-3}} {
		ticket := &search.Ticket{ID: fmt.Sprint("k", i), Created: second(0), Arrival: uint64(i)}
		for p, n := range numbers {
			ticket.Players = append(ticket.Players, search.Player{ID: fmt.Sprint(i, "-", p), Attributes: map[string]ruleset.Given{"n": {Type: ruleset.Number, Value: ruleset.Value{Number: n}}}})
		}
		pool.Add(ticket)
	}
	if got := describe(pool.Pass(second(1))); got == "" || pool.Rejected > 0 {
		t.Errorf("formed %q, %d matches refused", got, pool.Rejected)
	}
}
