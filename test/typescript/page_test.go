package typescript

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/test/node"
)

// screenshots is the environment variable with the folder where screenshots are kept.
const screenshots = "MUSTER_SCREENSHOTS"

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
			tab := openTab(t, ctx, link+"?auto=6", size)
			var result struct {
				Ending    string
				Place     int
				Players   int
				Snapshots int
			}
			tab.await("new Promise(r => { const i = setInterval(() => { if (document.querySelectorAll('#scores li').length > 1) { clearInterval(i); r(true) } }, 50) })", new(bool))
			tab.screenshot("arena-" + strings.ReplaceAll(size, ",", "x") + ".png")
			tab.await("globalThis.game", &result)
			if result.Ending != "left" || result.Players != 2 || result.Place < 1 || result.Snapshots < 20 {
				t.Errorf("played: %+v", result)
			}
			var steps []string
			tab.await("[...document.querySelectorAll('#steps li')].map(l => l.innerText)", &steps)
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

// tab is a page in Chromium, controlled by its DevTools protocol.
type tab struct {
	*testing.T
	ws   *websocket.Conn
	last int
}

func openTab(t *testing.T, ctx context.Context, url, size string) *tab {
	t.Helper()
	profile := t.TempDir()
	short, err := os.MkdirTemp("", "chromium") // a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
		"--window-size="+size, "--user-data-dir="+profile, "--remote-debugging-port=0", "about:blank")
	cmd.Env = append(os.Environ(), "TMPDIR="+short)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to kill all its processes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	for ctx.Err() == nil {
		if at := debugger(profile); at != "" {
			ws, _, err := websocket.DefaultDialer.DialContext(ctx, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ws.Close() })
			b := &tab{T: t, ws: ws}
			b.call("Page.enable", nil, new(struct{}))
			b.call("Page.navigate", map[string]any{"url": url}, new(struct{}))
			b.event("Page.loadEventFired")
			return b
		}
		time.Sleep(50 * time.Millisecond) // until Chromium has written its file and opened the page
	}
	t.Fatal("chromium opened no page")
	return nil
}

// debugger returns the address by which the page is controlled, "" before there is one.
func debugger(profile string) string {
	text, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
	if err != nil {
		return ""
	}
	port, _, _ := strings.Cut(string(text), "\n")
	answer, err := http.Get("http://127.0.0.1:" + port + "/json/list")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	var targets []struct {
		Type, URL string
		Debugger  string `json:"webSocketDebuggerUrl"`
	}
	if json.NewDecoder(answer.Body).Decode(&targets) != nil {
		return ""
	}
	for _, target := range targets {
		if target.Type == "page" && target.URL == "about:blank" {
			return target.Debugger
		}
	}
	return ""
}

// fromTab is a message of the protocol: the end of a call, or an event.
type fromTab struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  any
}

func (b *tab) read() (m fromTab) {
	b.Helper()
	b.ws.SetReadDeadline(time.Now().Add(time.Minute))
	if err := b.ws.ReadJSON(&m); err != nil {
		b.Fatal(err)
	}
	return m
}

// event waits for an event.
func (b *tab) event(method string) {
	b.Helper()
	for b.read().Method != method {
	}
}

// call makes a call of the protocol, and decodes its result.
func (b *tab) call(method string, params map[string]any, result any) {
	b.Helper()
	b.last++
	if err := b.ws.WriteJSON(map[string]any{"id": b.last, "method": method, "params": params}); err != nil {
		b.Fatal(err)
	}
	for {
		m := b.read()
		if m.ID != b.last {
			continue // an event
		}
		if m.Error != nil {
			b.Fatalf("%s: %v", method, m.Error)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			b.Fatal(err)
		}
		return
	}
}

// await decodes the value of an expression, which may be a promise, in the page.
func (b *tab) await(expression string, value any) {
	b.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails any
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if out.ExceptionDetails != nil {
		b.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
	if err := json.Unmarshal(out.Result.Value, value); err != nil {
		b.Fatal(fmt.Errorf("%s: %w: %s", expression, err, out.Result.Value))
	}
}

// screenshot takes a picture of the page, and keeps it if there is a folder for it.
func (b *tab) screenshot(name string) {
	b.Helper()
	var out struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &out)
	picture, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil || len(picture) == 0 {
		b.Fatalf("no picture: %v", err)
	}
	if dir := os.Getenv(screenshots); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), picture, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}
