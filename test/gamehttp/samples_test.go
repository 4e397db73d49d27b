package gamehttp

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// sample returns the game server of docs/game-servers.md in a language: the code block that
// calls ready.
func sample(t testing.TB, language string) string {
	t.Helper()
	return document.Find(t, "docs/game-servers.md", language, "/ready").Text
}

// program returns the path of a program, or skips the test.
func program(t testing.TB, name, where string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing (Debian package %s)", name, where)
	}
	return path
}

// game is a game server of a sample, run by `muster local`.
type game struct {
	t      *testing.T
	dir    string
	args   []string
	server *node.Process
	seen   *node.Events
	client *gamelift.Client
}

// start runs a sample as a file, by an interpreter with arguments before the file.
func start(t *testing.T, text, file string, interpreter ...string) *game {
	t.Helper()
	return startWith(t, nil, text, file, interpreter...)
}

// startWith is start with flags of `muster local`.
func startWith(t *testing.T, flags []string, text, file string, interpreter ...string) *game {
	t.Helper()
	g := &game{t: t, dir: t.TempDir()}
	path := filepath.Join(g.dir, file)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	// The program runs in the server's working directory.
	script := filepath.Join(g.dir, "run")
	run := fmt.Sprintf("#!/bin/sh\ncd '%s' && %s '%s'\n", g.dir, strings.Join(interpreter, " "), path)
	if err := os.WriteFile(script, []byte(run), 0o755); err != nil {
		t.Fatal(err)
	}
	g.args = append([]string{"local", "--demo=false", "--data", t.TempDir(), "--listen", node.Reserve(t), "--exec", script, "--log-level", "warn"}, flags...)
	g.open()
	g.seen, g.client = node.Follow(t, g.server.URL), node.Client(g.server.URL)
	return g
}

func (g *game) open() {
	g.t.Helper()
	g.server = node.Serve(g.t, node.Path(g.t), g.args...)
}

// host waits for a process that is ready, and has it host a game session.
func (g *game) host() *types.GameSession {
	g.t.Helper()
	ready := g.seen.Code(g.t, "SERVER_PROCESS_ACTIVE")
	place := &node.Place{Client: g.client, FleetID: ready.FleetID, Location: "custom-local"}
	made, err := place.Create(g.t.Context(), 2, func(in *gamelift.CreateGameSessionInput) { in.Name = aws.String("friday") })
	if err != nil {
		g.t.Fatal(err)
	}
	g.seen.Code(g.t, "GAME_SESSION_ACTIVATED")
	return made
}

// reserve creates a player session.
func (g *game) reserve(s *types.GameSession, playerID string) string {
	g.t.Helper()
	made, err := g.client.CreatePlayerSession(g.t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: s.GameSessionId, PlayerId: &playerID})
	if err != nil {
		g.t.Fatal(err)
	}
	return *made.PlayerSession.PlayerSessionId
}

// is checks the status of a player session, and waits until it is as wanted.
func (g *game) is(id string, want types.PlayerSessionStatus) {
	g.t.Helper()
	g.until("player session "+id+" is "+string(want), func() bool {
		found, err := g.client.DescribePlayerSessions(g.t.Context(), &gamelift.DescribePlayerSessionsInput{PlayerSessionId: &id})
		if err != nil {
			g.t.Fatal(err)
		}
		return len(found.PlayerSessions) == 1 && found.PlayerSessions[0].Status == want
	})
}

// until waits for a condition that no event announces.
func (g *game) until(what string, is func() bool) {
	g.t.Helper()
	wait.Until(g.t, what, is)
}

// player is a connection to a game session.
type player struct {
	t testing.TB
	net.Conn
	lines *bufio.Reader
}

func (g *game) connect(s *types.GameSession) *player {
	g.t.Helper()
	var conn net.Conn
	g.until("the game listens", func() (is bool) { // a program that each game session starts may not yet
		var err error
		conn, err = net.Dial("tcp", net.JoinHostPort(*s.IpAddress, fmt.Sprint(*s.Port)))
		return err == nil
	})
	g.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		g.t.Fatal(err)
	}
	return &player{g.t, conn, bufio.NewReader(conn)}
}

// say sends a line and returns the one that comes back.
func (p *player) say(line string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p, line); err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("after %q: %v", line, err)
	}
	return strings.TrimSpace(answer)
}

// life plays a whole life: two players come, one presents the other's player session, both
// leave, and the process ends and is replaced by another.
func (g *game) life() {
	g.t.Helper()
	s := g.host()
	ann, ben := g.reserve(s, "ann"), g.reserve(s, "ben")
	var first *player
	var told string
	g.until("the game is ready", func() bool { // a program that each game session starts may listen before it is
		first = g.connect(s)
		told = first.say(ann)
		return told != "refused: not-ready"
	})
	if told != "welcome ann" {
		g.t.Errorf("ann is told %q", told)
	}
	second := g.connect(s)
	g.is(ann, types.PlayerSessionStatusActive)
	if got := g.connect(s).say(ann); got != "refused: player-refused" {
		g.t.Errorf("who presents ann's player session too is told %q", got)
	}
	if got := g.connect(s).say("psess-invented"); got != "refused: player-refused" {
		g.t.Errorf("who presents an invented one is told %q", got)
	}
	if got := second.say(ben); got != "welcome ben" {
		g.t.Errorf("ben is told %q", got)
	}
	if got := second.say("hello"); got != "hello" {
		g.t.Errorf("the game answers %q", got)
	}
	first.Close()
	g.is(ann, types.PlayerSessionStatusCompleted)
	g.is(ben, types.PlayerSessionStatusActive)
	second.Close()
	if e := g.seen.Code(g.t, "SERVER_PROCESS_ENDED"); !strings.HasSuffix(*s.GameSessionId, e.GameSessionID) {
		g.t.Errorf("what ended is %+v, want the game session's process", e)
	}
	g.is(ben, types.PlayerSessionStatusCompleted)
	g.seen.Code(g.t, "SERVER_PROCESS_ACTIVE")
}

