//go:build unix

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/legacygame"
)

// freePorts returns ports on which old SDKs connect in a test.
func freePorts(t *testing.T) legacy.Ports {
	t.Helper()
	var ports [3]int
	for n := range ports {
		l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		ports[n] = l.Addr().(*net.TCPAddr).Port
	}
	return legacy.Ports{SocketIO: ports[0], HTTP: ports[1], WebSocket: ports[2]}
}

// oldGame returns a program that is a game server with an old SDK, started by a script: the
// process that connects is a child of the one that the agent starts.
func oldGame(t *testing.T, form string, p legacy.Ports) string {
	t.Helper()
	self := must(os.Executable())(t)
	path := filepath.Join(t.TempDir(), "game")
	script := fmt.Sprintf("#!/bin/sh\n%s=legacy '%s' %s %d,%d,%d \"$GAME_PORT\" &\ntrap 'kill $!' TERM\nwait $!\nexit $?\n", playVariable, self, form, p.SocketIO, p.HTTP, p.WebSocket)
	check(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

// playLegacy is a game server with an old SDK.
func playLegacy(ctx context.Context, form, ports, port string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	return legacygame.Game{Form: form, Ports: strings.Split(ports, ","), Host: "127.0.0.1", Port: n}.Run(ctx)
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
	ports := freePorts(t)
	o := options(t, func(o *app.Options) {
		o.Host = &host.Options{Legacy: &ports, Exec: &host.Program{Path: oldGame(t, form, ports), Dir: t.TempDir()}}
	})
	base, out, _ := run(t, o)
	first := events(t, base, "SERVER_PROCESS_ACTIVE", 1, 0)
	c := &client.Client{Endpoint: base}
	made := createWhenFree(t, base, map[string]any{
		"FleetId": first.FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 4, "Name": "friday",
		"GameProperties": []map[string]any{{"Key": "map", "Value": "dust"}},
	})
	active := events(t, base, "GAME_SESSION_ACTIVATED", 1, 0)
	g := legacygame.Direct(t, "127.0.0.1", made.Port)
	start := g.Pushed("StartGameSession", 1)["gameSession"].(map[string]any)
	for member, want := range map[string]any{
		"gameSessionId": made.GameSessionID, "fleetId": first.FleetID, "name": "friday", "maxPlayers": 4.0, "ipAddress": "127.0.0.1",
		"port": float64(made.Port), "matchmakerData": "", "gameProperties": []any{map[string]any{"key": "map", "value": "dust"}},
	} {
		if fmt.Sprint(start[member]) != fmt.Sprint(want) {
			t.Errorf("%s of the game session is %v, want %v", member, start[member], want)
		}
	}
	playPlayers(t, c, g, made.GameSessionID)
	g.Call(false, "GetInstanceCertificate", nil)
	if text := g.Say("call NoSuchRequest "); !strings.HasPrefix(text, "false ") {
		t.Errorf("an unknown request: %s", text)
	}
	if form != "csharp4" { // it never reconnects
		if g.Say("drop") != "true" {
			t.Error("the game server does not come back")
		}
		g.Call(true, "UpdatePlayerSessionCreationPolicy", legacygame.Message(nil).Text(1, made.GameSessionID).Text(2, "DENY_ALL"))
	}

	// The process ends its game session, and hosts another one.
	g.Call(true, "GameSessionTerminate", legacygame.Message(nil).Text(1, made.GameSessionID))
	events(t, base, "GAME_SESSION_TERMINATED", 1, active.Seq)
	if g.Say("again") != "true" {
		t.Error("the process is not ready again")
	}
	matched := map[string]any{"ConfigurationName": "exec", "Players": []map[string]any{{"PlayerId": "ada"}, {"PlayerId": "ben"}}}
	check(t, c.Call(t.Context(), "StartMatchmaking", matched, nil))
	second := events(t, base, "GAME_SESSION_ACTIVATED", 1, active.Seq).GameSessionID
	if got := g.Pushed("StartGameSession", 2)["gameSession"].(map[string]any)["gameSessionId"]; got != second || second == made.GameSessionID {
		t.Errorf("the same process was to host %v, and %s is active", got, second)
	}
	playBackfill(t, g, second)

	// It is told to end, and does.
	in := map[string]any{"GameSessionId": second, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"}
	check(t, c.Call(t.Context(), "TerminateGameSession", in, nil))
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

func playPlayers(t *testing.T, c *client.Client, g *legacygame.Directed, gameSessionID string) {
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
	ada := must(create())(t)
	player := func(id string) legacygame.Message { return legacygame.Message(nil).Text(1, gameSessionID).Text(2, id) }
	g.Call(false, "AcceptPlayerSession", player("psess-none"))
	g.Call(true, "AcceptPlayerSession", player(ada))
	for _, ask := range []legacygame.Message{
		legacygame.Message(nil).Text(4, "ACTIVE").Number(6, 10), // GridMate's
		legacygame.Message(nil).Text(1, gameSessionID),
		legacygame.Message(nil).Text(3, ada),
	} {
		found, _ := g.Call(true, "DescribePlayerSessionsRequest", ask)["playerSessions"].([]any)
		if len(found) != 1 || found[0].(map[string]any)["playerSessionId"] != ada || found[0].(map[string]any)["status"] != "ACTIVE" {
			t.Errorf("by %q: the player sessions are %v", ask, found)
		}
	}
	none := g.Call(true, "DescribePlayerSessionsRequest", legacygame.Message(nil).Text(3, "psess-none"))
	if found, ok := none["playerSessions"].([]any); !ok || len(found) != 0 {
		t.Errorf("a player session that is not there: %v", none)
	}
	g.Call(true, "RemovePlayerSession", player(ada))
	g.Call(false, "UpdatePlayerSessionCreationPolicy", legacygame.Message(nil).Text(1, gameSessionID).Text(2, "NOT_SET"))
	g.Call(true, "UpdatePlayerSessionCreationPolicy", legacygame.Message(nil).Text(1, gameSessionID).Text(2, "DENY_ALL"))
	if id, err := create(); err == nil {
		t.Errorf("player session %s was created in a closed game session", id)
	}
	g.Call(true, "UpdatePlayerSessionCreationPolicy", legacygame.Message(nil).Text(1, gameSessionID).Text(2, "ACCEPT_ALL"))
}

// playBackfill starts a backfill, and stops it without its ticket, as the O3DE gem does.
func playBackfill(t *testing.T, g *legacygame.Directed, gameSessionID string) {
	t.Helper()
	attribute := legacygame.Message(nil).Text(1, "skill").Text(2, string(legacygame.Message(nil).Number(1, 1).Text(2, "high")))
	player := legacygame.Message(nil).Text(1, "ada").Text(2, string(attribute)).Text(3, "players").Text(4, string(legacygame.Message(nil).Text(1, "us-east-1").Number(2, 20)))
	ticket := g.Call(true, "BackfillMatchmakingRequest", legacygame.Message(nil).Text(2, gameSessionID).Text(4, string(player)))["ticketId"]
	if ticket == nil || ticket == "" {
		t.Fatalf("the backfill's ticket is %v", ticket)
	}
	g.Call(true, "StopMatchmakingRequest", legacygame.Message(nil).Text(2, gameSessionID))
	update := g.Pushed("UpdateGameSession", 1)
	if update["updateReason"] != "BACKFILL_CANCELLED" || update["backfillTicketId"] != ticket {
		t.Errorf("the backfill %v ended with %v", ticket, update)
	}
}
