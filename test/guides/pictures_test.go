package guides

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

var pictures = flag.Bool("pictures", false, "make the pictures of the README and of the tutorial anew")

// The size of pictures of the console.
const (
	pictureWidth  = 1100
	pictureHeight = 640
)

// TestPictures_Tutorial makes the pictures of the tutorial: two players play, and have played.
func TestPictures_Tutorial(t *testing.T) {
	needsPictures(t, "python3 chromium")
	p := parts(t)["Python"]
	d := newDesk(t)
	seen := d.server(p.server)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		player := d.shell(strings.TrimSpace(p.player))
		keyboard, err := player.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := player.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { keyboard.Close(); syscall.Kill(-player.Process.Pid, syscall.SIGKILL); player.Wait() })
		fmt.Fprintln(keyboard, "50") // from now on the player is in the game
	}
	seen.Code(t, "PLAYER_SESSION_ACCEPTED")
	seen.Code(t, "PLAYER_SESSION_ACCEPTED")
	tab := open(t, ctx, d.muster+"/console/sessions")
	tab.Until(ctx, `document.querySelector("td a[href*='sessions?id=']")`)
	tab.Await(`(document.querySelector("td a[href*='sessions?id=']").click(), true)`, new(bool))
	tab.Until(ctx, `document.querySelectorAll("h2").length > 1`)
	settle()
	keep(t, "pictures/ten-minutes-session.webp", tab.Picture())
	tab.Await(`(location.href = "/console/events", true)`, new(bool))
	tab.Until(ctx, `document.querySelectorAll("td").length > 20`)
	settle()
	keep(t, "pictures/ten-minutes-events.webp", tab.Picture())
}

// TestPictures_Demo makes the moving picture of the README: the demo game in a browser, and what
// the console shows while bots play.
func TestPictures_Demo(t *testing.T) {
	needsPictures(t, "chromium")
	server := node.Serve(t, node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn", "--demo-processes", "12")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bots := exec.CommandContext(ctx, node.Path(t), "bots", "--endpoint", server.URL, "--players", "36", "--match-size", "4", "--games", "6", "--for", "14s", "--over", "20s")
	if err := bots.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bots.Process.Kill(); bots.Wait() })
	var frames []frame

	link := wait.Value(t, "the server names a page", func() ([]string, error) {
		log := server.Log()
		if link := gamePage.FindStringSubmatch(log); link != nil {
			return link, nil
		}
		return nil, fmt.Errorf("the log is\n%s", log)
	})
	game := open(t, ctx, link[1]+"?auto=20")
	game.Until(ctx, `document.querySelectorAll('#scores li').length > 1`)
	for range 5 {
		time.Sleep(900 * time.Millisecond) // the game goes on
		frames = append(frames, frame{"The demo game in a browser: logged in, matched and placed by Muster", game.Picture(), 900})
	}
	tab := open(t, ctx, server.URL+"/console/?range=15m")
	show := func(what, go_, until string) {
		t.Helper()
		if go_ != "" {
			tab.Await(go_, new(bool))
		}
		tab.Until(ctx, until)
		settle()
		frames = append(frames, frame{what, tab.Picture(), 2600})
	}
	show("Now: can players play?", "", `document.querySelectorAll("main section, main .panel").length > 3`)
	show("A fleet: is there room?", `(location.href = "/console/fleets", true)`, `document.querySelector("td a[href*='fleets?id=']")`)
	frames = frames[:len(frames)-1] // the list was on the way
	show("A fleet: is there room, and what does each game server do?", `(document.querySelector("td a[href*='fleets?id=']").click(), true)`, `document.querySelector("main canvas")`)
	show("", `(location.href = "/console/matchmaking", true)`, `document.querySelector("td a[href*='matchmaking?name=bots']")`)
	frames = frames[:len(frames)-1]
	show("Matchmaking: are rules or players the limit?", `(document.querySelector("td a[href*='matchmaking?name=bots']").click(), true)`, `document.querySelectorAll("main svg").length > 1`)
	show("", `(location.href = "/console/sessions", true)`, `document.querySelector("td a[href*='sessions?id=']")`)
	frames = frames[:len(frames)-1]
	show("A game session: its players, its game server's log", `([...document.querySelectorAll("tr")].find(r => r.textContent.includes("4 of 4") && r.textContent.includes("ACTIVE"))?.querySelector("a[href*='sessions?id=']").click(), true)`, `location.search.includes("id=")`)
	keep(t, "demo.svg", moving(frames))
	moves(t, ctx, frames)
}

