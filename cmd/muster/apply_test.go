package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
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
		file := filepath.Join(t.TempDir(), "muster.yaml")
		if err := os.WriteFile(file, []byte("Locations: {custom-lab: {}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		command := func(args ...string) string {
			t.Helper()
			var out bytes.Buffer
			args = append(args, "--endpoint", server.URL())
			if code := run(args, &streams{ctx: context.WithoutCancel(t.Context()), out: &out, err: &out, screen: io.Discard}); code != 0 {
				t.Fatalf("muster %s: exit code %d\n%s", strings.Join(args, " "), code, &out)
			}
			return out.String()
		}
		command("apply", "-f", file, "--yes", "--region", "eu-central-1")
		for region, want := range map[string]bool{"us-east-1": false, "eu-central-1": true} {
			if out := command("export", "--region", region); strings.Contains(out, "custom-lab") != want {
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
