package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/lint"
	"github.com/musterhq/muster/flexmatch/ruleset"
)

const fives = `{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}`

// parsed reads a rule set of parts.
func parsed(t *testing.T, teams, rules, expansions, algorithm string) *ruleset.RuleSet {
	t.Helper()
	rs, err := ruleset.Parse(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"role","type":"string"},{"name":"maps","type":"string_list"}],
"teams":[` + teams + `],"algorithm":{` + algorithm + `},"rules":[` + rules + `],"expansions":[` + expansions + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// found returns what is found, without attributes that no rule reads: few of these rule sets read
// all.
func found(list []lint.Finding) (out []string) {
	for _, f := range list {
		if !strings.HasPrefix(f.Member, "playerAttributes") {
			out = append(out, fmt.Sprintf("%s %s: %s", f.Kind, f.Member, f.Text))
		}
	}
	return out
}

func rule(name, typ, rest string) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,%s}`, name, typ, rest)
}

func counted(name, measurement, text, limits string) string {
	return rule(name, "collection", fmt.Sprintf(`"operation":"contains","measurements":[%q],"referenceValue":%q,%s`, measurement, text, limits))
}

const (
	roles   = "teams[*].players.attributes[role]"
	allRole = "flatten(teams[*].players.attributes[role])"
	skills  = "flatten(teams[*].players.attributes[skill])"
)

func compared(name, measurement, operation, reference string) string {
	return rule(name, "comparison", fmt.Sprintf(`"measurements":[%q],"operation":%q,"referenceValue":%s`, measurement, operation, reference))
}

func near(name string, limit int) string {
	return rule(name, "batchDistance", fmt.Sprintf(`"batchAttribute":"skill","maxDistance":%d`, limit))
}

func step(target string, steps ...string) string {
	return fmt.Sprintf(`{"target":%q,"steps":[%s]}`, target, strings.Join(steps, ","))
}

func at(seconds int, value any) string {
	return fmt.Sprintf(`{"waitTimeSeconds":%d,"value":%v}`, seconds, value)
}

// upTo returns a step for each of so many seconds.
func upTo(seconds int) (out []string) {
	for n := range seconds {
		out = append(out, at(n+1, 41+n))
	}
	return out
}

