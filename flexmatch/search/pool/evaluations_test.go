package pool_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

const duels = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
"teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":2}],
"rules":[{"name":"Old","type":"distanceSort","sortAttribute":"skill","sortDirection":"ascending"},
{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},
{"name":"Window","type":"batchDistance","batchAttribute":"skill","maxDistance":10},
{"name":"Able","type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":0},
{"name":"Near","type":"latency","maxLatency":100},
{"name":"NotBoth","type":"comparison","measurements":["sum(flatten(teams[*].players.attributes[skill]))"],"operation":"<","referenceValue":1000},
{"name":"Either","type":"compound","statement":"or(NotBoth, NotBoth)"}]}`

// duelist returns a ticket of one player.
func duelist(id string, arrival int, skill float64, mode string, latency map[string]float64) *search.Ticket {
	return &search.Ticket{ID: id, Created: second(0), Arrival: uint64(arrival), Players: []search.Player{{ID: id, Latency: latency, Attributes: map[string]ruleset.Given{
		"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: skill}},
		"mode":  {Type: ruleset.String, Value: ruleset.Value{String: mode}},
	}}}}
}

// A search counts how often each rule passed and failed: for the match, or for the ticket
// that found none.
func TestPool_CountsEvaluations(t *testing.T) {
	p := pool.New(ruleSet(t, duels), search.Options{}, pool.Limits{})
	near := map[string]float64{"x": 50, "y": 60}
	for i, ticket := range []*search.Ticket{
		duelist("low", 0, 5, "ctf", map[string]float64{"x": 50, "y": 60, "z": 500}),
		duelist("other", 1, 5, "tdm", near),
		duelist("high", 2, 50, "ctf", near),
		duelist("far", 3, 6, "ctf", map[string]float64{"x": 500, "w": 10}),
		duelist("unable", 4, -1, "ctf", near),
		duelist("mate", 5, 9, "ctf", near),
	} {
		ticket.Arrival = uint64(i)
		p.Add(ticket)
	}
	matches := p.Pass(second(1))
	if got := describe(matches); got != "low mate" {
		t.Fatalf("formed %q", got)
	}
	if diff := cmp.Diff([]string{"x", "y"}, matches[0].Locations); diff != "" {
		t.Error(diff)
	}
	for _, want := range []struct {
		who  string
		got  []search.RuleCount
		want []search.RuleCount
	}{
		{"the match", matches[0].Rules, []search.RuleCount{{Rule: "Mode", Passed: 5, Failed: 1}, {Rule: "Window", Passed: 3, Failed: 1}, {Rule: "Able", Passed: 4, Failed: 0}, {Rule: "Near", Passed: 4, Failed: 1}, {Rule: "NotBoth", Passed: 2, Failed: 0}, {Rule: "Either", Passed: 1, Failed: 0}}},
		{"high", p.Counts("high"), []search.RuleCount{{Rule: "Mode", Passed: 1, Failed: 1}, {Rule: "Window", Passed: 0, Failed: 0}, {Rule: "Able", Passed: 0, Failed: 0}, {Rule: "Near", Passed: 0, Failed: 1}, {Rule: "NotBoth", Passed: 0, Failed: 0}, {Rule: "Either", Passed: 0, Failed: 0}}},
		{"unable", p.Counts("unable"), []search.RuleCount{{Rule: "Mode", Passed: 1, Failed: 0}, {Rule: "Window", Passed: 0, Failed: 0}, {Rule: "Able", Passed: 0, Failed: 1}, {Rule: "Near", Passed: 1, Failed: 0}, {Rule: "NotBoth", Passed: 0, Failed: 0}, {Rule: "Either", Passed: 0, Failed: 0}}},
		{"nobody", p.Counts("nobody"), []search.RuleCount{{Rule: "Mode", Passed: 0, Failed: 0}, {Rule: "Window", Passed: 0, Failed: 0}, {Rule: "Able", Passed: 0, Failed: 0}, {Rule: "Near", Passed: 0, Failed: 0}, {Rule: "NotBoth", Passed: 0, Failed: 0}, {Rule: "Either", Passed: 0, Failed: 0}}},
	} {
		if diff := cmp.Diff(want.want, want.got); diff != "" {
			t.Errorf("%s: %s", want.who, diff)
		}
	}
}

// With a clock a pass ends in time, and the next passes do the rest, oldest first.
func TestPool_BoundedTime(t *testing.T) {
	var now time.Time
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	p := pool.New(ruleSet(t, oneAgainstOne), search.Options{}, pool.Limits{Clock: clock, Time: 50 * time.Millisecond})
	for _, ticket := range solos(200) {
		p.Add(ticket)
	}
	for passes := 1; p.Pending(second(1)); passes++ {
		began := now
		if matches := p.Pass(second(1)); len(matches) == 0 || now.Sub(began) > 52*time.Millisecond || passes > 3 {
			t.Fatalf("pass %d forms %d matches in %v", passes, len(matches), now.Sub(began))
		}
	}
	if p.Len() > 0 {
		t.Errorf("%d tickets left", p.Len())
	}
}

// A single search that takes longer than a pass is cut short too, and eventually given
// up.
func TestPool_BoundedTimeOfOneSearch(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
		"teams":[{"name":"a","minPlayers":6,"maxPlayers":6,"quantity":2}],
		"rules":[{"name":"Never","type":"comparison","measurements":["avg(teams[*].players.attributes[skill])"],"operation":"<","referenceValue":-1}]}`)
	var now time.Time
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	p := pool.New(rs, search.Options{}, pool.Limits{Clock: clock, Time: 20 * time.Millisecond})
	for i := range 30 {
		p.Add(duelist(string(rune('A'+i)), i, float64(i), "m", nil))
	}
	for passes := 1; p.Pending(second(1)); passes++ {
		began := now
		if matches := p.Pass(second(1)); len(matches) > 0 || now.Sub(began) > 40*time.Millisecond || passes > 500 {
			t.Fatalf("pass %d forms %d matches in %v", passes, len(matches), now.Sub(began))
		}
	}
}
