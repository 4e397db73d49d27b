package scenario

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
)

// sampleGame returns the game server of docs/game-servers.md in a language.
func sampleGame(t *testing.T, language string) string {
	t.Helper()
	return document.Find(t, "docs/game-servers.md", language, "/ready").Text
}

// needs skips the test if a program is missing.
func needs(t *testing.T, path, debian string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is missing (Debian package %s)", path, debian)
	}
	return path
}

// pythonGame returns the game server in Python, as a build.
func pythonGame(t *testing.T) map[string][]byte {
	t.Helper()
	return map[string][]byte{"server": []byte("#!" + needs(t, "/usr/bin/python3", "python3") + "\n" + sampleGame(t, "python"))}
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

func (s *site) reserveOne(g *types.GameSession, playerID string) string {
	s.t.Helper()
	made, err := s.client.CreatePlayerSession(s.t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: &playerID})
	if err != nil {
		s.t.Fatal(err)
	}
	return *made.PlayerSession.PlayerSessionId
}

// A game server that speaks HTTP, isolated, on a machine with an agent: its agent is killed
// and Muster is killed while players play and others come. Address, token and game session
// are the same afterwards, directly and behind the relay.
func TestGameHTTP_Fleet(t *testing.T) {
	for name, change := range map[string][]func(*gamelift.CreateFleetInput){"direct": nil, "relayed": {relayed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := pythonGame(t)
			s := newSite(t, newLab(t))
			m := s.lab.machine()
			s.run(m, small...)
			fleet := s.fleet(s.build(files), "", 1, change...)
			s.instance(m, 1, 0)
			g := s.create(fleet)
			s.seen.want(1, "the game session's activation", of(*g.GameSessionId, code("GAME_SESSION_ACTIVATED", 0)))
			ann, ben, cleo := s.reserveOne(g, "ann"), s.reserveOne(g, "ben"), s.reserveOne(g, "cleo")
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
	files := pythonGame(t)
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, small...)
	fleet := s.fleet(s.build(files), "{{.NoSDK}}", 1)
	s.instance(m, 1, 0)
	g := s.create(fleet)
	s.seen.want(1, "the game session's activation", of(*g.GameSessionId, code("GAME_SESSION_ACTIVATED", 0)))
	ann := s.reserveOne(g, "ann")
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

// The game server in GDScript plays a whole life on an isolated fleet.
func TestGameHTTP_FleetGodot(t *testing.T) {
	t.Parallel()
	godot := needs(t, "/usr/bin/godot3-server", "godot3-server")
	files := map[string][]byte{
		"server": []byte("#!/bin/sh\nHOME=$TMPDIR exec " + godot + " -s game.gd\n"), "game.gd": []byte(sampleGame(t, "gdscript")),
	}
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, small...)
	fleet := s.fleet(s.build(files), "", 1)
	s.instance(m, 1, 0)
	g := s.create(fleet)
	s.seen.want(1, "the game session's activation", of(*g.GameSessionId, code("GAME_SESSION_ACTIVATED", 0)))
	ann, ben := s.reserveOne(g, "ann"), s.reserveOne(g, "ben")
	first, second := s.visit(g), s.visit(g)
	first.say(ann, "welcome ann")
	s.visit(g).say(ann, "refused: player-refused")
	second.say(ben, "welcome ben")
	first.Close()
	second.say("hello", "hello")
	second.Close()
	s.seen.want(1, "the end of its process", of(*g.GameSessionId, code("SERVER_PROCESS_ENDED", 0)))
}

// The game server of curl and a shell plays a whole life on an isolated fleet.
func TestGameHTTP_FleetCurl(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl", "curl")
	files := map[string][]byte{"server": []byte("#!/bin/sh\ncd \"$TMPDIR\"\n" + sampleGame(t, "sh"))}
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, small...)
	fleet := s.fleet(s.build(files), "", 1)
	s.instance(m, 1, 0)
	g := s.create(fleet)
	s.seen.want(1, "the game session's activation", of(*g.GameSessionId, code("GAME_SESSION_ACTIVATED", 0)))
	ann := s.reserveOne(g, "ann")
	var pipe string
	wait.Until(t, "the pipe is there", func() bool {
		_ = filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "players" && d.Type()&fs.ModeNamedPipe != 0 {
				pipe = path
			}
			return nil
		})
		return pipe != ""
	})
	tell := func(line string) {
		t.Helper()
		to, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		fmt.Fprintln(to, line)
	}
	tell("join " + ann)
	s.seen.want(1, "ann", func(e client.Event) bool { return e.Code == "PLAYER_SESSION_ACCEPTED" && e.PlayerSessionID == ann })
	tell("leave " + ann)
	tell("over")
	s.seen.want(1, "the end of its process", of(*g.GameSessionId, code("SERVER_PROCESS_ENDED", 0)))
}
