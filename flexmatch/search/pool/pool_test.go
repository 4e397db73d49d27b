package pool_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// solos returns n tickets of one player each, in order of age.
func solos(n int) []*search.Ticket {
	var out []*search.Ticket
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		out = append(out, &search.Ticket{ID: id, Created: second(0), Arrival: uint64(i), Players: []search.Player{{ID: id}}})
	}
	return out
}

func ruleSet(t testing.TB, body string) *ruleset.RuleSet {
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
	p := pool.New(ruleSet(t, oneAgainstOne), search.Options{}, pool.Limits{Work: 50})
	for _, ticket := range solos(200) {
		p.Add(ticket)
	}
	passes, formed := 0, 0
	for p.Len() > 0 {
		matches := p.Pass(second(1))
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

// A pass without any change searches around no ticket. Reaching a wait time is a change, and
// NextExpansion returns the next one, so that no pass is needed before.
func TestPool_SearchesOnlyAfterChanges(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":3,"maxPlayers":3}],
		"expansions":[{"target":"teams[a].minPlayers","steps":[{"waitTimeSeconds":10,"value":2}]}]}`)
	p := pool.New(rs, search.Options{}, pool.Limits{})
	for _, ticket := range solos(2) {
		p.Add(ticket)
	}
	for _, step := range []struct{ now, searches, matches int }{{0, 2, 0}, {9, 2, 0}, {10, 3, 1}, {11, 3, 0}} {
		if at, ok := p.NextExpansion(); step.now == 9 && (!ok || !at.Equal(second(10)) || p.Pending(second(9)) || !p.Pending(second(10))) || step.now == 11 && ok {
			t.Errorf("second %d: the next expansion is at %v, %v", step.now, at, ok)
		}
		if got := len(p.Pass(second(step.now))); got != step.matches || p.Searches != step.searches {
			t.Errorf("second %d: %d matches after %d searches, want %+v", step.now, got, p.Searches, step)
		}
	}
}

// An id that is added again stands for the new ticket only.
func TestPool_AddReplaces(t *testing.T) {
	p := pool.New(ruleSet(t, oneAgainstOne), search.Options{}, pool.Limits{})
	tickets := solos(2)
	p.Add(tickets[0])
	p.Add(tickets[0])
	if matches := p.Pass(second(1)); len(matches) > 0 || p.Len() != 1 {
		t.Fatalf("a ticket plays against itself: %s", describe(matches))
	}
	p.Add(tickets[1])
	if got := describe(p.Pass(second(2))); got != "s0 s1" || p.Len() != 0 {
		t.Errorf("formed %q, %d tickets left", got, p.Len())
	}
}

// The number of parts searched concurrently does not change the result.
func TestPool_SideBySide(t *testing.T) {
	rs := ruleSet(t, fmt.Sprintf(fiveAgainstFive, 50, 10))
	waiting := crowd(rand.New(rand.NewPCG(5, 6)), 3000, 0, 3)
	formed := map[int]string{}
	for _, workers := range []int{1, 4} {
		p := pool.New(rs, search.Options{}, pool.Limits{Workers: workers, Work: 20_000})
		for _, ticket := range waiting {
			p.Add(ticket)
		}
		for range 5 {
			matches := p.Pass(second(1))
			check(t, 5, rs, search.Options{}, matches, 1)
			formed[workers] += describe(matches) + "\n"
		}
	}
	if formed[1] != formed[4] || len(formed[1]) < 1000 {
		t.Errorf("one worker formed\n%s\nfour\n%s", formed[1], formed[4])
	}
}

// A player with a very large number who was tried in a team leaves a rounding error in
// its sum. The error decides nothing.
func TestPool_GreatNumbersDecideNothing(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"n","type":"number"}],
		"teams":[{"name":"a","minPlayers":3,"maxPlayers":3},{"name":"b","minPlayers":1,"maxPlayers":1},{"name":"c","minPlayers":1,"maxPlayers":1}],
		"rules":[{"name":"Even","type":"distance","measurements":["avg(teams[a].players.attributes[n])"],"referenceValue":"avg(teams[b].players.attributes[n])","maxDistance":0.5}]}`)
	p := pool.New(rs, search.Options{}, pool.Limits{})
	for i, numbers := range [][]float64{{-1.3, -2}, {1e10}, {-2.5999999}, {-3}} {
		ticket := &search.Ticket{ID: fmt.Sprint("k", i), Created: second(0), Arrival: uint64(i)}
		for p, n := range numbers {
			ticket.Players = append(ticket.Players, search.Player{ID: fmt.Sprint(i, "-", p), Attributes: map[string]ruleset.Given{"n": {Type: ruleset.Number, Value: ruleset.Value{Number: n}}}})
		}
		p.Add(ticket)
	}
	if got := describe(p.Pass(second(1))); got == "" || p.Rejected > 0 {
		t.Errorf("formed %q, %d matches refused", got, p.Rejected)
	}
}

