package containers

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/legacygame"
	"github.com/musterhq/muster/test/node"
)

// Game servers with Server SDK 3 and 4 in containers that use the machine's network connect
// to the agent. Each is process 1 of its container and says so; each gets its own game
// session, and keeps it when Muster, with its agent, is killed.
func TestLocal_LegacySDK(t *testing.T) {
	for _, form := range []string{"cpp", "csharp4"} {
		t.Run(form, func(t *testing.T) { playOld(t, form) })
	}
}

func playOld(t *testing.T, form string) {
	d := startDocker(t)
	d.image("old:dev", static(t, "test/containers/oldgame"), "/oldgame", form)
	s := startRevived(t, d, "--engine-network", "host", "--image", "old:dev", "--copies", "2")
	c, seen := node.Client(s.URL), node.Follow(t, s.URL)
	fleet := seen.Code(t, "SERVER_PROCESS_ACTIVE").FleetID
	seen.Code(t, "SERVER_PROCESS_ACTIVE")
	games := map[string]*legacygame.Directed{}
	for range 2 {
		g := session(t, c, gamelift.CreateGameSessionInput{FleetId: &fleet, Location: aws.String("custom-local"), MaximumPlayerSessionCount: aws.Int32(4)})
		game := legacygame.Direct(t, *g.IpAddress, int(*g.Port))
		if start := game.Pushed("StartGameSession", 1)["gameSession"].(map[string]any); start["gameSessionId"] != *g.GameSessionId || start["port"] != float64(*g.Port) {
			t.Errorf("the process on port %d is told of %v, not of %s", *g.Port, start, *g.GameSessionId)
		}
		games[*g.GameSessionId] = game
	}
	if text := s.Log(); strings.Contains(text, "WARN") {
		t.Errorf("it warns:\n%s", text)
	}
	if len(games) != 2 {
		t.Fatalf("there are %d game sessions", len(games))
	}
	accept := func(id string, game *legacygame.Directed, player string) {
		t.Helper()
		made, err := c.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: &id, PlayerId: &player})
		if err != nil {
			t.Fatal(err)
		}
		game.Call(true, "AcceptPlayerSession", legacygame.Message(nil).Text(1, id).Text(2, *made.PlayerSession.PlayerSessionId))
	}
	for id, game := range games {
		accept(id, game, "ann")
	}
	s.Kill()
	s.start()
	seen = node.Follow(t, s.URL)
	seen.Code(t, "SERVER_PROCESS_RECONNECTED")
	seen.Code(t, "SERVER_PROCESS_RECONNECTED")
	for id, game := range games {
		if form != "csharp4" && game.Say("drop") != "true" { // what its SDK does by itself
			t.Error("a game server does not come back")
		}
		accept(id, game, "ben")
		in := &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(id), TerminationMode: "TRIGGER_ON_PROCESS_TERMINATE"}
		if form == "csharp4" {
			game.Call(true, "ProcessEnding", nil) // its pushes do not come back
		} else if _, err := c.TerminateGameSession(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		seen.Code(t, "SERVER_PROCESS_ENDED")
	}
}
