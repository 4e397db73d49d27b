package scenario

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
)

// pythonGame returns a build of the game server of docs/game-servers.md in Python.
func pythonGame(t *testing.T) map[string][]byte {
	t.Helper()
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skipf("%s is missing (Debian package python3)", python)
	}
	return map[string][]byte{"server": []byte("#!" + python + "\n" + document.Find(t, "docs/game-servers.md", "python", "/ready").Text)}
}

// visitor is a player's connection to the game server in Python.
type visitor struct {
	t *testing.T
	net.Conn
	lines *bufio.Reader
}

func (s *site) visit(g *types.GameSession) *visitor {
	s.t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(late)); err != nil {
		s.t.Fatal(err)
	}
	return &visitor{s.t, conn, bufio.NewReader(conn)}
}

// say sends a line, unless it is "", and reads one.
func (v *visitor) say(line, want string) {
	v.t.Helper()
	if line != "" {
		fmt.Fprintln(v, line)
	}
	if got, err := v.lines.ReadString('\n'); strings.TrimSpace(got) != want {
		v.t.Errorf("after %q: %q, %v; want %q", line, got, err, want)
	}
}

// A game server that speaks HTTP, isolated, on a machine with an agent: its agent is killed
// and Muster is killed while players play and others come. Address, token and game session
// are the same afterwards, directly and behind the relay.
func TestGameHTTP_Fleet(t *testing.T) {
	for name, change := range map[string][]func(*gamelift.CreateFleetInput){"direct": nil, "relayed": {relayed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m, fleet, _ := hosting(t, pythonGame(t), "", 1, change...)
			g := s.create(fleet)
			seat := func(player string) string { return *s.reserve(g.GameSessionId, player).PlayerSessionId }
			ann, ben, cleo := seat("ann"), seat("ben"), seat("cleo")
			first, second, third := s.visit(g), s.visit(g), s.visit(g)
			first.say(ann, "welcome ann")

			m.killAgent()
			first.say("nobody notices", "nobody notices")
			fmt.Fprintln(second, ben) // while there is no agent
			s.run(m, small...)
			second.say("", "welcome ben")

			s.server.Kill()
			fmt.Fprintln(third, cleo) // while there is no Muster
			s.start()
			third.say("", "welcome cleo")

			for _, one := range []*visitor{first, second, third} {
				one.Close()
			}
			ended := s.seen.want(1, "the end of the game session", of(*g.GameSessionId, code("GAME_SESSION_TERMINATED", 0)))
			over := s.seen.want(1, "the end of its process", of(*g.GameSessionId, code("SERVER_PROCESS_ENDED", 0)))
			if over.ProcessID != ended.ProcessID {
				t.Errorf("the process %s ended in order, and the game session with %s", over.ProcessID, ended.ProcessID)
			}
			s.seen.want(1, "another process", code("SERVER_PROCESS_ACTIVE", over.Seq))
		})
	}
}

// A wrapped program on an isolated fleet reaches the interface that its wrapper serves.
func TestGameHTTP_FleetNoSDK(t *testing.T) {
	t.Parallel()
	s, _, fleet, _ := hosting(t, pythonGame(t), "{{.NoSDK}}", 1)
	g := s.create(fleet)
	ann := *s.reserve(g.GameSessionId, "ann").PlayerSessionId
	var player *visitor
	wait.Until(t, "the game listens", func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)))
		if err != nil {
			return false
		}
		conn.Close()
		player = s.visit(g)
		return true
	})
	player.say(ann, "welcome ann")
	s.visit(g).say(ann, "refused: player-refused")
	player.Close()
	s.seen.want(1, "the end of its process", of(*g.GameSessionId, code("SERVER_PROCESS_ENDED", 0)))
}
