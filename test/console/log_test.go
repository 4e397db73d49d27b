package console

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// A game session's page shows the log of its game server as it grows, and says where it is once
// the game session has ended.
func TestLog(t *testing.T) {
	needs(t)
	d := startDemo(t)
	events := node.Follow(t, d.server.URL)
	e := events.Code(t, "SERVER_PROCESS_ACTIVE")
	place := node.Place{Client: d.aws, FleetID: e.FleetID, Location: "custom-local"}
	made, err := place.Create(t.Context(), 8, func(in *gamelift.CreateGameSessionInput) { in.Name = aws.String("a game") })
	if err != nil {
		t.Fatal(err)
	}
	events.Code(t, "GAME_SESSION_ACTIVATED")
	id, address := made.GameSessionId, fmt.Sprintf("%s:%d", *made.IpAddress, *made.Port)
	run(t, "log.mjs", task{Base: d.server.URL, About: map[string]any{"id": *id}}, map[string]func(string) any{
		"join": func(player string) any { // is refused, since there is no such player session: the game server logs it
			_ = exec.Command(node.Arena(t), "bot", "--addr", address, "--player-session", player, "--for", "1s", "--join-for", "1s").Run()
			return nil
		},
		"end": func(string) any {
			_, err := d.aws.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: id, TerminationMode: types.TerminationModeForceTerminate})
			if err != nil {
				t.Fatal(err)
			}
			return nil
		},
	})
}
