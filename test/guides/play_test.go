package guides

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestMatchmaking types the commands of the guide: two players are matched into a game session
// of the demo game.
func TestMatchmaking(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	g := newGuide(t, "docs/matchmaking.md")
	g.serve("local", "--demo-players", "0")
	block, follow, found := strings.Cut(g.next("export AWS"), "bin/muster events")
	if !found {
		t.Fatal("the block does not end with muster events")
	}
	g.prints(g.enter(block), `"duel"`, `"TicketId": "a"`, `"TicketId": "b"`, `"a",`, `"b",`)
	g.watches("bin/muster events"+follow, "MATCHMAKING_SUCCEEDED", "GAME_SESSION_ACTIVATED")
	out := g.enter("gl describe-matchmaking --ticket-ids a b")
	g.prints(out, `"Port"`, `"PlayerSessionId"`)
	if strings.Count(out, `"COMPLETED"`) != 2 {
		t.Errorf("not both tickets are COMPLETED:\n%s", out)
	}
}

// TestPlacement types the commands of the guide: a placement is made once the second latency cap
// applies, and a queue leads to another Muster.
func TestPlacement(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	g := newGuide(t, "docs/placement.md")
	g.serve("local", "--demo-players", "0")
	g.until("muster fleets", "ACTIVE")
	g.prints(g.types("export AWS"), `"Name": "arena"`, `"Status": "PENDING"`)
	g.prints(g.types("muster queues"), "arena", "Placement match-7 in queue arena is PENDING", "100 ms from 0s to 20s, 200 ms", "OVER_LATENCY_CAP", "player bob has 150 ms")
	g.until("gl describe-game-session-placement --placement-id match-7", `"FULFILLED"`)
}

// TestPlacement_Regions types the part of the guide about the regions of one deployment: the
// player's latency chooses the region.
func TestPlacement_Regions(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	g := newGuide(t, "docs/placement.md")
	local := strings.Fields(g.next("muster local --regions"))[1:]
	g.serve(append(local, "--demo-players", "0", "--demo-processes", "1")...)
	setup, _, _ := strings.Cut(document.Find(t, g.name, "sh", "ALIAS=").Text, "ALIAS=")
	g.enter(strings.ReplaceAll(setup, "http://127.0.0.1:9080", g.muster))
	for _, region := range []string{"us-east-1", "eu-central-1"} {
		g.until("muster fleets --region "+region, "ACTIVE")
	}
	g.types("HERE=")
	placed := g.until("gl describe-game-session-placement --placement-id europe-1", `"FULFILLED"`)
	g.prints(placed, "arn:aws:gamelift:eu-central-1::gamesession/fleet-", "/custom-local-eu-central-1/europe-1")
	g.enter("SESSION=$(gl describe-game-session-placement --placement-id europe-1 --query GameSessionPlacement.GameSessionArn --output text)")
	g.prints(g.enter("gl describe-game-sessions --region eu-central-1 --game-session-id $SESSION"), `"ACTIVE"`)
}

// TestFleetIQ types the commands of the guide, on the machine of `muster local`.
func TestFleetIQ(t *testing.T) {
	t.Parallel()
	needs(t, "aws jq")
	g := newGuide(t, "docs/fleetiq.md")
	g.serve("local", "--demo=false")
	g.until("muster hosts", "connected")
	g.types("export AWS")
	g.prints(g.types("aws gamelift create-game-server-group"), `"GameServerGroupName": "arena"`, `"Status": "ACTIVE"`)
	g.prints(g.types("aws gamelift register-game-server"), `"GameServerId": "server-1"`, `"AVAILABLE"`)
	g.prints(g.types("aws gamelift claim-game-server"), `"CLAIMED"`, `"192.0.2.1:7777"`, `"UTILIZED"`)
	g.types("aws gamelift deregister-game-server")
	g.prints(g.enter("aws gamelift list-game-servers --game-server-group-name arena"), `"GameServers": []`)
}

// TestGameServers types the commands of the guide: a game server that the reader starts hosts a
// game session of an Anywhere fleet.
func TestGameServers(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	node.Arena(t) // which the guide starts
	g := newGuide(t, "docs/game-servers.md")
	g.serve("local", "--demo=false")
	g.types("export AWS")
	g.until("muster fleets", "1")
	g.prints(g.types("SESSION="), `"PlayerId": "ada"`, `"RESERVED"`)
}