func TestCheck(t *testing.T) {
	var twelve string
	for n := range 12 {
		twelve += strings.Repeat(",", min(n, 1)) + counted(fmt.Sprint("Role", n), roles, fmt.Sprint("role", n), `"minCount":1`)
	}
	t.Parallel()
	for _, c := range []struct {
		name, teams, rules, expansions, algorithm string
		want                                      []string // beginnings
	}{
		{name: "right", rules: near("Near", 50) + "," + counted("Tank", roles, "tank", `"minCount":1`), expansions: step("rules[Near].maxDistance", at(5, 100))},

		// What no match passes.
		{name: "role in a team", rules: counted("Tank", roles, "tank", `"minCount":6`), want: []string{"impossible rules[Tank]: no match passes it: a team has at most 5 players to count: no match is possible"}},
		{name: "roles in a team", rules: counted("Healer", roles, "healer", `"minCount":2`) + "," + counted("Tank", roles, "tank", `"minCount":4`),
			want: []string{`impossible rules[Tank]: team red needs 4 players with "tank" and 2 with others by further rules, and has room for 5: no match is possible`}},
		{name: "until a step", rules: counted("Tank", roles, "tank", `"minCount":6`), expansions: step("rules[Tank].minCount", at(20, 5)),
			want: []string{"impossible rules[Tank]: no match passes it: a team has at most 5 players to count: no match is possible before 20s"}},
		{name: "from a step on", rules: counted("Tank", roles, "tank", `"minCount":1`), expansions: step("rules[Tank].minCount", at(20, 6)),
			want: []string{"impossible rules[Tank]: no match passes it: a team has at most 5 players to count: no match is possible from 20s on", "backward rules[Tank]: the step at 20s makes the rule stricter, minCount from 1 to 6"}},
		{name: "the same string twice", rules: counted("A", roles, "tank", `"minCount":2`) + "," + counted("B", roles, "tank", `"maxCount":1`),
			want: []string{`impossible rules[A]: team red needs 2 players with "tank", and the rule B allows 1: no match is possible`}},
		{name: "flatten", rules: counted("Tank", allRole, "tank", `"minCount":11`), want: []string{"impossible rules[Tank]: no match passes it: there are at most 10 players to count"}},
		{name: "flatten, several", rules: counted("Tank", allRole, "tank", `"minCount":6`) + "," + counted("Healer", allRole, "healer", `"minCount":5`),
			want: []string{`impossible rules[Tank]: the match needs 11 players by the rules about "tank" and others, and has room for 10`}},
		{name: "match and teams", rules: counted("Tank", allRole, "tank", `"minCount":3`) + "," + counted("One", roles, "tank", `"maxCount":1`),
			want: []string{`impossible rules[Tank]: the match needs 3 players with "tank", and by the rule One its teams take 2`}},
		{name: "teams and match", rules: counted("Tank", allRole, "tank", `"maxCount":1,"minCount":0`) + "," + counted("One", roles, "tank", `"minCount":1`),
			want: []string{`impossible rules[Tank]: the match may have 1 player with "tank", and by the rule One its teams need 2`}},
		{name: "players", rules: compared("Full", "count(flatten(teams[*].players))", "=", "12"), want: []string{"impossible rules[Full]: no match passes it: the measurement is always 10: no match is possible"}},
		{name: "unequal teams", teams: `{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":4,"maxPlayers":4}`,
			rules: compared("Even", "count(teams[red].players)", "=", `"count(teams[blue].players)"`), want: []string{"impossible rules[Even]: no match passes it: the measurement is always 1, and the reference always 4"}},
		{name: "disjoint sets", rules: rule("A", "collection", `"operation":"reference_intersection_count","measurements":["`+allRole+`"],"referenceValue":["tank","healer"],"minCount":1`) + "," + compared("B", allRole, "=", `"damage"`),
			want: []string{"impossible rules[B]: no value of role fulfills both it and the rule A: no match is possible"}},
		{name: "disjoint numbers", rules: compared("Low", skills, "<", "100") + "," + compared("High", skills, ">=", "100"), want: []string{"impossible rules[High]: no value of skill fulfills both it and the rule Low"}},
		{name: "teams too far apart", rules: compared("Low", "teams[red].players.attributes[skill]", "<=", "100") + "," + compared("High", "teams[blue].players.attributes[skill]", ">=", "200") + "," + near("Near", 50),
			want: []string{"impossible rules[Near]: no values of skill fulfill both it and the rules Low and High"}},
		{name: "compound", rules: compared("A", skills, "<", "9") + "," + rule("B", "compound", `"statement":"xor(A, A)"`), want: []string{"impossible rules[B]: no match passes it: it follows from its statement"}},
		{name: "latency", rules: rule("Ping", "latency", `"maxLatency":0`), want: []string{"impossible rules[Ping]: no match passes it: a latency is at least 1 ms"}},
		{name: "parties that count otherwise", rules: compared("Low", skills, "<", "100") + "," + rule("High", "comparison", `"measurements":["`+skills+`"],"operation":">=","referenceValue":100,"partyAggregation":"max"`)},
		{name: "a team that may be empty", teams: `{"name":"red","minPlayers":1,"maxPlayers":5},{"name":"blue","minPlayers":0,"maxPlayers":1}`, rules: counted("B", "teams[blue].players.attributes[role]", "tank", `"minCount":2`)},

		// What has no effect.
		{name: "always", rules: counted("Some", allRole, "tank", `"maxCount":10,"minCount":0`) + "," + rule("Zero", "distance", `"measurements":["avg(`+skills+`)"],"referenceValue":7,"minDistance":0`),
			want: []string{"idle rules[Some]: it always holds: there are at most 10 players to count", "idle rules[Zero]: it always holds: each distance is at least 0"}},
		{name: "equal steps", rules: near("Near", 50), expansions: step("rules[Near].maxDistance", at(5, `"50"`), at(10, 100)), want: []string{"idle rules[Near]: the step at 5s changes nothing: maxDistance is 50 before it too"}},
		{name: "two steps at once", rules: near("Near", 50), expansions: step("rules[Near].maxDistance", at(5, 70)) + "," + step("rules[Near].maxDistance", at(5, 90)),
			want: []string{"idle rules[Near]: the step at 5s changes nothing: another step sets maxDistance at the same age, and counts instead"}},
		{name: "from the beginning", rules: near("Near", 50), expansions: step("rules[Near].maxDistance", at(0, 100)), want: []string{"unreached rules[Near]: the step at 0s holds from the beginning, so the maxDistance of 50 never applies: write 100 there"}},
		{name: "equal strings", rules: rule("Role", "batchDistance", `"batchAttribute":"role"`), expansions: step("rules[Role].maxDistance", at(5, 2)), want: []string{"idle rules[Role]: the step at 5s changes nothing: strings must be equal"}},
		{name: "algorithm", rules: near("Near", 50), algorithm: `"batchingPreference":"sorted","sortByAttributes":["skill"],"expansionAgeSelection":"oldest"`,
			want: []string{"idle algorithm.batchingPreference: it has no effect", "idle algorithm.expansionAgeSelection: it has no effect"}},

		// What goes the wrong way.
		{name: "team sizes", rules: near("Near", 50), expansions: step("teams[red,blue].maxPlayers", at(5, 7)) + "," + step("teams[red].minPlayers", at(9, 6)) + "," + step("teams[blue].maxPlayers", at(9, 6)),
			want: []string{"backward teams[red]: the step at 9s makes the rule stricter, minPlayers from 5 to 6", "backward teams[blue]: the step at 9s makes the rule stricter, maxPlayers from 7 to 6"}},
		{name: "reference", rules: compared("Low", skills, "<=", "100") + "," + compared("High", skills, ">", "10"), expansions: step("rules[Low].referenceValue", at(5, 90)) + "," + step("rules[High].referenceValue", at(5, 9)),
			want: []string{"backward rules[Low]: the step at 5s makes the rule stricter, referenceValue from 100 to 90"}},
		{name: "the opposite", rules: compared("Low", skills, "<=", "100") + "," + rule("Not", "compound", `"statement":"not(Low)"`), expansions: step("rules[Low].referenceValue", at(5, 110), at(9, 90)),
			want: []string{"backward rules[Low]: the step at 5s makes the rule stricter, referenceValue from 100 to 110"}},

		// What is expensive, and the cheaper form.
		{name: "near the lowest", rules: rule("Near", "distance", `"measurements":["`+skills+`"],"referenceValue":"min(`+skills+`)","maxDistance":200`),
			want: []string{"expensive rules[Near]: it is judged only on whole matches, of which few pass where many tickets wait. A batchDistance on skill with maxDistance 200 means the same, and is searched for directly (measured with two teams of five: 97 % of the players matched in place of 2 %"}},
		{name: "highest", rules: compared("High", "max("+skills+")", "<=", "1800"), want: []string{"expensive rules[High]: it is judged only on whole matches, of which few pass where many tickets wait. The measurement " + skills + " with the same operation"}},
		{name: "deviation", rules: compared("Even", "stddev("+skills+")", "<=", "120"), want: []string{"expensive rules[Even]: it is judged only on whole matches, of which few pass where many tickets wait. Write a batchDistance on skill with maxDistance 536.66 besides: it follows from this rule"}},
		{name: "two teams", rules: rule("Tank", "collection", `"operation":"contains","measurements":["teams[red].players.attributes[role]","teams[blue].players.attributes[role]"],"referenceValue":"tank","minCount":1`),
			want: []string{"expensive rules[Tank]: it is judged only on whole matches, of which few pass where many tickets wait. A rule for each of the measurements means the same"}},
		{name: "and", rules: counted("Tank", roles, "tank", `"minCount":1`) + "," + compared("Low", skills, "<", "9") + "," + rule("Both", "compound", `"statement":"and(Tank, Low)"`),
			want: []string{"expensive rules[Both]: it is judged only on whole matches, of which few pass where many tickets wait. Leaving out the compound, so that its rules are enforced one by one, means the same"}},
		{name: "medians", rules: rule("Even", "distance", `"measurements":["median(teams[red].players.attributes[skill])"],"referenceValue":"median(teams[blue].players.attributes[skill])","maxDistance":50`),
			want: []string{"expensive rules[Even]: it is judged only on whole matches: where many tickets wait"}},
		{name: "many teams with roles", teams: `{"name":"t","minPlayers":3,"maxPlayers":3,"quantity":12}`, rules: counted("Healer", roles, "healer", `"minCount":1`)},
		{name: "many roles", teams: `{"name":"t","minPlayers":20,"maxPlayers":20,"quantity":2}`, rules: twelve,
			want: []string{"expensive rules[Role11]: with the rules Role0, Role1, Role2, Role3, Role4, Role5, Role6, Role7, Role8, Role9, Role10, Role11, 2 teams can be filled in more than 8192 ways"}},
		{name: "many levels", rules: rule("Ping", "latency", `"maxLatency":40`), expansions: step("rules[Ping].maxLatency", upTo(64)...),
			want: []string{"expensive rules[Ping]: the rule set has 65 levels, and with more than 64"}},
	} {
		if c.teams == "" {
			c.teams = fives
		}
		got := found(lint.Check(parsed(t, c.teams, c.rules, c.expansions, c.algorithm)))
		if len(got) != len(c.want) || slices.ContainsFunc(c.want, func(want string) bool {
			return !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) })
		}) {
			t.Errorf("%s: found\n  %s\nwant\n  %s", c.name, strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
		}
	}
}