// After a pass that matches most tickets, the pool knows those that wait and those that can
// never be matched, and no others.
func TestPool_KeepsUnmatched(t *testing.T) {
	t.Parallel()
	rs := ruleSet(t, fmt.Sprintf(fiveAgainstFive, 4000, 4000))
	tickets := crowd(rand.New(rand.NewPCG(1, 2)), 2000, 0, 1)
	never := crowd(rand.New(rand.NewPCG(3, 4)), 1, 2000, 1)[0]
	never.Players[0].Latency = map[string]float64{"region-0": 5000}
	p := pool.New(rs, search.Options{}, pool.Limits{})
	for _, ticket := range append(tickets, never) {
		p.Add(ticket)
	}
	matches := p.Pass(second(1))
	check(t, 0, rs, search.Options{}, matches, 1)
	matched := map[string]bool{}
	for _, m := range matches {
		for _, ticket := range m.Tickets {
			matched[ticket.ID] = true
		}
	}
	if len(matched) <= 1000 || p.Len() != 2001-len(matched) {
		t.Fatalf("%d tickets are matched, %d are left", len(matched), p.Len())
	}
	judged := 0
	for _, c := range p.Counts(never.ID) {
		judged += c.Passed + c.Failed
	}
	if judged == 0 {
		t.Error("the ticket that can never be matched is forgotten")
	}
	for _, ticket := range append(tickets, never) {
		before := p.Len()
		p.Remove(ticket.ID)
		if removed := before - p.Len(); removed != 0 == matched[ticket.ID] {
			t.Errorf("ticket %s, matched: %v, was removed %d times", ticket.ID, matched[ticket.ID], removed)
		}
	}
	if p.Len() != 0 {
		t.Errorf("%d tickets are left in an empty pool", p.Len())
	}
}

// Tickets of roles that a match can take no more of do not hide, from those that wait longer,
// the younger ones who are missing.
func TestPool_RolesInShortSupply(t *testing.T) {
	p := pool.New(ruleSet(t, roles), search.Options{}, pool.Limits{})
	for i := range 30 { // parties that no team can take wait longest
		healers := duelist(fmt.Sprint("h", i), -100+i, 1500, "healer", nil)
		for range 2 {
			healers.Players = append(healers.Players, healers.Players[0])
		}
		healers.Created = second(-100)
		p.Add(healers)
	}
	for i := range 150 {
		role := "damage"
		if i < 120 {
			role = []string{"tank", "healer"}[i%2]
		}
		p.Add(duelist(fmt.Sprint("k", i), i, 1500, role, nil))
	}
	// Each match takes as many of those who wait longest as two teams may have: 4 tanks and 4
	// healers. The rest is damage.
	if matches := p.Pass(second(1)); len(matches) != 15 || p.Cut != 0 {
		t.Errorf("formed %d matches of 15, and cut %d searches short", len(matches), p.Cut)
	}
}
