package console

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/bots"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// demo is `muster local` with a live game: bots play, some players and placements wait in
// vain, and a game server has crashed.
type demo struct {
	server *node.Process
	aws    *gamelift.Client
	args   []string // to start it again
}

func newDemo(t *testing.T) *demo {
	t.Helper()
	d := startDemo(t)
	d.crash(t)
	d.waitInVain(t)
	d.play(t)
	return d
}

// demoProcesses is how many game servers the demo's fleet has.
const demoProcesses = 6

// startDemo starts a server with the demo's fleet, in which nobody plays.
func startDemo(t *testing.T) *demo {
	t.Helper()
	path := node.Path(t)
	d := &demo{args: []string{"local", "--data", t.TempDir(), "--demo-server", node.Arena(t), "--demo-processes", fmt.Sprint(demoProcesses), "--demo-players", "0", "--log-level", "warn"}}
	d.start(t, path, "127.0.0.1:0")
	d.aws = node.Client(d.server.URL)
	return d
}

func (d *demo) start(t *testing.T, path, listen string) {
	t.Helper()
	d.server = node.Serve(t, path, append(d.args, "--listen", listen)...)
}

// play lets bots play one game after the other until the test ends, through the player API
// and a matchmaker, and returns when some have played. end sends them away.
func (d *demo) play(t *testing.T) (end func()) {
	t.Helper()
	events := node.FollowNew(t, d.server.URL)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		_, err := bots.Run(ctx, bots.Options{
			Server: client.Client{Endpoint: d.server.URL}, Fleet: "demo", Game: node.Arena(t), Players: 16, MatchSize: 4, Games: 1000, For: 8 * time.Second, Over: 6 * time.Second,
		})
		over <- err
	}()
	end = sync.OnceFunc(func() { cancel(); <-over })
	t.Cleanup(end)
	events.Until(t, "game that is over", func(e node.Event) bool {
		select {
		case err := <-over:
			over <- err
			t.Fatalf("the bots are gone: %v", err)
		default:
		}
		return e.Code == "GAME_SESSION_TERMINATED"
	})
	return end
}

// duels is a match of two players of like skill; the rule relaxes slowly.
const duels = `{"name": "duels", "ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
	"teams": [{"name": "one", "minPlayers": 1, "maxPlayers": 1}, {"name": "other", "minPlayers": 1, "maxPlayers": 1}],
	"rules": [{"name": "FairSkill", "type": "distance", "measurements": ["avg(teams[*].players.attributes[skill])"], "referenceValue": 500, "maxDistance": 50}],
	"expansions": [{"target": "rules[FairSkill].maxDistance", "steps": [{"waitTimeSeconds": 250, "value": 100}]}]}`

// waitInVain lets players wait whose skills are far apart, and placements for which there is
// no game server.
func (d *demo) waitInVain(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	node.Matchmaker(t, d.aws, "duels", duels)
	for ticket, skill := range map[string]float64{"lonely": 20, "apart": 900, "close": 880} {
		_, err := d.aws.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{ConfigurationName: aws.String("duels"), TicketId: aws.String(ticket), Players: []types.Player{
			{PlayerId: aws.String("p-" + ticket), PlayerAttributes: map[string]types.AttributeValue{"skill": {N: aws.Float64(skill)}}},
		}})
		must(err)
	}
	_, err := d.aws.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: aws.String("custom-crowded")})
	must(err)
	fleet, err := d.aws.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("crowded"), ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: aws.String("custom-crowded")}},
	})
	must(err)
	_, err = d.aws.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("crowded"), TimeoutInSeconds: aws.Int32(600), Destinations: []types.GameSessionQueueDestination{{DestinationArn: fleet.FleetAttributes.FleetArn}},
		PlayerLatencyPolicies: []types.PlayerLatencyPolicy{{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(80), PolicyDurationSeconds: aws.Int32(300)}, {MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(400)}},
	})
	must(err)
	for i, latency := range []float32{31, 112, 45} {
		player := fmt.Sprintf("p-%d", i+1)
		_, err = d.aws.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
			GameSessionQueueName: aws.String("crowded"), PlacementId: aws.String(fmt.Sprintf("waits-%d", i+1)), MaximumPlayerSessionCount: aws.Int32(4), GameSessionName: aws.String("a game that waits"),
			DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: &player}},
			PlayerLatencies:       []types.PlayerLatency{{PlayerId: &player, RegionIdentifier: aws.String("custom-crowded"), LatencyInMilliseconds: aws.Float32(latency)}},
		})
		must(err)
	}
	_, err = d.aws.StopGameSessionPlacement(ctx, &gamelift.StopGameSessionPlacementInput{PlacementId: aws.String("waits-3")})
	must(err)
}

// crash kills one of the demo's game servers before anybody plays, and returns when that is
// known.
func (d *demo) crash(t *testing.T) {
	t.Helper()
	events := node.Follow(t, d.server.URL)
	for range demoProcesses { // one that has not connected yet would be no crash
		events.Code(t, "SERVER_PROCESS_ACTIVE")
	}
	for _, pid := range children(t, d.server.PID()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // of a process that has ended: none
		if !strings.Contains(string(line), "\x00server\x00") {
			continue // the demo's page
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			events.Until(t, "crash", func(e node.Event) bool { return e.Code == "SERVER_PROCESS_CRASHED" })
			return
		}
	}
	t.Fatal("the demo has no game server to crash")
}

// children returns the processes that a process has started.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range strings.Fields(string(text)) {
			var pid int
			if _, err := fmt.Sscan(field, &pid); err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}
