package guides

import (
	"strings"
	"testing"

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
