package typescript

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// Headless Chromium plays the demo game from the page that `muster local` names, with nobody
// else there, by real sockets, to its end.
func TestPage_GameIsPlayed(t *testing.T) {
	chromium.Needs(t, "no page can play")
	server, err := node.Run(node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo-players", "0", "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	link := pageLink(t, server)
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
			shows(tab, "#steps", "Account\nguest ", "Latency\ncustom-local", "Bots\n")
			shows(tab, "#match", "Ticket\n.* for demo: .*completed", "Match\n.*you \\(", "Rules met\nAlikeSkill \\(met [1-9]",
				"Placement\n.* by queue demo: FULFILLED, placed on fleet-", "Game session\n.*ACTIVE", "Game server\n.*psess-")
			var above bool
			tab.Await("document.querySelector('#field').getBoundingClientRect().bottom <= document.querySelector('#match').getBoundingClientRect().top", &above)
			if !above {
				t.Error("the match is not shown beneath the game")
			}
		})
	}
}

// shows fails the test unless a list of the page has these items, which are regular
// expressions.
func shows(tab *chromium.Tab, list string, want ...string) {
	tab.Helper()
	var items []string
	tab.Await("[...document.querySelectorAll('"+list+" li')].map(l => l.innerText)", &items)
	for _, w := range want {
		if !slices.ContainsFunc(items, regexp.MustCompile("^"+w).MatchString) {
			tab.Errorf("the page's %s does not show %q: %q", list, w, items)
		}
	}
}

var playLink = regexp.MustCompile(`(?m)^Play in a browser: (\S+)$`)

// pageLink returns the link that the server prints once the page is served.
func pageLink(t *testing.T, server *node.Process) string {
	t.Helper()
	return wait.Value(t, "the server names a page", func() (string, error) {
		log := server.Log()
		if m := playLink.FindStringSubmatch(log); m != nil {
			return m[1], nil
		}
		return "", fmt.Errorf("the log is\n%s", log)
	})
}
