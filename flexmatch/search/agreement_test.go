package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// worlds is how many random rule sets each property is tried on.
const worlds = 3000

// If all tickets are added together, the pool forms exactly the matches of the reference,
// with bounds or without.
func TestPool_AgreesWithReference(t *testing.T) {
	formed := 0
	for seed := range uint64(worlds) {
		rs, opts, tickets, _ := world(t, seed)
		formed += agree(t, seed, rs, opts, tickets)
	}
	if formed < worlds/4 {
		t.Fatalf("only %d matches in %d worlds: the worlds say little", formed, worlds)
	}
}

// The same with rules about counts in teams.
func TestPool_AgreesOnCounts(t *testing.T) {
	formed := 0
	for seed := range uint64(worlds) {
		rs, opts, tickets := counting(t, seed, 9)
		formed += agree(t, seed, rs, opts, tickets)
	}
	if formed < worlds/4 {
		t.Fatalf("only %d matches in %d worlds: the worlds say little", formed, worlds)
	}
}

// agree checks that the pool forms the matches of the reference, and returns their number.
func agree(t *testing.T, seed uint64, rs *ruleset.RuleSet, opts search.Options, tickets []*search.Ticket) int {
	t.Helper()
	want := search.Pass(rs, opts, tickets, second(20))
	for name, limits := range map[string]pool.Limits{"exact": {}, "unbounded": unbounded} {
		p := pool.New(rs, opts, limits)
		for _, ticket := range tickets {
			p.Add(ticket)
		}
		got := p.Pass(second(20))
		if describe(got) != describe(want) {
			t.Fatalf("seed %d, %s: formed\n%s\nreference\n%s", seed, name, describe(got), describe(want))
		}
		if p.Rejected > 0 || p.Cut > 0 && name != "exact" { // an exact search has a bound, beyond which it agrees here
			t.Fatalf("seed %d, %s: %d matches refused, %d searches cut", seed, name, p.Rejected, p.Cut)
		}
		check(t, seed, rs, opts, got, 20)
	}
	return len(want)
}

// A rule set may have many windows and equal strings, with limits that expand.
func TestPool_ManyWindows(t *testing.T) {
	formed := 0
	for seed := range uint64(worlds / 4) {
		r := rand.New(rand.NewPCG(seed, 9))
		var attributes, rules, expansions []string
		for i := range 1 + r.IntN(12) {
			attributes = append(attributes, fmt.Sprintf(`{"name":"n%d","type":"number"},{"name":"s%d","type":"string","default":"x"}`, i, i))
			rules = append(rules, fmt.Sprintf(`{"name":"n%d","type":"batchDistance","batchAttribute":"n%d","maxDistance":%d,"partyAggregation":"%s"},{"name":"s%d","type":"batchDistance","batchAttribute":"s%d"}`,
				i, i, 6+r.IntN(4), []string{"avg", "min", "max"}[r.IntN(3)], i, i))
			if r.IntN(3) == 0 {
				expansions = append(expansions, fmt.Sprintf(`{"target":"rules[n%d].maxDistance","steps":[{"waitTimeSeconds":%d,"value":%d}]}`, i, 5+r.IntN(10), 5+r.IntN(9)))
			}
		}
		rs := ruleSet(t, fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[%s],"algorithm":{"expansionAgeSelection":"%s"},
			"teams":[{"name":"t","minPlayers":1,"maxPlayers":2,"quantity":2}],"rules":[%s],"expansions":[%s]}`, strings.Join(attributes, ","), []string{"newest", "oldest"}[r.IntN(2)], strings.Join(rules, ","), strings.Join(expansions, ",")))
		tickets := randomTickets(r, rs, 12, 0)
		for _, ticket := range tickets {
			odd := r.IntN(8) == 0
			for i := range ticket.Players {
				given := map[string]ruleset.Given{}
				for n := range len(rs.Attributes) / 2 {
					given[fmt.Sprint("n", n)] = ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: float64(r.IntN(10))}}
				}
				if odd {
					given["s0"] = ruleset.Given{Type: ruleset.String, Value: ruleset.Value{String: "y"}}
				}
				ticket.Players[i].Attributes = given
			}
		}
		formed += agree(t, seed, rs, search.Options{}, tickets)
	}
	if formed < worlds/4 {
		t.Errorf("only %d matches", formed)
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
		p := pool.New(rs, opts, unbounded)
		waiting := map[string]*search.Ticket{}
		add := func(tickets []*search.Ticket) {
			for _, ticket := range tickets {
				waiting[ticket.ID] = ticket
				p.Add(ticket)
			}
		}
		add(first)
		for step, now := range []int{20, 22, 27, 60} {
			got := p.Pass(second(now))
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
					p.Remove(id)
					delete(waiting, id)
				}
			}
			add(randomTickets(r, rs, r.IntN(3), 100*(step+1)))
		}
		if p.Len() != len(waiting) {
			t.Fatalf("seed %d: the pool holds %d tickets, not %d", seed, p.Len(), len(waiting))
		}
	}
}

// Each exhaustive pass forms the matches of the definition, although it searches only for
// those with a changed ticket, whatever was added, removed and searched around before.
func TestPool_AgreesPassAfterPass(t *testing.T) {
	first, later := 0, 0 // matches of first passes, of later ones
	for seed := range uint64(worlds / 3) {
		rs, opts, tickets, r := world(t, seed)
		p := pool.New(rs, opts, pool.Limits{})
		var waiting []*search.Ticket
		formed := &first
		for step, now := range []int{20, 20, 21, 22, 22, 27, 40, 60} {
			for _, ticket := range tickets {
				p.Add(ticket)
			}
			waiting = append(waiting, tickets...)
			want, got := search.Pass(rs, opts, waiting, second(now)), p.Pass(second(now))
			if describe(got) != describe(want) {
				t.Fatalf("seed %d, step %d: formed\n%s\nreference\n%s", seed, step, describe(got), describe(want))
			}
			if p.Rejected > 0 {
				t.Fatalf("seed %d: %d matches refused", seed, p.Rejected)
			}
			*formed += len(got)
			matched := map[string]bool{}
			for _, m := range got {
				for _, ticket := range m.Tickets {
					matched[ticket.ID] = true
				}
			}
			waiting = slices.DeleteFunc(waiting, func(ticket *search.Ticket) bool {
				leaves := matched[ticket.ID] || r.IntN(12) == 0
				if leaves {
					p.Remove(ticket.ID)
				}
				return leaves
			})
			tickets, formed = randomTickets(r, rs, r.IntN(3), 100*(step+1)), &later
		}
	}
	if later < worlds/12 {
		t.Fatalf("only %d matches after the first pass, %d in it: the worlds say little", later, first)
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
