//go:build unix

package app_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/cli/client"
)

// freePorts returns ports on which old SDKs connect in a test.
func freePorts(t *testing.T) legacy.Ports {
	t.Helper()
	var ports [3]int
	for n := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[n] = l.Addr().(*net.TCPAddr).Port
	}
	return legacy.Ports{SocketIO: ports[0], HTTP: ports[1], WebSocket: ports[2]}
}

// oldGame returns a program that is a game server with an old SDK, started by a script: the
// process that connects is a child of the one that the agent starts.
func oldGame(t *testing.T, form string, p legacy.Ports) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "game")
	script := fmt.Sprintf("#!/bin/sh\n%s=legacy '%s' %s %d,%d,%d \"$GAME_PORT\" &\ntrap 'kill $!' TERM\nwait $!\nexit $?\n", playVariable, self, form, p.SocketIO, p.HTTP, p.WebSocket)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// directed is a game server that a test directs.
type directed struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func direct(t *testing.T, port int) *directed {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &directed{t, c, bufio.NewReader(c)}
}

func (d *directed) say(line string) string {
	d.t.Helper()
	fmt.Fprintln(d.c, line)
	d.c.SetReadDeadline(time.Now().Add(time.Minute))
	answer, err := d.r.ReadString('\n')
	if err != nil {
		d.t.Fatalf("%s: %v", line, err)
	}
	return strings.TrimSuffix(answer, "\n")
}

// call makes a request, which succeeds or not, and returns its answer.
func (d *directed) call(want bool, name string, body message) (answer map[string]any) {
	d.t.Helper()
	text := d.say("call " + name + " " + hex.EncodeToString(body))
	ok, rest, _ := strings.Cut(text, " ")
	if ok != fmt.Sprint(want) {
		d.t.Errorf("%s: %s, want %v", name, text, want)
	}
	if err := json.Unmarshal([]byte(rest), &answer); err != nil {
		d.t.Errorf("%s: the answer %s is no JSON", name, rest)
	}
	if status := answer["status"]; !want && status != "ERROR_400" {
		d.t.Errorf("%s: the status is %v, want ERROR_400", name, status)
	}
	return answer
}

// pushed waits for a push.
func (d *directed) pushed(name string, n int) map[string]any {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		var all []map[string]any
		if err := json.Unmarshal([]byte(d.say("pushes")), &all); err != nil {
			d.t.Fatal(err)
		}
		left := n
		for _, p := range all {
			if p["push"] == name {
				if left--; left == 0 {
					return p
				}
			}
		}
	}
	d.t.Fatalf("there was no %s", name)
	return nil
}

// TestLegacy plays the whole life of game servers with Server SDK 3 and 4, in each form in
// which these SDKs speak.
func TestLegacy(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"cpp", "csharp", "node", "java", "csharp4"} {
		t.Run(form, func(t *testing.T) { playOld(t, form) })
	}
}

