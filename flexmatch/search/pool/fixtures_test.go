package pool_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

var epoch = time.Unix(1_000_000, 0).UTC()

// second returns a time of a test.
func second(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }

func describe(matches []*search.Match) string {
	var out []string
	for _, m := range matches {
		var ids []string
		for _, t := range m.Tickets {
			ids = append(ids, t.ID)
		}
		out = append(out, strings.Join(ids, " "))
	}
	return strings.Join(out, "; ")
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

// fiveAgainstFive is the rule set of the benchmarks: equal modes, a skill window,
// a latency limit and teams of nearly equal average.
const fiveAgainstFive = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
"teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],
"rules":[{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},
{"name":"Window","type":"batchDistance","batchAttribute":"skill","maxDistance":%d},
{"name":"Near","type":"latency","maxLatency":100},
{"name":"Fair","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":%d}]}`

// crowd returns tickets: skills around 1500, 4 modes, 8 locations of which 1 or 2 are
// near.
func crowd(r *rand.Rand, n, from, party int) []*search.Ticket {
	modes := []string{"ctf", "tdm", "koth", "ffa"}
	out := make([]*search.Ticket, n)
	for i := range out {
		t := &search.Ticket{ID: fmt.Sprintf("k%d", from+i), Created: epoch.Add(0), Arrival: uint64(from + i)}
		skill, mode := 1500+400*r.NormFloat64(), modes[r.IntN(len(modes))]
		near := r.IntN(8)
		for p := range 1 + r.IntN(party) {
			latency := map[string]float64{fmt.Sprintf("region-%d", near): float64(10 + r.IntN(80)), fmt.Sprintf("region-%d", (near+1)%8): float64(60 + r.IntN(80))}
			t.Players = append(t.Players, search.Player{ID: fmt.Sprintf("%s-%d", t.ID, p), Latency: latency, Attributes: map[string]ruleset.Given{
				"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: skill + 20*r.NormFloat64()}},
				"mode":  {Type: ruleset.String, Value: ruleset.Value{String: mode}},
			}})
		}
		out[i] = t
	}
	return out
}

// roles is the rule set of two teams of five with one or two tanks and healers each, whose
// averages are close.
const roles = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
"teams":[{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}],
"rules":[{"name":"Tanks","type":"collection","measurements":["teams[*].players.attributes[mode]"],"operation":"contains","referenceValue":"tank","minCount":1,"maxCount":2},
{"name":"Healers","type":"collection","measurements":["teams[*].players.attributes[mode]"],"operation":"contains","referenceValue":"healer","minCount":1,"maxCount":2},
{"name":"Even","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":50}]}`
