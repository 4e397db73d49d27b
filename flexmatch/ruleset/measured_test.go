package ruleset_test

import (
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Two players have skill 10 and 16 and modes {a b} and {b c}. Both report only location
// x.
func TestMeasured(t *testing.T) {
	for _, c := range []struct {
		rule string
		want ruleset.Measured
		ok   bool
	}{
		{`"type":"batchDistance","batchAttribute":"skill","maxDistance":5`, ruleset.Measured{Value: 6, Limit: 5}, true},
		{`"type":"batchDistance","batchAttribute":"name"`, ruleset.Measured{}, false},
		{`"type":"distance","measurements":["flatten(teams[*].players.attributes[skill])"],"referenceValue":11,"maxDistance":4`, ruleset.Measured{Value: 5, Limit: 4}, true},
		{`"type":"distance","measurements":["flatten(teams[*].players.attributes[skill])"],"referenceValue":11,"minDistance":4`, ruleset.Measured{Value: 1, Limit: 4, AtLeast: true}, true},
		{`"type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":12`, ruleset.Measured{Value: 10, Limit: 12, AtLeast: true}, true},
		{`"type":"comparison","measurements":["flatten(teams[*].players.attributes[name])"],"operation":"="`, ruleset.Measured{}, false},
		{`"type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"minCount":2`, ruleset.Measured{Value: 1, Limit: 2, AtLeast: true}, true},
		{`"type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"b","maxCount":1`, ruleset.Measured{Value: 2, Limit: 1}, true},
		{`"type":"collection","operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":["c"],"minCount":1`, ruleset.Measured{Value: 0, Limit: 1, AtLeast: true}, true},
		{`"type":"latency","maxLatency":50`, ruleset.Measured{Value: 80, Limit: 50}, true},
		{`"type":"latency","maxDistance":50,"distanceReference":"min"`, ruleset.Measured{}, false},
	} {
		rs, err := ruleset.Parse(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"name","type":"string"},{"name":"modes","type":"string_list"}],
"teams":[{"name":"t","minPlayers":2,"maxPlayers":2}],"rules":[{"name":"r",` + c.rule + `}]}`)
		if err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		party := func(skill float64, modes []string, latency map[string]float64) *ruleset.Party {
			return &ruleset.Party{Players: []ruleset.Player{{Values: []ruleset.Value{{Number: skill}, {String: "n"}, {Strings: modes}}, Latency: latency}}}
		}
		a := party(10, []string{"a", "b"}, map[string]float64{"x": 30, "y": 10})
		b := party(16, []string{"b", "c"}, map[string]float64{"x": 80, "z": 10})
		l := &ruleset.Lineup{Parties: []*ruleset.Party{a, b}, Teams: [][]ruleset.Member{{{Party: a}, {Party: b}}}}
		got, ok := rs.Level(0).Rules[0].Measured(l)
		if got != c.want && ok || ok != c.ok {
			t.Errorf("%s: %+v %v, want %+v %v", c.rule, got, ok, c.want, c.ok)
		}
		if passes := rs.Level(0).Holds(0, l); ok && passes != (got.AtLeast && got.Value >= got.Limit || !got.AtLeast && got.Value <= got.Limit) {
			t.Errorf("%s: measured %+v, but holds is %v", c.rule, got, passes)
		}
	}
}
