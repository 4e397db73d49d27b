package scenario

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/bots"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// demoHouse is `muster local` with the demo game.
type demoHouse struct {
	path, arena, data, listen string
}

func newDemoHouse(t *testing.T) *demoHouse {
	t.Helper()
	return &demoHouse{path: node.Path(t), arena: node.Arena(t), data: t.TempDir(), listen: node.Reserve(t)}
}

// demo runs a server with as many game servers of the demo and no bots. Later ones have the same
// address and data.
func (h *demoHouse) demo(t *testing.T, processes string) *node.Process {
	t.Helper()
	return node.Serve(t, h.path, "local", "--listen", h.listen, "--data", h.data,
		"--demo-server", h.arena, "--demo-processes", processes, "--demo-players", "0")
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

// playing starts bots, and returns once some play. over returns the report of all.
func playing(t *testing.T, o bots.Options) (over func() bots.Report) {
	t.Helper()
	type outcome struct {
		report bots.Report
		err    error
	}
	outcomes, progress := make(chan outcome, 1), &watcher{playing: make(chan struct{})}
	o.Out, o.Every = progress, 50*time.Millisecond
	go func() {
		r, err := bots.Run(t.Context(), o)
		outcomes <- outcome{r, err}
	}()
	select {
	case <-progress.playing:
	case o := <-outcomes:
		t.Fatalf("the bots were done before some were seen to play: %+v, %v", o.report, o.err)
	}
	return func() bots.Report {
		t.Helper()
		o := <-outcomes
		if o.err != nil {
			t.Fatal(o.err)
		}
		t.Logf("%+v, last seen: %s", o.report, progress.last)
		return o.report
	}
}

func playThroughAKill(t *testing.T, via bots.Way) {
	house := newDemoHouse(t)
	server := house.demo(t, "5")
	over := playing(t, bots.Options{
		Server: client.Client{Endpoint: server.URL}, Via: via, Fleet: "demo", Game: house.arena, Players: 40, MatchSize: 8, For: 3 * time.Second, Over: 6 * time.Second, Patience: 3 * time.Minute,
	})
	server.Kill()
	house.demo(t, "5")
	if r := over(); r.Played != 40 || r.Failed != 0 {
		t.Errorf("got %+v, want 40 bots that played", r)
	}
}

// Bots that cannot play report why.
func TestBots_FailTruthfully(t *testing.T) {
	t.Parallel()
	house := newDemoHouse(t)
	server := house.demo(t, "1")
	node.Follow(t, server.URL).Code(t, "SERVER_PROCESS_ACTIVE")
	// One process, four games of two: the last bots get no game in time.
	r := house.bots(t, server, bots.Options{Players: 8, MatchSize: 2, For: 30 * time.Second, Patience: 10 * time.Second})
	if r.Played != 2 || r.Failed != 6 {
		t.Errorf("got %+v, want 2 bots that played", r)
	}
	for why := range r.Failures {
		if !strings.Contains(why, "PLACING") && !strings.Contains(why, "TIMED_OUT") {
			t.Errorf("a bot failed with %q, want to read that it was never placed", why)
		}
	}
}

// Bots that look for open game sessions fill those of others before they create their own.
func TestBots_JoinOpenSessions(t *testing.T) {
	t.Parallel()
	house := newDemoHouse(t)
	r := house.bots(t, house.demo(t, "5"), bots.Options{Via: bots.Sessions, Players: 12, MatchSize: 4, For: time.Second, Patience: time.Minute})
	if r.Played != 12 || r.Failed != 0 {
		t.Errorf("got %+v, want 12 bots that played", r)
	}
}

// bots has bots play on the demo's fleet, and returns their report.
func (h *demoHouse) bots(t *testing.T, server *node.Process, o bots.Options) bots.Report {
	t.Helper()
	o.Server, o.Fleet, o.Game, o.Over = client.Client{Endpoint: server.URL}, "demo", h.arena, time.Second
	r, err := bots.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	return r
}
