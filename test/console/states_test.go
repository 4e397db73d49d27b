package console

import (
	"net/url"
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

// A server on which nothing was made yet has no page that fails or says nothing.
func TestEmpty(t *testing.T) {
	needs(t)
	server := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn")
	run(t, "empty.mjs", task{Base: server.URL, Passes: []pass{{"light", 1440, nil}, {"dark", 390, nil}}}, nil)
}
