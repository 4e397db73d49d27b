package scenario

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/node"
)

// The way out for games of script fleets (docs/migrating.md): the game runs on Node.js
// without an SDK.
func TestScript_Node(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node.js is missing; install nodejs to run this")
	}
	program, err := filepath.Abs("testdata/script/server.sh")
	if err != nil {
		t.Fatal(err)
	}
	s := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--no-sdk", "--exec", program, "--log-level", "warn")
	t.Cleanup(func() { // its game servers would outlive a kill
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	seen, client := node.Follow(t, s.URL), node.Client(s.URL)
	ready := seen.Code(t, "SERVER_PROCESS_ACTIVE")
	g := createWhenFree(t, client, &gamelift.CreateGameSessionInput{
		FleetId: &ready.FleetID, Location: aws.String("custom-local"), MaximumPlayerSessionCount: aws.Int32(2), GameSessionData: aws.String("winter"),
	})
	seen.Code(t, "GAME_SESSION_ACTIVATED")
	if got, want := say(t, g, "hello"), "hello to 1 of 2 in winter"; got != want {
		t.Errorf("the game says %q, want %q", got, want)
	}
	say(t, g, "end")
	if e := seen.Code(t, "SERVER_PROCESS_ENDED"); !strings.HasSuffix(*g.GameSessionId, e.GameSessionID) {
		t.Errorf("what ended is %+v, want the game session's process", e)
	}
}
