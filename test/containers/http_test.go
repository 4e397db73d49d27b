package containers

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/node"
)

// A game server in a container says what it must over HTTP. Muster, with its agent, is
// killed while a player plays: the game goes on, and ends in order.
func TestLocal_GameHTTP(t *testing.T) {
	d := startDocker(t)
	d.image("echo:dev", static(t, "test/containers/httpgame"), "/httpgame", "7777")
	s := startRevived(t, d, "--demo=false", "--image", "echo:dev", "--port", "7777/tcp")
	c := node.Client(s.URL)
	ready := node.Follow(t, s.URL).Code(t, "SERVER_PROCESS_ACTIVE")
	g := session(t, c, gamelift.CreateGameSessionInput{FleetId: &ready.FleetID, Location: aws.String("custom-local"), MaximumPlayerSessionCount: aws.Int32(4)})
	made, err := c.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("ann")})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	say := func(line, want string) {
		t.Helper()
		fmt.Fprintln(conn, line)
		if got, err := lines.ReadString('\n'); strings.TrimSpace(got) != want {
			t.Fatalf("after %q: %q, %v; want %q", line, got, err, want)
		}
	}
	say(*made.PlayerSession.PlayerSessionId, "welcome ann")
	s.Kill()
	say("nobody notices", "nobody notices")
	s.start()
	seen := node.Follow(t, s.URL)
	conn.Close()
	if e := seen.Code(t, "SERVER_PROCESS_ENDED"); e.ProcessID != ready.ProcessID {
		t.Errorf("process %s ended, want %s", e.ProcessID, ready.ProcessID)
	}
	seen.Until(t, "another process", func(e node.Event) bool {
		return e.Code == "SERVER_PROCESS_ACTIVE" && e.ProcessID != ready.ProcessID
	})
}
