package typescript

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// Headless Chromium plays the demo game from the page that `muster local` names, with nobody
// else there, by real sockets, to its end.
func TestPage_GameIsPlayed(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("chromium is missing (Debian package chromium), so no page can play")
	}
	server, err := node.Run(node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo-players", "0", "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	link := pageLink(t, ctx, server)
	for _, size := range []string{"1280,860", "412,915"} { // a desk and a phone
		t.Run(size, func(t *testing.T) {
			tab := chromium.Open(t, ctx, link+"?auto=6", size)
			var result struct {
				Ending    string
				Place     int
				Players   int
				Snapshots int
			}
			tab.Await("new Promise(r => { const i = setInterval(() => { if (document.querySelectorAll('#scores li').length > 1) { clearInterval(i); r(true) } }, 50) })", new(bool))
			tab.Screenshot("arena-" + strings.ReplaceAll(size, ",", "x") + ".png")
			tab.Await("globalThis.game", &result)
			if result.Ending != "left" || result.Players != 2 || result.Place < 1 || result.Snapshots < 20 {
				t.Errorf("played: %+v", result)
			}
			var steps []string
			tab.Await("[...document.querySelectorAll('#steps li')].map(l => l.innerText)", &steps)
			shown := strings.Join(steps, "\n")
			for _, want := range []string{"guest ", "custom-local", "completed", "you (", "ACTIVE", "psess-"} {
				if !strings.Contains(shown, want) {
					t.Errorf("the page does not show %q:\n%s", want, shown)
				}
			}
		})
	}
}

var playLink = regexp.MustCompile(`(?m)^Play in a browser: (\S+)$`)

// pageLink returns the link that the server prints once the page is served.
func pageLink(t *testing.T, ctx context.Context, server *node.Process) string {
	t.Helper()
	for ctx.Err() == nil {
		if m := playLink.FindStringSubmatch(server.Log()); m != nil {
			return m[1]
		}
		time.Sleep(20 * time.Millisecond) // of another process's output
	}
	t.Fatalf("the server named no page:\n%s", server.Log())
	return ""
}
