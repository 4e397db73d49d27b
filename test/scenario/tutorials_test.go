package scenario

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// tutorials are the game servers of docs/ten-minutes.md and docs/languages.md: what compiles each
// in the top folder, if anything, with the folder of the build; its files; and what starts it in
// that folder.
var tutorials = map[string]struct {
	needs, compiles, files, starts string
}{
	"python": {needs: "python3", files: "python/server.py", starts: "/usr/bin/python3 server.py"},
	"node":   {needs: "node", files: "node/server.mjs", starts: "/usr/bin/node server.mjs"},
	"csharp": {needs: "mcs mono", starts: "/usr/bin/mono Server.exe",
		compiles: "mcs -langversion:7.2 -out:%s/Server.exe -r:System.Net.Http.dll -recurse:clients/csharp/Runtime/*.cs examples/ten-minutes/csharp/Server.cs"},
	"godot": {needs: "godot3-server", files: "godot/server.gd godot/project.godot", starts: "/usr/bin/godot3-server --path . --script server.gd"},
	"cpp": {needs: "g++", starts: "./cpp-server",
		compiles: "g++ -std=c++17 -Iclients/cpp/include -o %s/cpp-server examples/ten-minutes/cpp/server.cpp clients/cpp/src/json.cpp -lcurl"},
}

// tutorialBuild returns a build with the tutorial's game servers, and what its fleet starts: so
// many processes of each.
func tutorialBuild(t *testing.T, copies int32) (files map[string][]byte, entries []types.ServerProcess) {
	t.Helper()
	files = map[string][]byte{}
	top, out := document.Top(t), t.TempDir()
	for language, s := range tutorials {
		for program := range strings.FieldsSeq(s.needs) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is missing: install it to host the tutorial's game server for %s", program, language)
			}
		}
		if s.compiles != "" {
			compile := exec.Command("sh", "-c", "set -f; "+fmt.Sprintf(s.compiles, out))
			compile.Dir = top
			if said, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", language, err, said)
			}
		}
		for file := range strings.FieldsSeq(s.files) {
			text, err := os.ReadFile(filepath.Join(top, "examples/ten-minutes", file))
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(file)] = text
		}
		files[language] = []byte("#!/bin/sh\ncd \"$(dirname \"$0\")\" && HOME=/tmp exec " + s.starts + "\n")
		entries = append(entries, entry(language, "", copies))
	}
	compiled, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range compiled {
		if files[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return files, entries
}

// guesser is a player of the tutorial's game.
type guesser struct{ url, playerSession string }

// guess returns what the game server answers to a number.
func (g *guesser) guess(t *testing.T, number int) string {
	t.Helper()
	answer, err := (&http.Client{Timeout: late}).Post(g.url, "text/plain", strings.NewReader(fmt.Sprintf("%s %d", g.playerSession, number)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// finds guesses until the number is found.
func (g *guesser) finds(t *testing.T) {
	t.Helper()
	low, high := 1, 100
	for low <= high {
		middle := (low + high) / 2
		switch answer := g.guess(t, middle); answer {
		case "higher":
			low = middle + 1
		case "lower":
			high = middle - 1
		case "you won":
			return
		default:
			t.Fatalf("the answer to %d is %q", middle, answer)
		}
	}
	t.Fatal("no number wins")
}

// A hundred players play with the tutorial's game servers in five languages while the agent is
// replaced by its program twenty times, and once ended and started anew. No game is lost. While no
// agent runs, game servers of one thread, as that for Godot, wait for it, and their players with
// them.
func TestAgent_ReplacedUnderTutorials(t *testing.T) {
	t.Parallel()
	node.Path(t)
	const copies, replacements = 5, 20
	files, entries := tutorialBuild(t, copies)
	s, m, fleet, _ := hosting(t, files, "", 1, func(in *gamelift.CreateFleetInput) { in.RuntimeConfiguration.ServerProcesses = entries })
	var games []*types.GameSession
	var players [][]*guesser
	for range copies * len(entries) {
		g := s.create(fleet)
		games = append(games, g)
		var party []*guesser
		for n := range 4 {
			reserved := s.reserve(g.GameSessionId, fmt.Sprint("player-", n))
			p := &guesser{"http://" + net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)) + "/", *reserved.PlayerSessionId}
			party = append(party, p)
		}
		players = append(players, party)
	}
	all := func() {
		t.Helper()
		for _, party := range players {
			for _, p := range party {
				if answer := p.guess(t, 0); answer != "higher" {
					t.Fatalf("the answer to 0 is %q", answer)
				}
			}
		}
	}
	all() // everybody joins
	before, joined := m.games(), m.joined(s)
	for n := range replacements {
		if err := m.agent.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		joined = s.seen.want(1, fmt.Sprintf("agent %d", n), s.host(m, code("HOST_CONNECTED", joined))).Seq
		all()
	}
	if err := m.agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := m.agent.Wait(); err != nil {
		t.Fatalf("the agent ends: %v", err)
	}
	s.run(m, small...)
	s.seen.want(1, "the new agent", s.host(m, code("HOST_CONNECTED", joined)))
	all()
	if after := m.games(); !slices.Equal(after, before) {
		t.Errorf("the game servers were %v and are %v", before, after)
	}
	for _, party := range players {
		party[0].finds(t)
		for _, p := range party[1:] {
			if answer := p.guess(t, 0); !strings.HasPrefix(answer, "you lost") {
				t.Errorf("the answer after the end is %q", answer)
			}
		}
	}
	for _, g := range games {
		wait.For(t, "game session "+*g.GameSessionId+" to end", func() error {
			if now := s.session(g.GameSessionId); now.Status != types.GameSessionStatusTerminated {
				return fmt.Errorf("it is %s", now.Status)
			}
			return nil
		})
	}
	s.noneCrashed()
}