func playOld(t *testing.T, form string) {
	ports, out := freePorts(t), newScreen()
	o := options(t, func(o *app.Options) {
		o.Out, o.Host = out, &host.Options{Legacy: &ports, Exec: &host.Program{Path: oldGame(t, form, ports), Dir: t.TempDir()}}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ends with %v", err)
		}
		if t.Failed() {
			t.Logf("the output was:\n%s", out)
		}
	})
	base := out.await(t, "ready ")
	first := events(t, base, "SERVER_PROCESS_ACTIVE", 1, 0)
	c := &client.Client{Endpoint: base}
	made := createWhenFree(t, base, map[string]any{
		"FleetId": first.FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 4, "Name": "friday",
		"GameProperties": []map[string]any{{"Key": "map", "Value": "dust"}},
	})
	active := events(t, base, "GAME_SESSION_ACTIVATED", 1, 0)
	g := direct(t, made.Port)
	start := g.pushed("StartGameSession", 1)["gameSession"].(map[string]any)
	for member, want := range map[string]any{
		"gameSessionId": made.GameSessionID, "fleetId": first.FleetID, "name": "friday", "maxPlayers": 4.0, "ipAddress": "127.0.0.1",
		"port": float64(made.Port), "matchmakerData": "", "gameProperties": []any{map[string]any{"key": "map", "value": "dust"}},
	} {
		if fmt.Sprint(start[member]) != fmt.Sprint(want) {
			t.Errorf("%s of the game session is %v, want %v", member, start[member], want)
		}
	}
	playPlayers(t, c, g, made.GameSessionID)
	g.call(false, "GetInstanceCertificate", nil)
	if text := g.say("call NoSuchRequest "); !strings.HasPrefix(text, "false ") {
		t.Errorf("an unknown request: %s", text)
	}
	if form != "csharp4" { // it never reconnects
		if g.say("drop") != "true" {
			t.Error("the game server does not come back")
		}
		g.call(true, "UpdatePlayerSessionCreationPolicy", message(nil).text(1, made.GameSessionID).text(2, "DENY_ALL"))
	}

	// The process ends its game session, and hosts another one.
	g.call(true, "GameSessionTerminate", message(nil).text(1, made.GameSessionID))
	events(t, base, "GAME_SESSION_TERMINATED", 1, active.Seq)
	if g.say("again") != "true" {
		t.Error("the process is not ready again")
	}
	matched := map[string]any{"ConfigurationName": "exec", "Players": []map[string]any{{"PlayerId": "ada"}, {"PlayerId": "ben"}}}
	if err := c.Call(t.Context(), "StartMatchmaking", matched, nil); err != nil {
		t.Fatal(err)
	}
	second := events(t, base, "GAME_SESSION_ACTIVATED", 1, active.Seq).GameSessionID
	if got := g.pushed("StartGameSession", 2)["gameSession"].(map[string]any)["gameSessionId"]; got != second || second == made.GameSessionID {
		t.Errorf("the same process was to host %v, and %s is active", got, second)
	}
	playBackfill(t, g, second)

	// It is told to end, and does.
	in := map[string]any{"GameSessionId": second, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"}
	if err := c.Call(t.Context(), "TerminateGameSession", in, nil); err != nil {
		t.Fatal(err)
	}
	text := out.await(t, "told to end: ")
	var told struct{ TerminationTime float64 }
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	unit := time.Second
	if form == "csharp4" {
		unit = time.Millisecond
	}
	if left := time.Until(time.Unix(0, int64(told.TerminationTime)*int64(unit))); left < time.Minute || left > 10*time.Minute {
		t.Errorf("the process has %v left, by %s", left, text)
	}
	e := events(t, base, "SERVER_PROCESS_ENDED", 1, active.Seq)
	if e.ProcessID != first.ProcessID {
		t.Errorf("process %s ended, not %s", e.ProcessID, first.ProcessID)
	}
	if next := events(t, base, "SERVER_PROCESS_ACTIVE", 1, e.Seq); next.ProcessID == first.ProcessID {
		t.Error("the next process is not new")
	}
}

