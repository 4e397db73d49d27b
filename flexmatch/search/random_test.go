package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

var epoch = time.Unix(1_000_000, 0).UTC()

// second returns a time of a test.
func second(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }

// randomBody returns a small rule set, with every rule type, expansions, compounds and
// algorithms.
func randomBody(r *rand.Rand) string {
	var teams []string
	for i := range 1 + r.IntN(3) {
		low := r.IntN(3)
		quantity := 1
		if i > 0 && r.IntN(4) == 0 {
			quantity = 2
		}
		teams = append(teams, fmt.Sprintf(`{"name":"t%d","minPlayers":%d,"maxPlayers":%d,"quantity":%d}`, i, low, max(1, low+r.IntN(2)), quantity))
	}
	templates := []string{
		`"type":"batchDistance","batchAttribute":"skill","maxDistance":%d`,
		`"type":"batchDistance","batchAttribute":"skill","maxDistance":%d,"partyAggregation":"max"`,
		`"type":"batchDistance","batchAttribute":"mode","maxDistance":%d`,
		`"type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":%d`,
		`"type":"comparison","measurements":["flatten(teams[*].players.attributes[mode])"],"operation":"=","description":"%d"`,
		`"type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":"!=","description":"%d"`,
		`"type":"comparison","measurements":["teams[*].players.attributes[mode]"],"operation":"=","description":"%d"`,
		`"type":"comparison","measurements":["count(teams[*].players)"],"operation":"<=","referenceValue":%d`,
		`"type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":%d`,
		`"type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":%d`,
		`"type":"distance","measurements":["avg(teams[t0].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","minDistance":%d`,
		`"type":"distance","measurements":["teams[*].players.attributes[skill]"],"referenceValue":"median(flatten(teams[*].players.attributes[skill]))","maxDistance":%d`,
		`"type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"minCount":%d`,
		`"type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"x","maxCount":%d`,
		`"type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"y","minCount":%d`,
		`"type":"collection","operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":["x","z"],"minCount":%d`,
		`"type":"collection","operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"set_intersection(flatten(teams[*].players.attributes[modes]))","minCount":%d`,
		`"type":"latency","maxLatency":%d0`,
		`"type":"latency","maxDistance":%d0,"distanceReference":"min"`,
		`"type":"latency","maxDistance":%d0,"distanceReference":"avg"`,
		`"type":"latency","maxLatency":%d0,"maxDistance":15,"distanceReference":"min","partyAggregation":"max"`,
		`"type":"batchDistance","batchAttribute":"rank","maxDistance":%d,"partyAggregation":"min"`,
		`"type":"comparison","measurements":["teams[t0].players.attributes[skill]"],"operation":">=","referenceValue":%d`,
		`"type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":"<=","referenceValue":%d,"partyAggregation":"max"`,
		`"type":"comparison","measurements":["flatten(teams[*].players.attributes[rank])"],"operation":"=","partyAggregation":"min","description":"%d"`,
		`"type":"comparison","measurements":["stddev(flatten(teams[*].players.attributes[skill]))"],"operation":"<=","referenceValue":%d`,
		`"type":"comparison","measurements":["sum(teams[*].players.attributes[rank])"],"operation":">=","referenceValue":%d`,
		`"type":"comparison","measurements":["count(teams[t0].players)"],"operation":"=","referenceValue":"count(flatten(teams[*].players))","description":"%d"`,
		`"type":"distance","measurements":["flatten(teams[*].players.attributes[skill])"],"referenceValue":3,"minDistance":%d`,
		`"type":"distance","measurements":["flatten(teams[*].players.attributes[skill])","flatten(teams[*].players.attributes[rank])"],"referenceValue":2,"maxDistance":%d`,
		`"type":"distance","measurements":["min(flatten(teams[*].players.attributes[rank]))"],"referenceValue":"max(flatten(teams[*].players.attributes[rank]))","maxDistance":%d,"partyAggregation":"max"`,
		`"type":"distance","measurements":["flatten(teams[*].players.attributes[likes][x])"],"referenceValue":4,"maxDistance":%d`,
		`"type":"collection","operation":"intersection","measurements":["teams[*].players.attributes[modes]"],"minCount":%d`,
		`"type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"maxCount":%d`,
		`"type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"minCount":%d,"partyAggregation":"intersection"`,
		`"type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[mode])"],"referenceValue":"a","minCount":1,"maxCount":%d`,
		`"type":"collection","operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[blocked])"],"referenceValue":"flatten(teams[*].players[playerId])","maxCount":0,"description":"%d"`,
		`"type":"distanceSort","sortAttribute":"likes","mapKey":"maxValue","sortDirection":"descending","description":"%d"`,
		`"type":"absoluteSort","sortAttribute":"rank","sortDirection":"descending","partyAggregation":"max","description":"%d"`,
		`"type":"distanceSort","sortAttribute":"skill","sortDirection":"ascending","description":"%d"`,
		`"type":"absoluteSort","sortAttribute":"mode","sortDirection":"descending","description":"%d"`,
	}
	var rules, expansions []string
	for i := range r.IntN(5) {
		template := templates[r.IntN(len(templates))]
		rules = append(rules, fmt.Sprintf(`{"name":"r%d",`+template+`}`, i, 1+r.IntN(4)))
		for _, property := range []string{"maxDistance", "maxLatency", "minDistance", "maxCount"} {
			if strings.Contains(template, `"`+property+`"`) && !strings.Contains(template, `"minCount":1,`) && r.IntN(3) == 0 {
				expansions = append(expansions, fmt.Sprintf(`{"target":"rules[r%d].%s","steps":[{"waitTimeSeconds":%d,"value":%d},{"waitTimeSeconds":15,"value":%d}]}`,
					i, property, 1+r.IntN(10), r.IntN(50), r.IntN(50)))
			}
		}
	}
	if len(rules) > 0 && r.IntN(4) == 0 && !strings.Contains(rules[0], "batch") && !strings.Contains(rules[0], "Sort") {
		rules = append(rules, fmt.Sprintf(`{"name":"k","type":"compound","statement":"%s"}`, []string{"not(r0)", "or(r0, not(r0))", "and(r0, r0)", "xor(r0, not(r0))"}[r.IntN(4)]))
	}
	if r.IntN(6) == 0 {
		expansions = append(expansions, `{"target":"teams[t0].maxPlayers","steps":[{"waitTimeSeconds":12,"value":4}]}`)
	}
	if r.IntN(3) == 0 {
		expansions = append(expansions, `{"target":"teams[t0].minPlayers","steps":[{"waitTimeSeconds":8,"value":0}]}`)
	}
	algorithm := []string{`{}`, `{"strategy":"balanced","balancedAttribute":"skill"}`}[r.IntN(2)]
	algorithm = strings.Replace(algorithm, "{", `{"backfillPriority":"`+[]string{"normal", "low", "high"}[r.IntN(3)]+`","expansionAgeSelection":"`+[]string{"newest", "oldest"}[r.IntN(2)]+`",`, 1)
	algorithm = strings.Replace(algorithm, ",}", "}", 1)
	return fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"},{"name":"modes","type":"string_list","default":[]},{"name":"rank","type":"number","default":2},{"name":"blocked","type":"string_list","default":[]},{"name":"likes","type":"string_number_map","default":{"y":3}}],
"teams":[%s],"rules":[%s],"expansions":[%s],"algorithm":%s}`, strings.Join(teams, ","), strings.Join(rules, ","), strings.Join(expansions, ","), algorithm)
}

// randomTickets returns tickets of small values, so that rules both pass and fail. Some game
// sessions have few slots or one of the players.
func randomTickets(r *rand.Rand, rs *ruleset.RuleSet, n, from int) []*search.Ticket {
	var out []*search.Ticket
	for i := range n {
		t := &search.Ticket{ID: fmt.Sprintf("k%d", from+i), Created: second(r.IntN(20)), Arrival: uint64(from + i), Backfill: r.IntN(6) == 0}
		for p := range 1 + max(0, r.IntN(5)-2) {
			t.Players = append(t.Players, randomPlayer(r, rs, fmt.Sprintf("%s-%d", t.ID, p)))
		}
		switch known := r.IntN(2) == 0; {
		case t.Backfill && known:
			t.Session = fmt.Sprintf("g%d", r.IntN(2))
			if r.IntN(2) == 0 {
				t.Most = len(t.Players) + r.IntN(3)
			}
		case !t.Backfill && known && r.IntN(2) == 0:
			t.PlaysIn = []string{fmt.Sprintf("g%d", r.IntN(2))}
		}
		out = append(out, t)
	}
	return out
}

func randomPlayer(r *rand.Rand, rs *ruleset.RuleSet, id string) search.Player {
	modes := []string{}
	for _, m := range []string{"x", "y", "z"} {
		if r.IntN(2) == 0 {
			modes = append(modes, m)
		}
	}
	latency := map[string]float64{}
	for _, location := range []string{"r1", "r2", "r3"} {
		if r.IntN(3) > 0 {
			latency[location] = float64(1 + r.IntN(50))
		}
	}
	p := search.Player{ID: id, Team: rs.Instances[r.IntN(len(rs.Instances))].Name, Latency: latency, Attributes: map[string]ruleset.Given{
		"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: float64(r.IntN(7))}},
		"mode":  {Type: ruleset.String, Value: ruleset.Value{String: []string{"a", "b"}[r.IntN(2)]}},
		"modes": {Type: ruleset.StringSet, Value: ruleset.Value{Strings: modes}},
	}}
	if r.IntN(2) == 0 {
		p.Attributes["rank"] = ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: float64(r.IntN(5))}}
	}
	if r.IntN(3) == 0 {
		p.Attributes["blocked"] = ruleset.Given{Type: ruleset.StringSet, Value: ruleset.Value{Strings: []string{fmt.Sprintf("k%d-0", r.IntN(9))}}}
	}
	if r.IntN(2) == 0 {
		p.Attributes["likes"] = ruleset.Given{Type: ruleset.NumberMap, Value: ruleset.Value{Map: map[string]float64{"x": float64(r.IntN(9)), "z": float64(r.IntN(9))}}}
	}
	if r.IntN(12) == 0 {
		delete(p.Attributes, "mode")
	}
	return p
}

// world returns a random rule set with random tickets.
func world(t testing.TB, seed uint64) (*ruleset.RuleSet, search.Options, []*search.Ticket, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 7))
	body := randomBody(r)
	rs := ruleSet(t, body)
	return rs, search.Options{AdditionalPlayerCount: max(0, r.IntN(4)-2)}, randomTickets(r, rs, 3+r.IntN(7), 0), r
}

// unbounded is the search for many tickets without its bounds: it must agree with
// the reference.
var unbounded = pool.Limits{Exact: -1, Nodes: 1 << 30, Placements: 1 << 30, Work: 1 << 50}

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

func ruleSet(t testing.TB, body string) *ruleset.RuleSet {
	t.Helper()
	rs, err := ruleset.Parse(body)
	if err != nil {
		t.Fatalf("%s\n%v", body, err)
	}
	return rs
}
