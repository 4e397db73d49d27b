package setup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/setup/live"
)

// read returns the plan for what a file describes, and the state that it is for.
func read(t *testing.T, s *live.Server, file string, remove bool) (*setup.Setup, *live.State, setup.Plan) {
	t.Helper()
	want, err := setup.Parse("muster.yaml", []byte(file))
	if err == nil {
		err = live.Digests(want, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	state, err := live.Read(t.Context(), s.API)
	if err != nil {
		t.Fatal(err)
	}
	return want, state, setup.Compare(want, state.Setup, remove)
}

// said returns the operations of a plan.
func said(plan setup.Plan) (all []string) {
	for _, a := range plan {
		all = append(all, string(a.Op)+" "+a.Name)
	}
	return all
}

// What fails holds up what needs it, and nothing else: neither what comes behind it, nor a
// fleet that cannot be replaced, nor what the server refuses.
func TestApply_GoesOn(t *testing.T) {
	t.Parallel()
	s := server(t)
	const before = `
Locations: {custom-lab: {}}
Fleets:
  fixed: {ComputeType: ANYWHERE, CertificateConfiguration: {CertificateType: DISABLED}, Locations: {custom-lab: {}}}
  former: {ComputeType: ANYWHERE, Locations: {custom-lab: {}}}
Aliases: {live: {Fleet: former}}
GameSessionQueues: {main: {TimeoutInSeconds: 60, Destinations: [{Alias: live}]}}
`
	want, state, plan := read(t, s, before, false)
	if err := s.Apply(t.Context(), want, state, plan); err != nil {
		t.Fatal(err)
	}
	const after = `
Locations: {custom-lab: {}}
Fleets:
  fixed: {ComputeType: ANYWHERE, CertificateConfiguration: {CertificateType: GENERATED}, Locations: {custom-lab: {}}}
Aliases: {live: {Fleet: fixed}, test: {Message: closed}}
GameSessionQueues:
  bad: {TimeoutInSeconds: 1000000}
  main: {TimeoutInSeconds: 90, Destinations: [{Alias: live}]}
MatchmakingRuleSets:
  duel: {RuleSetBody: '{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}'}
MatchmakingConfigurations:
  duel: {RuleSet: duel, GameSessionQueues: [main], RequestTimeoutSeconds: 60, AcceptanceRequired: false}
  other: {RuleSet: duel, GameSessionQueues: [bad], RequestTimeoutSeconds: 60, AcceptanceRequired: false}
`
	want, state, plan = read(t, s, after, true)
	err := s.Apply(t.Context(), want, state, plan)
	if err == nil {
		t.Fatal("nothing failed")
	}
	for _, text := range []string{
		"5 of 9 changes are not made:\n",
		"\nreplace fleet fixed: CertificateConfiguration.CertificateType cannot be changed: its computes are registered with this very fleet. Give the new one another name\n",
		"\nupdate alias live: not tried, since it needs fleet fixed\n",
		"\ncreate queue bad: ",
		"\ncreate matchmaking configuration other: not tried, since it needs queue bad\n",
		"\ndelete fleet former: not tried, since alias live may still use it and could not be changed\n",
		"run the command again",
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q:\n%v", text, err)
		}
	}
	_, _, rest := read(t, s, after, true)
	if got, left := said(rest), []string{"replace fixed", "update live", "create bad", "create other", "delete former"}; !slices.Equal(got, left) {
		t.Errorf("the rest is %q, want %q", got, left)
	}
}

// Fleets without machines are waited for together, each says what it waits for, and nothing
// else waits for them: what leads to them is there.
func TestApply_FleetsWait(t *testing.T) {
	t.Parallel()
	s := server(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "game"), []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	fleet := `{Build: game, EC2InstanceType: c5.large, RuntimeConfiguration: {ServerProcesses: [{LaunchPath: /local/game/game, ConcurrentExecutions: 1}]}, HomeRegion: {DesiredInstances: 0}}`
	want, state, plan := read(t, s, `
Builds: {game: {OperatingSystem: AMAZON_LINUX_2023, Folder: `+folder+`}}
Fleets: {one: `+fleet+`, two: `+fleet+`}
Aliases: {live: {Fleet: one}}
GameSessionQueues: {main: {Destinations: [{Alias: live}, {Fleet: two}]}}
`, false)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waiting := map[string]bool{}
	s.Tell = func(text string) {
		fleet, news, _ := strings.Cut(text, ": ")
		if strings.Contains(news, "no host has joined location us-east-1") && strings.Contains(news, "muster admin join-tokens create --location us-east-1") {
			if waiting[fleet] = true; len(waiting) == 2 {
				stop()
			}
		}
	}
	if err := s.Apply(ctx, want, state, plan); ctx.Err() == nil {
		t.Fatalf("the fleets do not say what they wait for: %v", err)
	}
	aliases, err := s.API.ListAliases(t.Context(), &gamelift.ListAliasesInput{})
	if err != nil || len(aliases.Aliases) != 1 {
		t.Errorf("the aliases are %+v, %v", aliases, err)
	}
	queues, err := s.API.DescribeGameSessionQueues(t.Context(), &gamelift.DescribeGameSessionQueuesInput{})
	if err != nil || len(queues.GameSessionQueues) != 1 {
		t.Errorf("the queues are %+v, %v", queues, err)
	}
}

// A fleet whose build has been deleted on the server stays, also when the file's build is
// uploaded again.
func TestApply_BuildDeleted(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, home)
	g.apply()
	fleet := g.fleet("game")
	made, err := g.API.ListBuilds(t.Context(), &gamelift.ListBuildsInput{})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Builds[0].BuildId
	if _, err := g.API.DeleteBuild(t.Context(), &gamelift.DeleteBuildInput{BuildId: id}); err != nil {
		t.Fatal(err)
	}
	_, _, plan := read(t, g.Server, g.file, false)
	if got := said(plan); !slices.Equal(got, []string{"create game", "leave game"}) || !strings.Contains(plan[1].Unknown, "its build "+*id+" has been deleted") {
		t.Fatalf("the plan is %+v", plan)
	}
	g.apply()
	if _, _, plan = read(t, g.Server, g.file, false); plan.Changes() || len(plan) != 1 || plan[0].Unknown == "" {
		t.Errorf("at the end the plan is %+v", plan)
	}
	fleets, err := g.API.DescribeFleetAttributes(t.Context(), &gamelift.DescribeFleetAttributesInput{})
	if err != nil || len(fleets.FleetAttributes) != 1 || *fleets.FleetAttributes[0].FleetId != fleet {
		t.Errorf("the fleets are %+v, %v", fleets, err)
	}
}
