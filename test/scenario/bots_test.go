package scenario

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/bots"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// arenaVariable names the environment variable with the path of the demo game.
const arenaVariable = "ARENA_BIN"

// demoHouse is `muster local` with the demo's fleet of arena processes.
type demoHouse struct {
	path, arena, data, listen string
}

func newDemoHouse(t *testing.T) *demoHouse {
	t.Helper()
	h := &demoHouse{path: node.Path(t), arena: os.Getenv(arenaVariable), data: t.TempDir(), listen: "127.0.0.1:0"}
	if h.arena == "" {
		t.Skipf("set %s to a built arena, as `make e2e` does, to run this", arenaVariable)
	}
	arena, err := filepath.Abs(h.arena)
	if err != nil {
		t.Fatal(err)
	}
	h.arena = arena
	return h
}

// start runs the server; later starts use the same address.
func (h *demoHouse) start(t *testing.T) *node.Process {
	t.Helper()
	p, err := node.Run(h.path, "local", "--listen", h.listen, "--data", h.data,
		"--demo-server", h.arena, "--demo-processes", "5", "--demo-players", "0")
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	h.listen = at.Host
	return p
}

// watcher receives the bots' progress and signals when some play, which is while others are
// to come unless the machine is busy.
type watcher struct {
	mu      sync.Mutex
	last    string
	playing chan struct{}
	once    sync.Once
}

// Write implements io.Writer.
func (w *watcher) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = string(line)
	if !bytes.Contains(line, []byte("playing 0 ")) {
		w.once.Do(func() { close(w.playing) })
	}
	return len(line), nil
}

// Bots reach a game while the server is killed: through the player API with push,
// like a game's clients, and through the AWS API. Logins, tickets and games survive,
// so all bots play; a bot that did not would have to report its obstacle.
func TestBots_PlayThroughAKill(t *testing.T) {
	t.Parallel()
	for _, via := range []bots.Way{bots.Players, bots.Matchmaking} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			playThroughAKill(t, via)
		})
	}
}

func playThroughAKill(t *testing.T, via bots.Way) {
	house := newDemoHouse(t)
	server := house.start(t)
	defer func() {
		if err := server.Stop(); err != nil { // ends the demo's processes too
			t.Errorf("stop: %v", err)
		}
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", server.Log())
		}
	}()
	progress := &watcher{playing: make(chan struct{})}
	type outcome struct {
		report bots.Report
		err    error
	}
	over := make(chan outcome, 1)
	go func() {
		r, err := bots.Run(t.Context(), bots.Options{
			Server: client.Client{Endpoint: server.URL}, Via: via, Fleet: "demo", Game: house.arena, Players: 40, MatchSize: 8, For: 3 * time.Second, Over: 6 * time.Second, Patience: 3 * time.Minute,
			Out: progress, Every: 50 * time.Millisecond,
		})
		over <- outcome{r, err}
	}()
	select {
	case <-progress.playing:
	case o := <-over:
		t.Fatalf("the bots were done before some were seen to play: %+v, %v", o.report, o.err)
	}
	server.Kill()
	server = house.start(t)
	o := <-over
	if o.err != nil {
		t.Fatal(o.err)
	}
	if o.report.Played != 40 || o.report.Failed != 0 {
		t.Errorf("got %+v, last seen: %s", o.report, progress.last)
	}
	t.Logf("%+v", o.report)
}

// Bots that cannot play report why.
func TestBots_FailTruthfully(t *testing.T) {
	t.Parallel()
	house := newDemoHouse(t)
	server, err := node.Run(house.path, "local", "--listen", house.listen, "--data", house.data,
		"--demo-server", house.arena, "--demo-processes", "1", "--demo-players", "0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	node.Follow(t, server.URL).Code(t, "SERVER_PROCESS_ACTIVE")
	// One process, four games of two: the last bots get no game in time.
	r, err := bots.Run(t.Context(), bots.Options{
		Server: client.Client{Endpoint: server.URL}, Fleet: "demo", Game: house.arena, Players: 8, MatchSize: 2, For: 30 * time.Second, Over: time.Second, Patience: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Played != 2 || r.Failed != 6 {
		t.Errorf("got %+v, want 2 bots that played", r)
	}
	for why := range r.Failures {
		if !strings.Contains(why, "PLACING") && !strings.Contains(why, "TIMED_OUT") {
			t.Errorf("a bot failed with %q, want to read that it was never placed", why)
		}
	}
	t.Logf("%+v", r)
}

// Bots that look for open game sessions fill those of others before they create their own.
func TestBots_JoinOpenSessions(t *testing.T) {
	t.Parallel()
	house := newDemoHouse(t)
	server := house.start(t)
	defer server.Stop()
	r, err := bots.Run(t.Context(), bots.Options{
		Server: client.Client{Endpoint: server.URL}, Via: bots.Sessions, Fleet: "demo", Game: house.arena, Players: 12, MatchSize: 4, For: time.Second, Over: time.Second, Patience: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Played != 12 || r.Failed != 0 {
		t.Errorf("got %+v, want 12 bots that played", r)
	}
	t.Logf("%+v", r)
}
