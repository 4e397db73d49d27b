package console

import (
	"fmt"
	"os"
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
	ctx := t.Context()
	fleet, err := d.aws.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{e.FleetID}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.aws.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("games"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: fleet.FleetAttributes[0].FleetArn}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.aws.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: aws.String("games"), PlacementId: aws.String("game"), MaximumPlayerSessionCount: aws.Int32(8), GameSessionName: aws.String("a game"),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := aws.String(events.Code(t, "GAME_SESSION_ACTIVATED").GameSessionID)
	found, err := d.aws.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: id})
	if err != nil || len(found.GameSessions) != 1 {
		t.Fatalf("the game session: %v", err)
	}
	address := fmt.Sprintf("%s:%d", *found.GameSessions[0].IpAddress, *found.GameSessions[0].Port)
	run(t, "log.mjs", task{Base: d.server.URL, About: map[string]any{"id": *id}}, map[string]func(string) any{
		"join": func(player string) any { // is refused, since there is no such player session: the game server logs it
			_ = exec.Command(os.Getenv(arenaVariable), "bot", "--addr", address, "--player-session", player, "--for", "1s", "--join-for", "1s").Run()
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
