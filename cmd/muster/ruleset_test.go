package main

import (
	"strings"
	"testing"
)

func TestRulesetCheck(t *testing.T) {
	wrong := write(t, "{\n  \"ruleLanguageVersion\": \"2.0\",\n  \"teams\": [{\"name\": \"red\", \"minPlayers\": 3, \"maxPlayers\": 2}]\n}\n")
	code, out, stderr := typed(t, t.Context(), "ruleset", "check", wrong)
	want := wrong + ":2:26: ruleLanguageVersion: E_VERSION: must be the string \"1.0\"\n" +
		wrong + ":3:43: teams[0].minPlayers: E_TEAM_SIZE: must not be above maxPlayers: 3 is above 2\n"
	if code != 1 || out != want || !strings.Contains(stderr, "errors: 2") {
		t.Errorf("exit %d, printed\n%s%s\nwant exit 1 and\n%s", code, out, stderr, want)
	}
	right := write(t, `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":2,"quantity":3}]}`)
	if out, errs := done(t, "ruleset", "check", right); out != right+" is valid: 3 teams, 3 to 6 players, 0 rules, no expansions\n" || errs != "" {
		t.Errorf("printed %q %q", out, errs)
	}
}

func TestEvalCases(t *testing.T) {
	file := write(t, `{"schemaVersion":1,"title":"two","ruleSets":{},"cases":[
		{"id":"A-1","title":"valid","kind":"validate","ruleSet":{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":2}]},"expect":{"valid":true}},
		{"id":"A-2","title":"no teams","kind":"validate","ruleSet":{"ruleLanguageVersion":"1.0"},"expect":{"valid":false,"error":"E_VERSION"}}]}`)
	for _, mode := range []string{"exact", "indexed"} {
		code, out, _ := typed(t, t.Context(), "ruleset", "eval-cases", "--mode", mode, file)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if code != 1 || len(lines) != 3 || lines[0] != "A-1 pass" || !strings.HasPrefix(lines[1], "A-2 fail: must break E_VERSION first") || lines[2] != "1 of 2 cases pass" {
			t.Errorf("%s: exit %d, printed\n%s", mode, code, out)
		}
	}
}

// A rule set that is valid may still do nothing of what its author meant.
func TestRulesetCheck_Doubtful(t *testing.T) {
	file := write(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"rank","type":"number"}],
"teams":[{"name":"a","minPlayers":2,"maxPlayers":2}],
"rules":[{"name":"Ping","type":"latency","maxLatency":80}],
"expansions":[{"target":"rules[Ping].maxLatency","steps":[{"waitTimeSeconds":10,"value":60},{"waitTimeSeconds":300,"value":200}]}]}`)
	code, out, stderr := typed(t, t.Context(), "ruleset", "check", file, "--request-timeout", "2m")
	for _, want := range []string{
		file + ":1:51: doubtful: playerAttributes[rank]: no rule reads rank: it only goes to the game server, and players without a value are never matched",
		file + ":4:89: doubtful: rules[Ping]: the step at 10s makes the rule stricter, maxLatency from 80 to 60: ",
		"doubtful: rules[Ping]: the step at 5m0s is never reached: tickets time out after 2m0s\n",
		"is valid: 1 team, 2 players, 1 rule, expansions after 10s, 5m0s of waiting\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if code != 0 || stderr != "" {
		t.Errorf("exit %d, %q: doubts are no errors", code, stderr)
	}
}
