// Package bare hosts a small dedicated server that speaks no SDK: its query, its ports by name, and
// how it is asked to end.
package bare

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// stage is a Muster that hosts the small dedicated server.
type stage struct {
	t     *testing.T
	api   *gamelift.Client
	c     *client.Client
	seen  *node.Events
	place node.Place
}

// open hosts the server as a developer does.
func open(t *testing.T) *stage {
	s := node.Serve(t, node.Path(t), "local", "--demo=false", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn", "--no-legacy-sdk",
		"--no-sdk", "--ready-line", "^the map is loaded$", "--query", "a2s:query", "--stop-line", "bye",
		"--exec", node.Compiled(t, "test/bare/game"), "--", "-port", "{{.GamePort}}", "-query", "{{.Port.query}}")
	st := &stage{t: t, api: node.Client(s.URL), c: &client.Client{Endpoint: s.URL}, seen: node.Follow(t, s.URL)}
	st.place = node.Place{Client: st.api, FleetID: st.seen.Code(t, "SERVER_PROCESS_ACTIVE").FleetID, Location: "custom-local"}
	return st
}

// play returns an ACTIVE game session.
func (s *stage) play() *types.GameSession {
	s.t.Helper()
	g, err := s.place.Create(s.t.Context(), 4)
	if err != nil {
		s.t.Fatal(err)
	}
	s.seen.Code(s.t, "GAME_SESSION_ACTIVATED")
	return g
}

// say sends words to the game server, each of which it repeats.
func (s *stage) say(g *types.GameSession, words ...string) {
	s.t.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	for _, word := range words {
		if _, err := conn.Write([]byte(word)); err != nil {
			s.t.Fatal(err)
		}
		if word == "crash" {
			return
		}
		if n, err := conn.Read(make([]byte, 100)); err != nil || n != len(word) {
			s.t.Fatalf("%q is answered with %d bytes, %v", word, n, err)
		}
	}
}

// players waits until a game session has a number of players, in the API and in `muster status`.
func (s *stage) players(g *types.GameSession, want int) {
	s.t.Helper()
	wait.For(s.t, fmt.Sprintf("%d players are counted", want), func() error {
		out, err := s.api.DescribeGameSessions(s.t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: g.GameSessionId})
		if err != nil {
			return err
		}
		fleets, err := s.c.Fleets(s.t.Context())
		if err != nil {
			return err
		}
		if n := int(*out.GameSessions[0].CurrentPlayerSessionCount); n != want || fleets[0].Players != want {
			return fmt.Errorf("the game session has %d, its fleet %d", n, fleets[0].Players)
		}
		return nil
	})
}

// The players of a program that says nothing are counted by its query; it ends as it is asked to.
func TestQueryAndStop(t *testing.T) {
	t.Parallel()
	s := open(t)
	g := s.play()
	s.say(g, "join", "join", "join")
	s.players(g, 3)
	s.say(g, "leave", "leave")
	s.players(g, 1)
	_, err := s.api.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: g.GameSessionId, TerminationMode: types.TerminationModeTriggerOnProcessTerminate})
	if err != nil {
		t.Fatal(err)
	}
	s.seen.Code(t, "GAME_SESSION_TERMINATED")
	wait.For(t, "its log has its last words", func() error {
		var log strings.Builder
		out, err := s.api.GetGameSessionLogUrl(t.Context(), &gamelift.GetGameSessionLogUrlInput{GameSessionId: g.GameSessionId})
		if err != nil {
			return err
		}
		if err := fetch(*out.PreSignedUrl, &log); err != nil {
			return err
		}
		if !strings.Contains(log.String(), "saved, and bye") {
			return fmt.Errorf("the log is %q", log.String())
		}
		return nil
	})
}

// fetch reads all files of an archive of logs.
func fetch(url string, to *strings.Builder) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			return err
		}
		_, err = io.Copy(to, r)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// A program that a signal ends is the reason of the game session's end, with its last words.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := open(t)
	g := s.play()
	s.say(g, "crash")
	s.seen.Code(t, "GAME_SESSION_TERMINATED")
	end, err := s.c.Sessions().End(t.Context(), *g.GameSessionId)
	if err != nil || end.Reason != "SERVER_PROCESS_CRASHED" || !strings.Contains(end.How, "SIGKILL") || !strings.Contains(end.How, `its last words on stdout: "the map fell apart"`) {
		t.Errorf("it ended by %s: %q, %v", end.Reason, end.How, err)
	}
}

// What is wrong with the options of such a program is said before anything is hosted.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for flag, why := range map[string]string{
		"--ready-line=[":            "--ready-line: error parsing regexp",
		"--query=a2c":               "there are a2s, gamespy, gamespy3, quake3",
		"--stop-within=-1s":         "not negative",
		"--named-ports=Query=1-2":   "no name of a port",
		"--named-ports=query=20-10": "no range of ports",
	} {
		_, err := node.Run(node.Path(t), "local", "--demo=false", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--no-sdk", flag, "--exec", "/bin/true")
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", flag, err, why)
		}
	}
}
