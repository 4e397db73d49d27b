package pool_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// What a pool has proved to be in vain stays so only until a ticket comes that changes it: a new
// pool of the tickets that a pool leaves finds no match either.
func TestPool_LeavesNoMatch(t *testing.T) {
	rules := map[string]string{
		"the match": `"flatten(teams[*].players.attributes[role])"`,
		"each team": `"teams[*].players.attributes[role]"`,
	}
	var ruleSets []*ruleset.RuleSet
	for _, of := range rules {
		for _, window := range []string{"", `,{"name":"Skill","type":"batchDistance","batchAttribute":"skill","maxDistance":10}`} {
			ruleSets = append(ruleSets, ruleSet(t, fmt.Sprintf(`{"ruleLanguageVersion":"1.0",
				"playerAttributes":[{"name":"role","type":"string"},{"name":"skill","type":"number"}],
				"teams":[{"name":"red","minPlayers":3,"maxPlayers":3},{"name":"blue","minPlayers":3,"maxPlayers":3}],
				"rules":[{"name":"Healer","type":"collection","operation":"contains","measurements":[%s],"referenceValue":"healer","minCount":1}%s]}`, of, window)))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rs := rapid.SampledFrom(ruleSets).Draw(t, "rule set")
		skills := rapid.SampledFrom([]int{1, 30, 100}).Draw(t, "skills")
		p := pool.New(rs, search.Options{}, pool.Limits{Exact: -1})
		left, n := map[string]*search.Ticket{}, 0
		for range rapid.IntRange(1, 60).Draw(t, "passes") {
			for range rapid.IntRange(1, 12).Draw(t, "tickets") {
				size := rapid.SampledFrom([]int{1, 1, 2, 3, 3}).Draw(t, "size")
				healer := rapid.IntRange(0, 19).Draw(t, "healer") == 0
				ticket := &search.Ticket{ID: fmt.Sprint("t", n), Created: second(1), Arrival: uint64(n)}
				skill := float64(rapid.IntRange(0, skills).Draw(t, "skill"))
				for i := range size {
					role := "damage"
					if healer && i == 0 {
						role = "healer"
					}
					ticket.Players = append(ticket.Players, search.Player{ID: fmt.Sprint(n, "-", i), Attributes: map[string]ruleset.Given{
						"role": {Type: ruleset.String, Value: ruleset.Value{String: role}}, "skill": {Type: ruleset.Number, Value: ruleset.Value{Number: skill}}}})
				}
				left[ticket.ID], n = ticket, n+1
				p.Add(ticket)
			}
			passes(p, second(1), func(m *search.Match) {
				for _, ticket := range m.Tickets {
					delete(left, ticket.ID)
				}
			})
			if leaver := rapid.IntRange(0, 2*n).Draw(t, "leaver"); leaver < n {
				p.Remove(fmt.Sprint("t", leaver))
				delete(left, fmt.Sprint("t", leaver))
			}
		}
		fresh := pool.New(rs, search.Options{}, pool.Limits{Exact: -1})
		for _, ticket := range left {
			fresh.Add(ticket)
		}
		passes(fresh, second(1), func(m *search.Match) {
			ids := []string{}
			for _, ticket := range m.Tickets {
				ids = append(ids, ticket.ID)
			}
			t.Fatalf("of %d tickets left, a new pool matches %v", len(left), slices.Sorted(slices.Values(ids)))
		})
	})
}

// passes makes passes until nothing is left to do, and calls f for each match.
func passes(p *pool.Pool, now time.Time, f func(*search.Match)) {
	for p.Pending(now) {
		for _, m := range p.Pass(now) {
			f(m)
		}
	}
}