func TestSample_Python(t *testing.T) {
	t.Parallel()
	start(t, sample(t, "python"), "game.py", "exec", program(t, "python3", "python3")).life()
}

// A program that each game session starts manages itself from its first call of ready.
func TestSample_NoSDK(t *testing.T) { // alone: its port is free until a game session starts it, and others pick ports too
	startWith(t, []string{"--no-sdk"}, sample(t, "python"), "game.py", "exec", program(t, "python3", "python3")).life()
}

func TestSample_GDScript(t *testing.T) {
	t.Parallel()
	godot := program(t, "godot3-server", "godot3-server")
	start(t, sample(t, "gdscript"), "game.gd", "exec", "env", "HOME="+t.TempDir(), godot, "-s").life()
}

func TestSample_Curl(t *testing.T) {
	t.Parallel()
	program(t, "curl", "curl")
	g := start(t, sample(t, "sh"), "game.sh", "rm -f players; exec sh")
	s := g.host()
	ann := g.reserve(s, "ann")
	tell := func(line string) {
		t.Helper()
		pipe, err := os.OpenFile(filepath.Join(g.dir, "players"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		fmt.Fprintln(pipe, line)
	}
	tell("join " + ann)
	g.is(ann, types.PlayerSessionStatusActive)
	tell("leave " + ann)
	g.is(ann, types.PlayerSessionStatusCompleted)
	tell("over")
	g.seen.Code(t, "SERVER_PROCESS_ENDED")
}

// On a machine without an agent, `muster wrap --http` starts the program.
func TestSample_WrapHTTP(t *testing.T) {
	t.Parallel()
	python := program(t, "python3", "python3")
	s := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn")
	g := &game{t: t, server: s, seen: node.Follow(t, s.URL), client: node.Client(s.URL)}
	place := node.NewPlace(t, g.client)
	path := filepath.Join(t.TempDir(), "game.py")
	const reuse = "import socketserver\nsocketserver.TCPServer.allow_reuse_address = True\n" // to listen where an address is reserved
	if err := os.WriteFile(path, []byte(reuse+sample(t, "python")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(node.Reserve(t))
	if err != nil {
		t.Fatal(err)
	}
	wrap := exec.Command(node.Path(t), "wrap", "--http", "--", python, path)
	wrap.Env = append(os.Environ(), "GAMELIFT_SDK_WEBSOCKET_URL="+place.Endpoint, "GAMELIFT_SDK_AUTH_TOKEN="+place.Token, "GAMELIFT_SDK_FLEET_ID="+place.FleetID,
		"GAMELIFT_SDK_HOST_ID="+place.ComputeName, "GAMELIFT_SDK_PROCESS_ID=run-1", "GAME_PORT="+port)
	var out strings.Builder
	wrap.Stdout, wrap.Stderr = &out, &out
	if err := wrap.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- wrap.Wait() }()
	t.Cleanup(func() { wrap.Process.Kill() }) // it has ended already, unless the test failed
	g.seen.Code(t, "SERVER_PROCESS_ACTIVE")
	made, err := place.Create(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	g.seen.Code(t, "GAME_SESSION_ACTIVATED")
	ann := g.reserve(made, "ann")
	first := g.connect(made)
	if got := first.say(ann); got != "welcome ann" {
		t.Errorf("ann is told %q", got)
	}
	first.Close()
	g.seen.Code(t, "SERVER_PROCESS_ENDED")
	if err := <-ended; err != nil {
		t.Errorf("the wrapper ended with %v:\n%s", err, out.String())
	}
}

// Muster is killed and started again while players play: nobody notices, and the game
// session continues to its end.
func TestSample_SurvivesTheServer(t *testing.T) {
	t.Parallel()
	g := start(t, sample(t, "python"), "game.py", "exec", program(t, "python3", "python3"))
	s := g.host()
	ann, ben := g.reserve(s, "ann"), g.reserve(s, "ben")
	first := g.connect(s)
	if got := first.say(ann); got != "welcome ann" {
		t.Errorf("ann is told %q", got)
	}
	g.server.Kill()
	if got := first.say("alone"); got != "alone" {
		t.Errorf("the game answers %q", got)
	}
	late := g.connect(s)
	fmt.Fprintln(late, ben) // while nobody answers
	g.open()
	g.seen = node.Follow(t, g.server.URL)
	if got, err := late.lines.ReadString('\n'); got != "welcome ben\n" {
		t.Errorf("ben is told %q, %v", got, err)
	}
	g.is(ann, types.PlayerSessionStatusActive)
	g.is(ben, types.PlayerSessionStatusActive)
	first.Close()
	late.Close()
	if e := g.seen.Code(t, "SERVER_PROCESS_ENDED"); !strings.HasSuffix(*s.GameSessionId, e.GameSessionID) {
		t.Errorf("what ended is %+v, want the game session's process", e)
	}
}