// moves checks that each frame of the moving picture is seen in its time, and no other.
func moves(t *testing.T, ctx context.Context, frames []frame) {
	t.Helper()
	tab := open(t, ctx, "file://"+filepath.Join(document.Top(t), "docs", "demo.svg"))
	at := 0
	for i, f := range frames {
		var seen []string
		tab.Await(fmt.Sprintf(`(document.getAnimations().forEach(a => { a.pause(); a.currentTime = %d }),
			[...document.querySelectorAll("g")].filter(g => getComputedStyle(g).opacity > 0).map(g => g.id))`, at+f.shown/2), &seen)
		if want := fmt.Sprintf("f%d", i); len(seen) != 1 || seen[0] != want {
			t.Errorf("after %d ms the picture shows %q, want %s", at+f.shown/2, seen, want)
		}
		at += f.shown
	}
}

// gamePage is what the server prints of the demo game's page.
var gamePage = regexp.MustCompile(`(?m)^Play in a browser: (\S+)$`)

// frame is a picture of a moving one.
type frame struct {
	caption string
	webp    []byte
	shown   int // for how many milliseconds
}

// moving returns an SVG that shows frames one after the other, without a script.
func moving(frames []frame) []byte {
	const caption = 40
	total := 0
	for _, f := range frames {
		total += f.shown
	}
	var style, body strings.Builder
	at := 0
	for i, f := range frames {
		from, to := 100*float64(at)/float64(total), 100*float64(at+f.shown)/float64(total)
		fmt.Fprintf(&style, "@keyframes k%d{0%%,%.3f%%{opacity:0}%.3f%%,%.3f%%{opacity:1}%.3f%%,100%%{opacity:0}}#f%d{animation:k%d %dms infinite step-end}\n",
			i, from, from+.001, to, to+.001, i, i, total)
		fmt.Fprintf(&body, `<g id="f%d"><image y="%d" width="%d" height="%d" href="data:image/webp;base64,%s"/><text x="20" y="26">%s</text></g>`+"\n",
			i, caption, pictureWidth, pictureHeight, base64.StdEncoding.EncodeToString(f.webp), f.caption)
		at += f.shown
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d">
<style>
g{opacity:0}text{font:500 16px system-ui,"Segoe UI",Roboto,sans-serif;fill:#e8ebf0}
%[3]s@media (prefers-reduced-motion:reduce){g{animation:none!important}#f%[4]d{opacity:1}}
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#161a21"/>
%[5]s</svg>
`, pictureWidth, pictureHeight+caption, style.String(), len(frames)-1, body.String())
}

// needsPictures skips the test unless pictures are to be made.
func needsPictures(t *testing.T, programs string) {
	t.Helper()
	if !*pictures {
		t.Skip("make pictures makes them")
	}
	needs(t, programs)
}

// open opens a page of the size of pictures.
func open(t *testing.T, ctx context.Context, url string) *chromium.Tab {
	t.Helper()
	tab := chromium.Open(t, ctx, url, fmt.Sprintf("%d,%d", pictureWidth, pictureHeight))
	tab.Resize(pictureWidth, pictureHeight)
	return tab
}

// settle waits until a page has drawn what it has just loaded, of which a page does not tell.
func settle() { time.Sleep(2 * time.Second) }

// keep writes a picture to docs.
func keep(t *testing.T, name string, picture []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(document.Top(t), "docs", filepath.FromSlash(name)), picture, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("docs/%s has %d bytes", name, len(picture))
}
