package ruleset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/fault"
)

// parse reads a body that must be valid.
func parse(t *testing.T, body string) *ruleset.RuleSet {
	t.Helper()
	rs, err := ruleset.Parse(body)
	if err != nil {
		t.Fatalf("%s\n%v", body, err)
	}
	return rs
}

// wrong returns the errors of a body, each as code, position and member.
func wrong(t *testing.T, body string) []string {
	t.Helper()
	_, err := ruleset.Parse(body)
	var errs ruleset.Errors
	if err != nil && !errors.As(err, &errs) {
		t.Fatalf("error %v is no list of errors", err)
	}
	out := []string{}
	for _, e := range errs {
		out = append(out, fmt.Sprintf("%s %d:%d %s", e.Code, e.Line, e.Column, e.Path))
	}
	return out
}

// with returns a body with two teams of one player and further members.
func with(members string) string {
	return `{"ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"},{"name":"modes","type":"string_list"},{"name":"w","type":"string_number_map"}],
` + members + `}`
}

// rule returns a body with one rule named r.
func rule(members string) string { return with(`"rules":[{"name":"r",` + members + `}]`) }

func TestParse_TellsEveryError(t *testing.T) {
	got := wrong(t, `{
  "ruleLanguageVersion": 1.0,
  "gameMode": "x",
  "teams": [{"name": "a", "minPlayers": 1, "maxPlayers": 2}, {"name": "ä", "minPlayers": 9, "maxPlayers": 2}],
  /* a comment
     keeps places */ "rules": [
    {"name": "r", "type": "distance", "measurements": ["avg(teams[b].players)"]},
    {"name": "r", "type": "latency"}
  ],
  "expansions": [{"target": "rules[q].maxDistance", "steps": []}]
}`)
	want := []string{
		"E_UNKNOWN_PROPERTY 3:3 gameMode",
		"E_VERSION 2:26 ruleLanguageVersion",
		"E_TEAM_SIZE 4:90 teams[1].minPlayers",
		"E_EXPR_TEAM 7:67 rules[0].measurements[0]",
		"E_RULE_REFERENCE 7:5 rules[0].referenceValue",
		"E_RULE_BOUNDS 7:5 rules[0].maxDistance",
		"E_LATENCY 8:5 rules[1].maxLatency",
		"E_DUP_RULE 8:14 rules[1].name",
		"E_EXPANSION_TARGET 10:29 expansions[0].target",
		"E_EXPANSION_STEPS 10:62 expansions[0].steps",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParse_Codes(t *testing.T) {
	for _, c := range []struct{ name, body, code string }{
		{"empty body", "", "E_JSON_SYNTAX"},
		{"a list", "[]", "E_JSON_SYNTAX"},
		{"two values", with(`"rules":[]`) + "{}", "E_JSON_SYNTAX"},
		{"comment without end", "/* " + with(`"rules":[]`), "E_JSON_SYNTAX"},
		{"too long", with(`"rules":[]`) + strings.Repeat(" ", ruleset.MaxBody), "E_BODY_TOO_LARGE"},
		{"no version", `{"teams":[{"name":"a","minPlayers":1,"maxPlayers":2}]}`, "E_MISSING_PROPERTY"},
		{"teams no list", `{"ruleLanguageVersion":"1.0","teams":{}}`, "E_TYPE"},
		{"no teams", `{"ruleLanguageVersion":"1.0","teams":[]}`, "E_NO_TEAMS"},
		{"half a player", `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":0.5,"maxPlayers":2}]}`, "E_TEAM_SIZE"},
		{"huge quantity", `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":2,"quantity":1000000}]}`, "E_MATCH_TOO_LARGE"},
		{"rules no list", with(`"rules":{}`), "E_TYPE"},
		{"rule without type", rule(`"description":"d"`), "E_MISSING_PROPERTY"},
		{"operation absent", rule(`"type":"comparison","measurements":["teams[red].players.attributes[skill]"],"referenceValue":1`), "E_RULE_OPERATION"},
		{"number against a word", rule(`"type":"comparison","measurements":["teams[red].players.attributes[skill]"],"referenceValue":"x","operation":"="`), "E_RULE_REFERENCE"},
		{"word against a number", rule(`"type":"comparison","measurements":["teams[red].players.attributes[mode]"],"referenceValue":1,"operation":"="`), "E_RULE_REFERENCE"},
		{"one value alone", rule(`"type":"comparison","measurements":["avg(teams[red].players.attributes[skill])"],"operation":"="`), "E_EXPR_TYPE"},
		{"contains needs a string", rule(`"type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[modes])"]`), "E_RULE_REFERENCE"},
		{"contains has no expression", rule(`"type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"flatten(teams[*].players[playerId])"`), "E_EXPR_TYPE"},
		{"counts upside down", rule(`"type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"minCount":3,"maxCount":2`), "E_RULE_BOUNDS"},
		{"distance of what from", rule(`"type":"latency","maxDistance":5`), "E_LATENCY"},
		{"distance from what", rule(`"type":"latency","distanceReference":"min"`), "E_LATENCY"},
		{"batch without distance", rule(`"type":"batchDistance","batchAttribute":"skill"`), "E_BATCH_DISTANCE"},
		{"batch without attribute", rule(`"type":"batchDistance"`), "E_MISSING_PROPERTY"},
		{"sort of a list", rule(`"type":"absoluteSort","sortDirection":"ascending","sortAttribute":"modes"`), "E_SORT_RULE"},
		{"sort of a map without key", rule(`"type":"absoluteSort","sortDirection":"ascending","sortAttribute":"w"`), "E_SORT_RULE"},
		{"distance of strings", rule(`"type":"distanceSort","sortDirection":"ascending","sortAttribute":"mode"`), "E_SORT_RULE"},
		{"property of another type", rule(`"type":"latency","maxLatency":5,"minCount":1`), "E_UNKNOWN_PROPERTY"},
		{"key of a number", rule(`"type":"comparison","measurements":["teams[red].players.attributes[skill][k]"],"operation":"="`), "E_EXPR_TYPE"},
		{"blank team", rule(`"type":"comparison","measurements":["count(teams[ ].players)"],"operation":"=","referenceValue":1`), "E_EXPR_SYNTAX"},
		{"star and team", rule(`"type":"comparison","measurements":["teams[*,red].players.attributes[skill]"],"operation":"="`), "E_EXPR_SYNTAX"},
		{"step before the last", with(`"rules":[{"name":"r","type":"latency","maxLatency":5}],"expansions":[{"target":"rules[r].maxLatency","steps":[{"waitTimeSeconds":9,"value":6},{"waitTimeSeconds":8,"value":7}]}]`), "E_EXPANSION_STEPS"},
		{"name cannot change", with(`"rules":[{"name":"r","type":"latency","maxLatency":5}],"expansions":[{"target":"rules[r].name","steps":[{"waitTimeSeconds":9,"value":6}]}]`), "E_EXPANSION_TARGET"},
		{"no such team", with(`"expansions":[{"target":"teams[green].minPlayers","steps":[{"waitTimeSeconds":9,"value":1}]}]`), "E_EXPANSION_TARGET"},
		{"beyond the size class", with(`"expansions":[{"target":"teams[red].maxPlayers","steps":[{"waitTimeSeconds":9,"value":40}]}]`), "E_EXPANSION_VALUE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := wrong(t, c.body)
			if len(got) == 0 || !strings.HasPrefix(got[0], c.code+" ") {
				t.Errorf("errors %v, want %s first", got, c.code)
			}
		})
	}
}

func TestParse_Accepts(t *testing.T) {
	for name, body := range map[string]string{
		"description anywhere": rule(`"type":"latency","maxLatency":"50","description":"d"`),
		"steps of two expansions together": `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":2,"maxPlayers":2}],"expansions":[
			{"target":"teams[a].minPlayers","steps":[{"waitTimeSeconds":5,"value":3}]},{"target":"teams[*].maxPlayers","steps":[{"waitTimeSeconds":5,"value":4}]}]}`,
		"reference becomes a list together with its operation": with(`"rules":[{"name":"r","type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"x"}],
			"expansions":[{"target":"rules[r].referenceValue","steps":[{"waitTimeSeconds":5,"value":["x","y"]}]},{"target":"rules[r].operation","steps":[{"waitTimeSeconds":5,"value":"reference_intersection_count"}]}]`),
	} {
		if got := wrong(t, body); len(got) > 0 {
			t.Errorf("%s: errors %v", name, got)
		}
	}
}

func TestErrors_Fault(t *testing.T) {
	_, err := ruleset.Parse(`{"ruleLanguageVersion":"2","teams":[]}`)
	var errs ruleset.Errors
	if !errors.As(err, &errs) {
		t.Fatalf("error %v is no list", err)
	}
	f, ok := fault.As(errs.Fault())
	if !ok || f.Kind != fault.InvalidRequest || !strings.HasPrefix(f.Message, "E_VERSION at 1:24 ruleLanguageVersion:") || !strings.Contains(f.Message, "; E_NO_TEAMS at") {
		t.Errorf("fault %v", errs.Fault())
	}
}

func TestLevel_StepsHoldFromTheirAge(t *testing.T) {
	rs := parse(t, with(`"rules":[{"name":"r","type":"latency","maxLatency":50}],"expansions":[
		{"target":"rules[r].maxLatency","steps":[{"waitTimeSeconds":10,"value":100},{"waitTimeSeconds":20,"value":150}]},
		{"target":"rules[r].maxLatency","steps":[{"waitTimeSeconds":10,"value":90},{"waitTimeSeconds":15,"value":70}]},
		{"target":"teams[blue].minPlayers","steps":[{"waitTimeSeconds":12.5,"value":0}]}]`))
	for age, want := range map[time.Duration]float64{-1: 50, 0: 50, 10*time.Second - 1: 50, 10 * time.Second: 90, 15 * time.Second: 70, 20 * time.Second: 150, time.Hour: 150} {
		if got := rs.Level(age).Rules[0].Limit().Value; got != want {
			t.Errorf("at %v maxLatency is %v, want %v", age, got, want)
		}
	}
	if got := []int{rs.Level(12 * time.Second).Least(), rs.Level(13 * time.Second).Least()}; !cmp.Equal(got, []int{2, 1}) {
		t.Errorf("least players before and after 12.5 s: %v, want [2 1]", got)
	}
}

func TestEvaluate_Undefined(t *testing.T) {
	rs := parse(t, rule(`"type":"comparison","measurements":["teams[*].players.attributes[w][k]"],"operation":"="`))
	party := func(m map[string]float64) *ruleset.Party {
		return &ruleset.Party{Players: []ruleset.Player{{ID: "p", Values: []ruleset.Value{{}, {}, {}, {Map: m}}}}}
	}
	one, none := party(map[string]float64{"k": 1}), party(nil)
	l := &ruleset.Lineup{Parties: []*ruleset.Party{one, none}, Teams: [][]ruleset.Member{{{Party: one}, {Party: none}}, nil}}
	if got, _ := rs.Evaluate("teams[*].players.attributes[w][k]", l); !cmp.Equal(got, any([]any{[]any{1.0, nil}, []any{}})) {
		t.Errorf("a player without the key gives %v", got)
	}
	if got, _ := rs.Evaluate("max(avg(teams[*].players.attributes[w][k]))", l); got != 1.0 {
		t.Errorf("undefined is not dropped: %v", got)
	}
	if got, _ := rs.Evaluate("avg(teams[blue].players.attributes[w][k])", l); got != nil {
		t.Errorf("the average of nothing is %v, not undefined", got)
	}
	if !rs.Level(0).Holds(0, l) {
		t.Error("a rule about one defined value does not hold")
	}
}

// The position of an error in a string is right even after escapes.
func TestParse_PlaceBehindEscapes(t *testing.T) {
	const before = `{"name":"r","type":"comparison","operation":"=","referenceValue":1,"measurements":"`
	for _, text := range []string{`max(teams[a])`, `m\u0061x(teams[a])`, `max(t\u0065\u0061ms[a])`, `m\u0061x(\tteams[a])`, `max(teams[\ud83d\ude00a])`, `max(teams[é\/a])`, `max(teams[\ud83d\ude00, a])`} {
		got := wrong(t, with(`"rules":[`+"\n"+before+text+`"}]`))
		column := 1 + len(before) + strings.Index(text, "[") + 1
		if want := []string{fmt.Sprintf("E_EXPR_TEAM 4:%d rules[0].measurements", column)}; !cmp.Equal(want, got) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
