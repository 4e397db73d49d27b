package scenario

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// A server without an SDK under `muster local --exec --no-sdk`: a game session starts
// it and passes its data, and ends when it does.
func TestPlain_Local(t *testing.T) {
	t.Parallel()
	s := node.Serve(t, node.Path(t), "local", "--demo=false", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--no-sdk", "--log-level", "warn",
		"--exec", node.Compiled(t, "test/scenario/plain"), "--", "-port", "{{.GamePort}}", "-map", "{{.GameSessionData}}")
	seen, client := node.Follow(t, s.URL), node.Client(s.URL)
	place := node.Place{Client: client, FleetID: seen.Code(t, "SERVER_PROCESS_ACTIVE").FleetID, Location: "custom-local"}
	g, err := place.Create(t.Context(), 2, func(in *gamelift.CreateGameSessionInput) {
		in.Name, in.GameSessionData = aws.String("friday"), aws.String("deep winter")
	})
	if err != nil {
		t.Fatal(err)
	}
	seen.Code(t, "GAME_SESSION_ACTIVATED")
	if got, want := say(t, g, "hello"), fmt.Sprintf("-port %d -map deep winter in friday", *g.Port); got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
	say(t, g, "end")
	if e := seen.Code(t, "SERVER_PROCESS_ENDED"); !strings.HasSuffix(*g.GameSessionId, e.GameSessionID) {
		t.Errorf("what ended is %+v, want the game session's process", e)
	}
	seen.Code(t, "GAME_SESSION_TERMINATED")
}

// say sends a datagram to a game session's server, and returns the answer to "hello".
func say(t *testing.T, g *types.GameSession, word string) (answer string) {
	t.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(word)); err != nil || word != "hello" {
		return ""
	}
	buf := make([]byte, 1500)
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// A server without an SDK on a fleet: as on this machine, and the fleet's event about
// its crash has its last output. Another one waits in its place.
func TestPlain_Fleet(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(node.Compiled(t, "test/scenario/plain"))
	if err != nil {
		t.Fatal(err)
	}
	s, _, fleet, instance := hosting(t, map[string][]byte{"server": content}, "{{.NoSDK}} -port {{.GamePort}}", 1)
	g := s.create(fleet)
	if got, want := say(t, g, "hello"), fmt.Sprintf("-port %d in ", *g.Port); !strings.HasPrefix(got, want) {
		t.Errorf("the program says %q, want %q", got, want)
	}
	say(t, g, "crash")
	ended := s.seen.want(1, "the end of the game session", of(*g.GameSessionId, code("GAME_SESSION_TERMINATED", 0)))
	if text := s.told(fleet, types.EventCodeServerProcessCrashed); !strings.Contains(text, "code 5") || !strings.Contains(text, "the map fell apart") {
		t.Errorf("the fleet's event says %q, want the exit code and its last words", text)
	}
	s.seen.want(1, "another process", on(instance, code("SERVER_PROCESS_ACTIVE", ended.Seq)))
}

// The players of a server without an SDK on a fleet are counted by its query, at a port of its own,
// from inside of its isolation. The agent takes that port from the range for its name.
func TestPlain_Query(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(node.Compiled(t, "test/bare/game"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, append([]string{"--named-ports", "query=27015-27114", "--named-ports", "rcon=28000-28099"}, small...)...)
	fleet := s.fleet(s.build(map[string][]byte{"server": content}),
		`{{.NoSDK query=a2s:query stop-line=bye ready-line="map is loaded"}} -port {{.GamePort}} -query {{.Port.query}}`, 1)
	s.instance(m, 1, 0)
	g := s.create(fleet)
	if !slices.ContainsFunc(m.games(), func(pid int) bool {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // of one that has ended it is empty
		_, after, _ := strings.Cut(string(args), "-query\x00")
		port, _ := strconv.Atoi(strings.Split(after, "\x00")[0])
		return port >= 27015 && port <= 27114
	}) {
		t.Error("no program has a port from the range called query")
	}
	for range 2 {
		say(t, g, "join")
	}
	wait.For(t, "two players are counted", func() error {
		out, err := s.client.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: g.GameSessionId})
		if err == nil && *out.GameSessions[0].CurrentPlayerSessionCount != 2 {
			err = fmt.Errorf("there are %d", *out.GameSessions[0].CurrentPlayerSessionCount)
		}
		return err
	})
}

// A build without an SDK passes a preflight that plays a game session with it; a
// build that ends immediately does not.
func TestPlain_Preflight(t *testing.T) {
	t.Parallel()
	build := filepath.Dir(node.Compiled(t, "test/scenario/plain"))
	try := func(parameters string) (string, error) {
		out, err := exec.Command(node.Path(t), "preflight", build, "--launch-path", "/local/game/plain", "--parameters", "{{.NoSDK}} "+parameters).CombinedOutput()
		return string(out), err
	}
	if out, err := try("-port {{.GamePort}}"); err != nil || !strings.Contains(out, "plain: open") || !strings.Contains(out, "ActivateGameSession") {
		t.Errorf("a build that works ends with %v:\n%s", err, out)
	}
	out, err := try("")
	for _, want := range []string{"no -port is given", "exited with code 5", "SERVER_PROCESS_CRASHED"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("a build that ends at once ends with %v and without %q:\n%s", err, want, out)
		}
	}
	if strings.Contains(out, "ActivateGameSession") {
		t.Errorf("its game session was activated:\n%s", out)
	}
}
