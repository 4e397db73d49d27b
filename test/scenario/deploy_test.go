package scenario

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/bots"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// arenaSetup is the set-up of a game whose build is in the folder dist. A player who waits for
// long plays alone: at the end of a test there may be nobody else.
const arenaSetup = `Builds:
  arena:
    Version: 1
    OperatingSystem: AMAZON_LINUX_2023
    Folder: dist
Fleets:
  arena:
    Build: arena
    EC2InstanceType: c5.large
    RuntimeConfiguration:
      ServerProcesses:
        - LaunchPath: /local/game/arena
          Parameters: server -port {{.GamePort}} -empty 500ms
          ConcurrentExecutions: 4
    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 2}
Aliases:
  live: {Fleet: arena}
GameSessionQueues:
  main:
    Destinations: [{Alias: live}]
    TimeoutInSeconds: 60
MatchmakingRuleSets:
  four:
    RuleSetBody: '{"name": "four", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 4}],
      "expansions": [{"target": "teams[all].minPlayers", "steps": [{"waitTimeSeconds": 20, "value": 1}]}]}'
MatchmakingConfigurations:
  four:
    RuleSet: four
    GameSessionQueues: [main]
    RequestTimeoutSeconds: 120
    AcceptanceRequired: false
`

// muster runs a command of the program and returns its output.
func (h *demoHouse) muster(t *testing.T, url string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), h.path, args...)
	c.Env = append(os.Environ(), "MUSTER_ENDPOINT="+url)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Fatalf("muster %s: %v\n%s", strings.Join(args, " "), err, &out)
	}
	return out.String()
}

// local starts a server with nothing on it, until the test ends.
func (h *demoHouse) local(t *testing.T) *node.Process {
	t.Helper()
	return node.Serve(t, h.path, "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo=false")
}

// write writes the file of a set-up, and beside it the folder dist with the demo game. It returns
// the paths of both.
func (h *demoHouse) write(t *testing.T, text string) (file, dist string) {
	t.Helper()
	dir := t.TempDir()
	file, dist = filepath.Join(dir, "muster.yaml"), filepath.Join(dir, "dist")
	program, err := os.ReadFile(h.arena)
	if err == nil {
		err = os.Mkdir(dist, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dist, "arena"), program, 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, dist
}

// rebuilt makes the build in the folder dist another one.
func rebuilt(t *testing.T, dist string, version int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dist, "version"), fmt.Append(nil, version), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fleetNamed returns the fleet with a name, or nil.
func fleetNamed(t *testing.T, url, name string) *types.FleetAttributes {
	t.Helper()
	fleets, err := node.Client(url).DescribeFleetAttributes(t.Context(), &gamelift.DescribeFleetAttributesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fleets.FleetAttributes {
		if aws.ToString(f.Name) == name {
			return &f
		}
	}
	return nil
}

// runs checks which version of its build a fleet has.
func runs(t *testing.T, url, name, version string) {
	t.Helper()
	f := fleetNamed(t, url, name)
	if f == nil {
		t.Fatalf("there is no fleet %s", name)
	}
	made, err := node.Client(url).DescribeBuild(t.Context(), &gamelift.DescribeBuildInput{BuildId: f.BuildId})
	if err != nil {
		t.Fatal(err)
	}
	if got := aws.ToString(made.Build.Version); got != version {
		t.Errorf("fleet %s has version %q of its build, want %q", name, got, version)
	}
}

// Players are matched and play all the time: while a new build is deployed, while a canary of
// another one is promoted, and while that is rolled back. None loses a game. Then the game moves
// to another server as a bundle.
func TestDeploy_UnderLoad(t *testing.T) {
	t.Parallel()
	house := newDemoHouse(t)
	server := house.local(t)
	file, dist := house.write(t, arenaSetup)
	house.muster(t, server.URL, "apply", "-f", file, "--yes")

	over := playing(t, bots.Options{
		Server: client.Client{Endpoint: server.URL}, Via: bots.Players, Matchmaker: "four", Fleet: "arena", Game: house.arena, Players: 24, MatchSize: 4, Games: 10, For: 2 * time.Second,
		Over: 2 * time.Second, Patience: 3 * time.Minute,
	})
	deploy := func(version int, args ...string) {
		t.Helper()
		if version > 0 {
			rebuilt(t, dist, version)
			args = append(args, "-f", file, "--build-version", fmt.Sprint(version))
		}
		t.Logf("deploy %v:\n%s", args, house.muster(t, server.URL, append([]string{"deploy"}, args...)...))
	}
	deploy(2)
	runs(t, server.URL, "arena", "2")
	deploy(3, "--canary", "50%")
	runs(t, server.URL, "arena", "2")
	deploy(0, "--promote", "--fleet", "arena")
	runs(t, server.URL, "arena", "3")
	deploy(0, "--rollback", "--fleet", "arena")
	runs(t, server.URL, "arena", "2")
	if r := over(); r.Played != 24 || r.Failed != 0 || r.Lost != 0 {
		t.Errorf("got %+v, want 24 bots that played", r)
	}
	if events := house.muster(t, server.URL, "events", "--last", "2000"); strings.Contains(events, "SERVER_PROCESS_FORCE_TERMINATED") || strings.Contains(events, "SERVER_PROCESS_CRASHED") {
		t.Errorf("a process did not end by itself:\n%s", events)
	}

	bundle := filepath.Join(filepath.Dir(file), "game.zip")
	house.muster(t, server.URL, "export", "--bundle", bundle)
	second := house.local(t)
	house.muster(t, second.URL, "apply", "-f", bundle, "--yes")
	house.muster(t, second.URL, "apply", "-f", bundle, "--drift")
	exported := func(url string) string {
		t.Helper()
		house.muster(t, url, "export", "--out", file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if first, other := exported(server.URL), exported(second.URL); first != other || strings.Contains(first, "(previous)") {
		t.Errorf("the first server exports\n%s\nand the second\n%s", first, other)
	}
}
