package containers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// join has a bot play for a while in a game session. The returned function waits for its end,
// and fails the test unless the bot was let in and heard the game to the last.
func join(t testing.TB, program string, c *gamelift.Client, g *types.GameSession, lasts time.Duration) (end func()) {
	t.Helper()
	in := &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String(fmt.Sprint("player-", time.Now().UnixNano()))}
	made := wait.Value(t, "the process is back", func() (*gamelift.CreatePlayerSessionOutput, error) {
		made, err := c.CreatePlayerSession(t.Context(), in)
		if err != nil && !strings.Contains(err.Error(), "is away") { // its connection is made again
			t.Fatal(err)
		}
		return made, err
	})
	address := net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port))
	bot := exec.Command(program, "bot", "--addr", address, "--player-session", *made.PlayerSession.PlayerSessionId, "--for", lasts.String(), "--json")
	var out bytes.Buffer
	bot.Stdout, bot.Stderr = &out, &out
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		var result struct {
			Ending    string
			Snapshots int
		}
		if err := bot.Wait(); err != nil || json.Unmarshal(out.Bytes(), &result) != nil || result.Ending != "left" || result.Snapshots == 0 {
			t.Fatalf("the player at %s: %v\n%s", address, err, &out)
		}
	}
}

// play has a bot play for two seconds.
func play(t testing.TB, program string, c *gamelift.Client, g *types.GameSession) {
	t.Helper()
	join(t, program, c, g, 2*time.Second)()
}

// session creates a game session, when a process is free, and returns it when it is ACTIVE.
func session(t testing.TB, c *gamelift.Client, in gamelift.CreateGameSessionInput) *types.GameSession {
	t.Helper()
	made := wait.Value(t, "a process is free", func() (*gamelift.CreateGameSessionOutput, error) {
		made, err := c.CreateGameSession(t.Context(), &in)
		if err != nil && !strings.Contains(err.Error(), "FleetCapacityExceeded") && !strings.Contains(err.Error(), "InvalidFleetStatus") {
			t.Fatal(err)
		}
		return made, err
	})
	return active(t, c, *made.GameSession.GameSessionId)
}

func active(t testing.TB, c *gamelift.Client, id string) *types.GameSession {
	t.Helper()
	return wait.Value(t, "the game session is ACTIVE", func() (*types.GameSession, error) {
		found, err := c.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: &id})
		if err != nil {
			t.Fatal(err)
		}
		g := found.GameSessions[0]
		switch g.Status {
		case types.GameSessionStatusActive:
			return &g, nil
		case types.GameSessionStatusActivating:
			return nil, errors.New("it is ACTIVATING")
		}
		t.Fatalf("the game session is %s", g.Status)
		return nil, nil
	})
}

// An image of this machine is hosted by `muster local --image`: a player plays in it, its
// crash is reported and it is started again, and nothing of it is left at the end.
func TestLocal_Image(t *testing.T) {
	d := startDocker(t)
	program := static(t, "examples/arena")
	d.image("arena:dev", program, "/arena", "server", "--port", "7777")
	s := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn", "--engine", d.Host, "--image", "arena:dev", "--port", "7777/udp")
	seen, c := node.Follow(t, s.URL), node.Client(s.URL)
	ready := seen.Code(t, "SERVER_PROCESS_ACTIVE")
	in := gamelift.CreateGameSessionInput{FleetId: &ready.FleetID, Location: aws.String("custom-local"), MaximumPlayerSessionCount: aws.Int32(4)}
	played := session(t, c, in)
	play(t, program, c, played)

	seen.Code(t, "SERVER_PROCESS_ENDED") // after its game
	var missing *types.NotFoundException
	wait.For(t, "the log of its process is stored", func() error {
		_, err := c.GetGameSessionLogUrl(t.Context(), &gamelift.GetGameSessionLogUrlInput{GameSessionId: played.GameSessionId})
		if err != nil && !errors.As(err, &missing) {
			t.Fatal(err)
		}
		return err
	})
	out, err := exec.Command(node.Path(t), "sessions", "logs", *played.GameSessionId, "--endpoint", s.URL).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the game server ends") {
		t.Errorf("the log that is stored: %v\n%s", err, out)
	}
	ready = seen.Code(t, "SERVER_PROCESS_ACTIVE")
	wait.Until(t, "one container runs", func() bool { return len(d.running()) == 1 }) // the engine says so after the game server has
	d.run("kill", d.running()[0])
	if e := seen.Code(t, "SERVER_PROCESS_CRASHED"); !strings.Contains(e.Message, "SIGKILL") && !strings.Contains(e.Message, "137") {
		t.Errorf("of the crash is told %q", e.Message)
	}
	if next := seen.Code(t, "SERVER_PROCESS_ACTIVE"); next.ProcessID == ready.ProcessID {
		t.Error("the killed process is ACTIVE again")
	}
	play(t, program, c, session(t, c, in))
	if err := s.Stop(); err != nil {
		t.Errorf("it ends with %v\n%s", err, s.Log())
	}
	if left := d.run("ps", "--all", "--quiet"); left != "" {
		t.Errorf("containers are left: %s", left)
	}
	if !strings.Contains(s.Log(), "Your game server arena:dev runs on fleet") {
		t.Errorf("it says:\n%s", s.Log())
	}
}

// AWS's Server SDK finds the containers of its instance at the agent's endpoint.
func TestLocal_Neighbors(t *testing.T) {
	d := startDocker(t)
	d.image("neighbors:dev", static(t, "test/serversdk/neighbors"), "/neighbors")
	s := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn", "--engine", d.Host, "--image", "neighbors:dev")
	node.Follow(t, s.URL).Code(t, "SERVER_PROCESS_ACTIVE")
	wait.Until(t, "a container runs", func() bool { return len(d.running()) > 0 }) // the engine says so after the game server has
	id := d.running()[0]
	address := d.run("inspect", "--format", "{{.NetworkSettings.IPAddress}}", id)
	want := fmt.Sprintf("neighbor game GAME_SERVER %s %s", address, id)
	if address == "" {
		t.Fatalf("container %s has no address", id)
	}
	wait.For(t, fmt.Sprintf("the SDK says %q", want), func() error {
		if log := s.Log(); !strings.Contains(log, want) {
			return fmt.Errorf("the log is\n%s", log)
		}
		return nil
	})
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// Without an engine, `muster local --image` says what to install.
func TestLocal_NoEngine(t *testing.T) {
	t.Parallel()
	_, err := node.Run(node.Path(t), "local", "--demo=false", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--engine", "unix://"+t.TempDir()+"/none.sock", "--image", "arena:dev")
	if err == nil || !strings.Contains(err.Error(), "apt-get install docker.io") {
		t.Errorf("it says: %v", err)
	}
}
