// Package chromium opens web pages in headless Chromium and looks at them.
package chromium

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// screenshots is the environment variable with the folder where screenshots are kept.
const screenshots = "MUSTER_SCREENSHOTS"

// Tab is a page in Chromium, controlled by its DevTools protocol.
type Tab struct {
	*testing.T
	ws   *websocket.Conn
	last int
}

// Open starts Chromium without a window, of a size such as "800,600", and returns when it has
// loaded a page. It ends with the test.
func Open(t *testing.T, ctx context.Context, url, size string) *Tab {
	t.Helper()
	cmd, profile := Command(t, "about:blank", "--window-size="+size)
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
			b := &Tab{T: t, ws: ws}
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

func (b *Tab) read() (m fromTab) {
	b.Helper()
	b.ws.SetReadDeadline(time.Now().Add(time.Minute))
	if err := b.ws.ReadJSON(&m); err != nil {
		b.Fatal(err)
	}
	return m
}

// event waits for an event.
func (b *Tab) event(method string) {
	b.Helper()
	for b.read().Method != method {
	}
}

// call makes a call of the protocol, and decodes its result.
func (b *Tab) call(method string, params map[string]any, result any) {
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

// Await decodes the value of an expression, which may be a promise, in the page.
func (b *Tab) Await(expression string, value any) {
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

// Until waits until an expression is true, in this page or one that comes in its place.
func (b *Tab) Until(ctx context.Context, expression string) {
	b.Helper()
	for b.Context().Err() == nil {
		b.last++
		ask := map[string]any{"id": b.last, "method": "Runtime.evaluate", "params": map[string]any{"expression": "Boolean(" + expression + ")", "returnByValue": true}}
		if err := b.ws.WriteJSON(ask); err != nil {
			b.Fatal(err)
		}
		m := b.read()
		for m.ID != b.last {
			m = b.read()
		}
		var out struct{ Result struct{ Value any } }
		if m.Error == nil && json.Unmarshal(m.Result, &out) == nil && out.Result.Value == true { // an error: the page goes
			return
		}
		select {
		case <-ctx.Done():
			b.Fatalf("it is never true in the page: %s", expression)
		case <-time.After(20 * time.Millisecond): // nothing tells of changes in a page
		}
	}
}

// Close closes the tab, as a person does who has another one.
func (b *Tab) Close() {
	b.Helper()
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, new(struct{}))
	b.call("Page.close", nil, new(struct{}))
}

// Screenshot takes a picture of the page, and keeps it if there is a folder for it.
func (b *Tab) Screenshot(name string) {
	b.Helper()
	picture := b.capture(map[string]any{"format": "png"})
	if dir := os.Getenv(screenshots); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), picture, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// Resize makes the page as wide and as high as given, in pixels, without scroll bars.
func (b *Tab) Resize(width, height int) {
	b.Helper()
	b.call("Emulation.setScrollbarsHidden", map[string]any{"hidden": true}, new(struct{}))
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, new(struct{}))
}

// Picture returns a small picture of the page, in the format WebP.
func (b *Tab) Picture() []byte {
	b.Helper()
	return b.capture(map[string]any{"format": "webp", "quality": 75})
}

func (b *Tab) capture(how map[string]any) []byte {
	b.Helper()
	var out struct{ Data string }
	b.call("Page.captureScreenshot", how, &out)
	picture, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil || len(picture) == 0 {
		b.Fatalf("no picture: %v", err)
	}
	return picture
}
