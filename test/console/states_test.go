package console

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// Everything can be done with a keyboard alone.
func TestKeyboard(t *testing.T) {
	needs(t)
	d := startDemo(t)
	d.crash(t)
	d.waitInVain(t)
	run(t, "keys.mjs", task{Base: d.server.URL}, nil)
}

// A page that is open while the server is killed and started says so, and goes on.
func TestLive(t *testing.T) {
	needs(t)
	d := startDemo(t)
	d.waitInVain(t)
	d.play(t)
	at, err := url.Parse(d.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "live.mjs", task{Base: d.server.URL}, map[string]func(string) any{
		"kill":  func(string) any { d.server.Kill(); return nil },
		"start": func(string) any { d.start(t, node.Path(t), at.Host); return nil },
	})
}

// Pages stay as clear to those who have chosen colors of their own, and to those who want no
// motion nothing moves.
func TestModes(t *testing.T) {
	needs(t)
	d := newDemo(t)
	run(t, "modes.mjs", task{Base: d.server.URL}, nil)
}

// A page for which the server has no stream left says so, and goes on when there is one.
func TestFull(t *testing.T) {
	needs(t)
	server := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn", "--max-streams", "2")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	for range 2 {
		stream, err := follow(ctx, server.URL+"/console/api/live/now")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	if _, err := follow(ctx, server.URL+"/console/api/live/now"); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("a third stream: %v", err)
	}
	run(t, "full.mjs", task{Base: server.URL}, map[string]func(string) any{"end": func(string) any { end(); return nil }})
}

// A server on which nothing was made yet has no page that fails or says nothing.
func TestEmpty(t *testing.T) {
	needs(t)
	server := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn")
	run(t, "empty.mjs", task{Base: server.URL, Passes: []pass{{"light", 1440, nil}, {"dark", 390, nil}}}, nil)
}