// A configuration and its queue may make of a rule set what it is not by itself.
func TestIn(t *testing.T) {
	t.Parallel()
	rs := parsed(t, fives, rule("Ping", "latency", `"maxLatency":60`), step("rules[Ping].maxLatency", at(10, 100), at(300, 250)), "")
	for _, c := range []struct {
		in   lint.Setting
		want []string
	}{
		{lint.Setting{}, nil},
		{lint.Setting{RequestTimeout: 2 * time.Minute, Queue: "main", Cap: 100}, []string{"unreached rules[Ping]: the step at 5m0s is never reached: tickets time out after 2m0s"}},
		{lint.Setting{Queue: "main"}, []string{"loose rules[Ping]: it keeps players together who have at most 250 ms to a common location, but queue main has no cap (PlayerLatencyPolicies): where that location has no game server free, the match may land at one that is farther."}},
		{lint.Setting{Queue: "main", Cap: 300}, []string{"loose rules[Ping]: it keeps players together who have at most 250 ms to a common location, but queue main allows 300 ms"}},
		{lint.Setting{AdditionalPlayers: 1}, []string{"impossible teams: AdditionalPlayerCount 1 leaves room for 9 players, and the teams need 10: no match is possible"}},
	} {
		got := found(lint.In(rs, c.in))
		if len(got) != len(c.want) || len(got) > 0 && !strings.HasPrefix(got[0], c.want[0]) {
			t.Errorf("%+v: %q, want %q", c.in, got, c.want)
		}
	}
}

// Of the rule sets that crowds are played with, which are fast, none is said to be expensive or
// impossible.
func TestCheck_Crowds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../test/crowds/rulesets/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := ruleset.Parse(string(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range lint.Check(rs) {
			if f.Kind == lint.Expensive || f.Kind == lint.Impossible {
				t.Errorf("%s: %s %s: %s", filepath.Base(file), f.Kind, f.Member, f.Text)
			}
		}
	}
}