func playPlayers(t *testing.T, c *client.Client, g *directed, gameSessionID string) {
	t.Helper()
	create := func() (id string, err error) {
		var out struct {
			PlayerSession struct {
				PlayerSessionID string `json:"PlayerSessionId"`
			}
		}
		err = c.Call(t.Context(), "CreatePlayerSession", map[string]any{"GameSessionId": gameSessionID, "PlayerId": "ada"}, &out)
		return out.PlayerSession.PlayerSessionID, err
	}
	ada, err := create()
	if err != nil {
		t.Fatal(err)
	}
	player := func(id string) message { return message(nil).text(1, gameSessionID).text(2, id) }
	g.call(false, "AcceptPlayerSession", player("psess-none"))
	g.call(true, "AcceptPlayerSession", player(ada))
	for _, ask := range []message{
		message(nil).text(4, "ACTIVE").number(6, 10), // GridMate's
		message(nil).text(1, gameSessionID),
		message(nil).text(3, ada),
	} {
		found, _ := g.call(true, "DescribePlayerSessionsRequest", ask)["playerSessions"].([]any)
		if len(found) != 1 || found[0].(map[string]any)["playerSessionId"] != ada || found[0].(map[string]any)["status"] != "ACTIVE" {
			t.Errorf("by %q: the player sessions are %v", ask, found)
		}
	}
	none := g.call(true, "DescribePlayerSessionsRequest", message(nil).text(3, "psess-none"))
	if found, ok := none["playerSessions"].([]any); !ok || len(found) != 0 {
		t.Errorf("a player session that is not there: %v", none)
	}
	g.call(true, "RemovePlayerSession", player(ada))
	g.call(false, "UpdatePlayerSessionCreationPolicy", message(nil).text(1, gameSessionID).text(2, "NOT_SET"))
	g.call(true, "UpdatePlayerSessionCreationPolicy", message(nil).text(1, gameSessionID).text(2, "DENY_ALL"))
	if id, err := create(); err == nil {
		t.Errorf("player session %s was created in a closed game session", id)
	}
	g.call(true, "UpdatePlayerSessionCreationPolicy", message(nil).text(1, gameSessionID).text(2, "ACCEPT_ALL"))
}

// playBackfill starts a backfill, and stops it without its ticket, as the O3DE gem does.
func playBackfill(t *testing.T, g *directed, gameSessionID string) {
	t.Helper()
	attribute := message(nil).text(1, "skill").text(2, string(message(nil).number(1, 1).text(2, "high")))
	player := message(nil).text(1, "ada").text(2, string(attribute)).text(3, "players").text(4, string(message(nil).text(1, "us-east-1").number(2, 20)))
	ticket := g.call(true, "BackfillMatchmakingRequest", message(nil).text(2, gameSessionID).text(4, string(player)))["ticketId"]
	if ticket == nil || ticket == "" {
		t.Fatalf("the backfill's ticket is %v", ticket)
	}
	g.call(true, "StopMatchmakingRequest", message(nil).text(2, gameSessionID))
	update := g.pushed("UpdateGameSession", 1)
	if update["updateReason"] != "BACKFILL_CANCELLED" || update["backfillTicketId"] != ticket {
		t.Errorf("the backfill %v ended with %v", ticket, update)
	}
}

// A build with Server SDK 3 is hosted on a managed fleet, and its game session outlives the
// agent.
func TestLegacy_NextAgent(t *testing.T) {
	t.Parallel()
	ports, root := freePorts(t), filepath.Join(t.TempDir(), "agent")
	a := start(t, nil)
	change := func(o *agent.Options) { o.Legacy, o.KeepRunning = &ports, true }
	first := join(t, a, root, 28000, change)
	text, err := os.ReadFile(oldGame(t, "csharp", ports))
	if err != nil {
		t.Fatal(err)
	}
	f, err := a.MakeFleet(t.Context(), archiveOf(t, map[string]string{"server": string(text)}), nil)
	if err != nil {
		t.Fatal(err)
	}
	base := a.URL()
	events(t, base, "SERVER_PROCESS_ACTIVE", 1, 0)
	made := createWhenFree(t, base, map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2})
	active := events(t, base, "GAME_SESSION_ACTIVATED", 1, 0)
	first.end()
	join(t, a, root, 28000, func(o *agent.Options) { change(o); o.KeepRunning = false })
	events(t, base, "SERVER_PROCESS_RECONNECTED", 1, active.Seq)
	g := direct(t, made.Port)
	if g.say("drop") != "true" { // what its SDK does by itself
		t.Error("the game server does not come back")
	}
	g.call(true, "UpdatePlayerSessionCreationPolicy", message(nil).text(1, made.GameSessionID).text(2, "DENY_ALL"))
}
