package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/test/node"
)

// A file is applied in the region of --region, with keys or without.
func TestApply_Region(t *testing.T) {
	for _, key := range []string{"", "any"} {
		t.Setenv("AWS_ACCESS_KEY_ID", key)
		t.Setenv("AWS_SECRET_ACCESS_KEY", key)
		server := node.InProcess(t, func(o *app.Options) { o.Region, o.Regions = "", []string{"us-east-1", "eu-central-1"} })
		done(t, "apply", "-f", write(t, "Locations: {custom-lab: {}}\n"), "--yes", "--region", "eu-central-1", "--endpoint", server.URL())
		for region, want := range map[string]bool{"us-east-1": false, "eu-central-1": true} {
			if out, _ := done(t, "export", "--region", region, "--endpoint", server.URL()); strings.Contains(out, "custom-lab") != want {
				t.Errorf("with the key %q, %s has\n%s", key, region, out)
			}
		}
	}
}

// What is on the server and not in the file is named by its ARN: the plan is settled once it is
// carried out.
func TestApply_ByARN(t *testing.T) {
	server := node.InProcess(t, nil)
	api := node.Client(server.URL())
	place := node.NewPlace(t, api)
	made, err := api.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{Name: aws.String("shared")})
	if err != nil {
		t.Fatal(err)
	}
	text := `GameSessionQueues:
  mine: {Destinations: [{DestinationArn: "` + place.FleetARN + `"}]}
MatchmakingRuleSets:
  duel: {RuleSetBody: '{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}'}
MatchmakingConfigurations:
  duel: {RuleSet: duel, GameSessionQueues: [QUEUE], RequestTimeoutSeconds: 60, AcceptanceRequired: false}
`
	file := write(t, strings.Replace(text, "QUEUE", *made.GameSessionQueue.GameSessionQueueArn, 1))
	for _, args := range [][]string{{"--yes"}, {"--drift"}} {
		if code, out, errs := typed(t, t.Context(), append([]string{"apply", "-f", file, "--endpoint", server.URL()}, args...)...); code != 0 {
			t.Errorf("apply %s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	file = write(t, strings.Replace(text, "QUEUE", "shared", 1))
	code, _, errs := typed(t, t.Context(), "apply", "-f", file, "--endpoint", server.URL(), "--plan")
	if want := `GameSessionQueues[0]: "shared" is not in the file`; code == 0 || !strings.Contains(errs, want) || !strings.Contains(errs, "named by its ARN") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// A fleet that cannot be replaced is in the plan, which then fails, and holds up nothing else.
func TestApply_Impossible(t *testing.T) {
	server := node.InProcess(t, nil)
	file := func(certificate, more string) string {
		return write(t, "Locations: {custom-lab: {}"+more+"}\nFleets: {lab: {ComputeType: ANYWHERE, CertificateConfiguration: {CertificateType: "+certificate+"}, Locations: {custom-lab: {}}}}\n")
	}
	after := file("GENERATED", ", custom-new: {}")
	for _, step := range []struct {
		file, flag string
		code       int
		says       []string
	}{
		{file("DISABLED", ""), "--yes", 0, nil},
		{after, "--plan", 1, []string{"! replace  fleet lab", "(cannot be done: CertificateConfiguration.CertificateType cannot be changed: ", "Plan: 1 to create, 0 to update, 0 to replace, 0 to delete; 1 cannot be done.", "Give the new one another name"}},
		{after, "--drift", 3, []string{"+ create   location custom-new"}},
		{after, "--yes", 1, []string{"location custom-new: created", "1 of 2 changes is not made"}},
		{after, "--yes", 1, []string{"Plan: 0 to create, 0 to update, 0 to replace, 0 to delete; 1 cannot be done."}},
	} {
		code, out, errs := typed(t, t.Context(), "apply", "-f", step.file, "--endpoint", server.URL(), step.flag)
		if code != step.code {
			t.Errorf("apply %s: exit code %d, want %d", step.flag, code, step.code)
		}
		for _, text := range step.says {
			if !strings.Contains(out+errs, text) {
				t.Errorf("apply %s does not say %q:\n%s%s", step.flag, text, out, errs)
			}
		}
	}
}

// A rule set that the server would refuse is found before anything is done, with its place.
func TestApply_RuleSets(t *testing.T) {
	server := node.InProcess(t, nil)
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const rules = `{
  "ruleLanguageVersion": "1.0",
  "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": MOST}]
}
`
	body := put("bad.json", strings.Replace(rules, "MOST", "0", 1))
	file := put("muster.yaml", `Locations: {custom-lab: {}}
MatchmakingRuleSets:
  file: {RuleSetFile: bad.json}
  block:
    RuleSetBody: |
      `+strings.ReplaceAll(strings.Replace(rules, "MOST", "0", 1), "\n", "\n      ")+`
  line: {RuleSetBody: '{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 0}]}'}
`)
	apply := func(flag string) (int, string) {
		t.Helper()
		code, out, errs := typed(t, t.Context(), "apply", "-f", file, "--endpoint", server.URL(), flag)
		return code, out + errs
	}
	_, checked, _ := typed(t, t.Context(), "ruleset", "check", body)
	place, what, ok := strings.Cut(strings.TrimSpace(checked), ": ")
	column := strings.TrimPrefix(place, body+":3:")
	if !ok || column == place {
		t.Fatalf("muster ruleset check says %q", checked)
	}
	from, err := strconv.Atoi(column)
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--plan", "--yes"} {
		code, said := apply(flag)
		for _, text := range []string{
			place + ": rule set file: " + what,
			fmt.Sprintf("%s:8:%d: rule set block: %s", file, 6+from, what),
			file + ":11: at 1:", "rule set line: " + what, "nothing is done",
		} {
			if code != 1 || !strings.Contains(said, text) {
				t.Errorf("apply %s: exit code %d; it does not say %q:\n%s", flag, code, text, said)
			}
		}
	}
	if code, said := apply("--drift"); code != 3 || !strings.Contains(said, "+ create   location custom-lab") {
		t.Errorf("something was done: exit code %d\n%s", code, said)
	}
	// The plan shows where a rule set differs, whatever its spaces.
	text := func(most string) string {
		return "MatchmakingRuleSets: {long: {RuleSetFile: " + filepath.Base(put(most+".json", strings.Replace(strings.Replace(rules, "MOST", most, 1), `"name": "all"`, `"name": "`+strings.Repeat("a", 100)+`"`, 1))) + "}}\n"
	}
	file = put("muster.yaml", text("4"))
	if code, said := apply("--yes"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	file = put("muster.yaml", text("5"))
	if _, said := apply("--plan"); !strings.Contains(said, `"maxPlayers":4}`) || !strings.Contains(said, `"maxPlayers":5}`) {
		t.Errorf("the plan does not show the difference:\n%s", said)
	}
}

// A plan names what is doubtful in its rule sets, and what a configuration and its queue add to that.
func TestApply_DoubtfulRuleSets(t *testing.T) {
	server := node.InProcess(t, nil)
	file := write(t, `GameSessionQueues:
  main: {}
MatchmakingRuleSets:
  duel:
    RuleSetBody: |
      {"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}],
       "rules": [{"name": "Ping", "type": "latency", "maxLatency": 100},
                 {"name": "Full", "type": "comparison", "measurements": ["count(flatten(teams[*].players))"], "operation": "=", "referenceValue": 2}],
       "expansions": [{"target": "rules[Ping].maxLatency", "steps": [{"waitTimeSeconds": 90, "value": 150}]}]}
MatchmakingConfigurations:
  duel: {RuleSet: duel, GameSessionQueues: [main], RequestTimeoutSeconds: 60, AcceptanceRequired: false}
`)
	code, _, errs := typed(t, t.Context(), "apply", "-f", file, "--endpoint", server.URL(), "--plan")
	for _, want := range []string{
		file + ":8:19: rule set duel: doubtful: rules[Full]: it always holds: the measurement is always 2\n",
		file + ":9:103: rule set duel in configuration duel: doubtful: rules[Ping]: the step at 1m30s is never reached: tickets time out after 1m0s\n",
		file + ":7:19: rule set duel in configuration duel: doubtful: rules[Ping]: it keeps players together who have at most 100 ms to a common location, but queue main has no cap",
	} {
		if code != 0 || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, %q is not in\n%s", code, want, errs)
		}
	}
	done(t, "apply", "-f", file, "--endpoint", server.URL(), "--yes")
	if _, _, errs := typed(t, t.Context(), "apply", "-f", file, "--endpoint", server.URL(), "--plan"); strings.Contains(errs, "doubtful") {
		t.Errorf("of what is there already it says\n%s", errs)
	}
}
