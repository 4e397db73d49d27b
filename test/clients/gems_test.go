package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// checked are the flags of programs of the C++ library that must not misuse memory. Engines build
// without exceptions and RTTI, which one of the sanitizer's checks would need.
const checked = "-g1 -fno-exceptions -fno-rtti -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -Wall -Wextra -Werror -I{source}/include -I{source}/sample"

// Players and game servers by the names of the gems of O3DE and Lumberyard play with each other,
// on a server that checks their signatures: with keys, without, and by both gems. The samples,
// which are a client and a server, play as well.
func TestGems(t *testing.T) {
	path, programs := node.Path(t), checkedPrograms(t)
	data, players := t.TempDir(), filepath.Join(t.TempDir(), "players.yaml")
	offered := "matchmakers: [{name: o3de, attributes: [{name: skill, from: client, type: number}]}]\npools: [{name: o3de, can_create: true, can_list: true}]\n"
	if err := os.WriteFile(players, []byte(offered), 0o600); err != nil {
		t.Fatal(err)
	}
	server := node.Serve(t, path, "serve", "--listen", "127.0.0.1:0", "--data", data, "--players-file", players, "--log-level", "warn")
	key := node.FirstKey(t, data)
	s := &gemStage{programs: programs, aws: node.ClientAs(server.URL, key.AccessKeyID, key.SecretAccessKey)}
	s.env = append(os.Environ(), "AWS_ENDPOINT_URL="+server.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID="+key.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+key.SecretAccessKey)
	t.Run("O3DE", func(t *testing.T) {
		t.Parallel()
		fleet, alias, location := s.host(t, "o3de", "o3de_server")
		s.play(t, "gems", "keys", fleet, alias, location, "o3de", "o3de")
		s.play(t, "gems", "player", server.URL, "o3de", "o3de")
		if text := s.play(t, "o3de_client", "o3de"); !strings.HasSuffix(text, "server: players 1\nserver: hello\n") {
			t.Errorf("the sample printed %q", text)
		}
	})
	t.Run("the page", func(t *testing.T) {
		t.Parallel()
		s.follow(t, path)
	})
	t.Run("GridMate", func(t *testing.T) {
		t.Parallel()
		fleet, alias, location := s.host(t, "gridmate", "gridmate_server")
		s.play(t, "gems", "gridmate", fleet, alias, location, "gridmate", "gridmate")
	})
}

// checkedPrograms builds the samples and the test's programs, and returns their folder. The library
// is compiled once for all.
func checkedPrograms(t *testing.T) string {
	t.Helper()
	r := cpp("")
	r.available(t)
	out := t.TempDir()
	build := r.expand(t, strings.Fields("g++ -std=c++17 "+checked), out)
	var all sync.WaitGroup
	limit := make(chan struct{}, 2) // compilers at a time, for their memory
	for _, source := range r.expand(t, []string{"{source}/src/*.cpp"}, out) {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if err := run(t, append(slices.Clip(build), "-c", source, "-o", filepath.Join(out, filepath.Base(source)+".o"))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, program := range r.expand(t, []string{"{source}/sample/o3de_*.cpp", "testdata/gems/*.cpp"}, out) {
		name := strings.TrimSuffix(filepath.Base(program), ".cpp")
		link := r.expand(t, []string{program, "{out}/*.o", "-o", "{out}/" + name, "-lcurl", "-pthread"}, out)
		if err := run(t, append(slices.Clip(build), link...)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// gemStage is a server with the programs of the gems' names.
type gemStage struct {
	programs string // their folder
	aws      *gamelift.Client
	env      []string // of clients
}

// host makes a fleet of a game server program, with an alias, a queue and a matchmaker of a name.
// Until the test ends, three of its processes run.
func (s *gemStage) host(t *testing.T, name, program string) (fleet, alias, location string) {
	t.Helper()
	place := node.NewPlace(t, s.aws)
	made, err := s.aws.CreateAlias(t.Context(), &gamelift.CreateAliasInput{
		Name: &name, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &place.FleetID},
	})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := s.aws.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: &name, TimeoutInSeconds: aws.Int32(60), Destinations: []types.GameSessionQueueDestination{{DestinationArn: made.Alias.AliasArn}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rules := &matchmaker{Teams: []int{1, 1}, SkillGap: 10, Acceptance: 30, Backfill: 1}
	if name == "gridmate" {
		rules.SkillGap = 0 // its players have no attributes
	}
	if err := addMatchmaker(t.Context(), s.aws, name, rules, *queue.GameSessionQueue.GameSessionQueueArn); err != nil {
		t.Fatal(err)
	}
	manual := &gamelift.UpdateMatchmakingConfigurationInput{Name: &name, BackfillMode: types.BackfillModeManual}
	if _, err := s.aws.UpdateMatchmakingConfiguration(t.Context(), manual); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "GAMELIFT_SDK_WEBSOCKET_URL="+place.Endpoint, "GAMELIFT_SDK_AUTH_TOKEN="+place.Token,
		"GAMELIFT_SDK_FLEET_ID="+place.FleetID, "GAMELIFT_SDK_HOST_ID="+place.ComputeName)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	for range 3 {
		running.Go(func() { s.keepRunning(ctx, t, filepath.Join(s.programs, program), env) })
	}
	return place.FleetID, *made.Alias.AliasId, place.Location
}

// follow does what docs/o3de.md says, with the samples as they are built here.
func (s *gemStage) follow(t *testing.T, path string) {
	var commands []string
	for _, block := range document.Blocks(t, "docs/o3de.md") {
		commands = append(commands, strings.Split(strings.TrimSpace(block.Text), "\n")...)
	}
	want := []string{
		"g++ -std=c++17 -Iclients/cpp/include -o server clients/cpp/src/*.cpp clients/cpp/sample/o3de_server.cpp -lcurl -pthread", "bin/muster local --exec ./server",
		"g++ -std=c++17 -Iclients/cpp/include -o client clients/cpp/src/*.cpp clients/cpp/sample/o3de_client.cpp -lcurl -pthread",
		"export AWS_ENDPOINT_URL=http://127.0.0.1:9080", "./client exec", "./client exec exec & ./client exec exec",
	}
	if !slices.Equal(commands, want) {
		t.Fatalf("the page has %q, and this test does %q", commands, want)
	}
	server := node.Serve(t, path, "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo=false", "--log-level", "warn", "--exec", filepath.Join(s.programs, "o3de_server"))
	local := &gemStage{programs: s.programs, env: append(os.Environ(), "AWS_ENDPOINT_URL="+server.URL)}
	local.play(t, "o3de_client", "exec")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if text := local.play(t, "o3de_client", "exec", "exec"); !strings.HasSuffix(text, "server: players 2\nserver: hello\n") {
				t.Errorf("the sample, matched, printed %q", text)
			}
		})
	}
	both.Wait()
}

// keepRunning runs a game server program again and again; each run hosts one game session, and is
// to end with code 0.
func (s *gemStage) keepRunning(ctx context.Context, t *testing.T, path string, env []string) {
	for ctx.Err() == nil {
		var output syncBuffer
		cmd := exec.CommandContext(ctx, path)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &output, &output
		if err := cmd.Run(); err != nil && ctx.Err() == nil {
			t.Errorf("a game server: %v\n%s", err, output.String())
			return
		}
	}
}

// play runs a client program and returns what it prints, which must not name anything that does
// not hold.
func (s *gemStage) play(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, program), args...)
	cmd.Env = s.env
	var output, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &errors
	if err := cmd.Run(); err != nil || strings.Contains("\n"+output.String(), "\nnot ok") {
		t.Errorf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, output.String(), errors.String())
	}
	return output.String()
}
