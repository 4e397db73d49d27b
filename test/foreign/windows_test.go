package foreign

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// windows is an installation of Wine for one test.
type windows struct {
	t   *testing.T
	env []string
}

func newWindows(t *testing.T) *windows {
	t.Helper()
	emulator(t, "wine", "wine64")
	w := &windows{t: t, env: append(os.Environ(), "WINEPREFIX="+t.TempDir(), "TMPDIR="+t.TempDir(), "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=")}
	w.run("wineboot", "--init")
	system := filepath.Join(w.folder(), "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(system); err != nil { // before Wine 9
		if err := os.WriteFile(system, forwarding("bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { w.run("wineboot", "--kill") }) // its own processes, which wait for more programs
	return w
}

// folder returns where drive C is.
func (w *windows) folder() string {
	for _, variable := range w.env {
		if prefix, ok := strings.CutPrefix(variable, "WINEPREFIX="); ok {
			return filepath.Join(prefix, "drive_c")
		}
	}
	return ""
}

func (w *windows) command(args ...string) *exec.Cmd {
	cmd := exec.Command("wine", args...)
	cmd.Env = w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (w *windows) run(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("wine %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The agent for Windows joins a server, downloads a build for Windows and runs its game server,
// on which a player plays. The server and the player are this machine's.
func TestWindows(t *testing.T) {
	muster, arena := program(t, "MUSTER_EXE"), program(t, "ARENA_EXE")
	w := newWindows(t)
	if out := w.run(muster, "--version"); !strings.Contains(out, "windows/amd64") {
		t.Errorf("the program says that it is %q", out)
	}
	server := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir())
	c := node.Client(server.URL)
	if _, err := c.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: aws.String(location)}); err != nil {
		t.Fatal(err)
	}
	seen := node.Follow(t, server.URL)
	w.join(server.URL, muster)
	seen.Code(t, "HOST_CONNECTED")
	fleet := hosted(t, server.URL, c, arena)
	seen.Code(t, "FLEET_STATE_ACTIVATING") // its build is installed
	runs := seen.Until(t, "game server", func(e node.Event) bool {
		return e.Code == "SERVER_PROCESS_ACTIVE" || e.Code == "SERVER_PROCESS_CRASHED"
	})
	if strings.Contains(runs.Message, "listen udp4") && strings.Contains(runs.Message, "wsaioctl") {
		t.Skipf("the agent has joined and installed the build; but this Wine lets no program of Go open a UDP socket, so no game server runs: %s", runs.Message)
	}
	if runs.Code != "SERVER_PROCESS_ACTIVE" {
		t.Fatalf("the game server does not run: %s", runs.Message)
	}
	play(t, c, fleet)
	seen.Code(t, "GAME_SESSION_TERMINATED")
}

const location = "custom-windows"

// join starts the agent, which ends with the test.
func (w *windows) join(server, muster string) {
	w.t.Helper()
	operator := &client.Client{Endpoint: server, Credentials: client.Credentials{AccessKeyID: "AKIDANY", SecretAccessKey: "secret"}}
	token, err := operator.CreateJoinToken(w.t.Context(), client.JoinTokenInput{Location: location})
	if err != nil {
		w.t.Fatal(err)
	}
	var log strings.Builder
	agent := w.command(muster, "agent", "--endpoint", server, "--root", `C:\agent`, "--ports", "24000-24099", "--cpu", "2", "--memory", "4096", "--engine", "none", "--no-legacy-sdk")
	agent.Env = append(agent.Env, "MUSTER_TOKEN="+token.Token)
	agent.Stdout, agent.Stderr = &log, &log
	if err := agent.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		for _, name := range []string{filepath.Base(muster), launched} { // Windows has no signal that asks them
			_ = w.command("taskkill", "/f", "/im", name).Run() // fails if there is none
		}
		_ = agent.Wait() // it was killed
		if w.t.Failed() {
			w.t.Logf("the agent printed:\n%s", &log)
		}
	})
}

// launched is the name of the game server's program.
const launched = "server.exe"

// hosted creates a fleet of a build for Windows, whose server is the program at a path.
func hosted(t *testing.T, url string, c *gamelift.Client, program string) (fleetID string) {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	build, err := node.Upload(t.Context(), url, c, map[string][]byte{launched: text}, func(in *gamelift.CreateBuildInput) {
		in.OperatingSystem = types.OperatingSystemWindows2022
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateFleet(t.Context(), &gamelift.CreateFleetInput{
		Name: aws.String("windows"), BuildId: &build, EC2InstanceType: types.EC2InstanceTypeC5Large,
		Locations: []types.LocationConfiguration{{Location: aws.String(location)}},
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{
			LaunchPath: aws.String(`C:\game\` + launched), Parameters: aws.String("server -port {{.GamePort}} -wait 30m"), ConcurrentExecutions: aws.Int32(1),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made.FleetAttributes.FleetId
}

// play has a player play for a second, on a game session of its own.
func play(t *testing.T, c *gamelift.Client, fleetID string) {
	t.Helper()
	player, err := bots.StartProgram(t.Context(), node.Arena(t))
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	game, err := c.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: &fleetID, Location: aws.String(location), MaximumPlayerSessionCount: aws.Int32(2)})
	if err != nil {
		t.Fatal(err)
	}
	var place *gamelift.CreatePlayerSessionOutput
	for place == nil { // until the game server has activated it
		place, err = c.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: game.GameSession.GameSessionId, PlayerId: aws.String("anna")})
		if not := (*types.InvalidGameSessionStatusException)(nil); err != nil && !errors.As(err, &not) {
			t.Fatal(err)
		}
	}
	heard := 0
	ending, reason, err := player.Play(t.Context(), bots.Game{
		Address: net.JoinHostPort(*place.PlayerSession.IpAddress, fmt.Sprint(*place.PlayerSession.Port)), PlayerSessionID: *place.PlayerSession.PlayerSessionId,
		For: time.Second, Progress: func(n int) { heard = n },
	})
	if err != nil || ending != bots.Played || heard == 0 {
		t.Errorf("the player's game is %s (%s) after %d snapshots: %v", ending, reason, heard, err)
	}
}
