package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
)

// start runs an app until the test ends: in memory and open to anyone, unless change
// says otherwise.
func start(t *testing.T, change func(*app.Options)) *app.App {
	t.Helper()
	a, err := app.New(options(t, change))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, a) })
	return a
}

func options(t *testing.T, change func(*app.Options)) app.Options {
	o := app.Options{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Store: "memory", AcceptAny: true}
	if change != nil {
		change(&o)
	}
	return o
}

// run runs a server as the program does, and returns its URL and output; end stops it.
func run(t *testing.T, o app.Options) (base string, out *screen, end func()) {
	t.Helper()
	out = newScreen()
	o.Out = out
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ends with %v", err)
		}
		ended <- nil // end may be called again
	}
	t.Cleanup(func() {
		end()
		if t.Failed() {
			t.Logf("the output was:\n%s", out)
		}
	})
	return out.await(t, "ready "), out, end
}

func stop(t *testing.T, a *app.App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// call runs an operation unsigned.
func call(t *testing.T, a *app.App, operation string, in any) map[string]any {
	t.Helper()
	var out map[string]any
	c := &client.Client{Endpoint: "http://" + a.Addr().String()}
	if err := c.Call(t.Context(), operation, in, &out); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

// get requests a URL and returns status and body.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(body))
}

// screen is a writer that tests can wait on.
type screen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // closed and replaced with each write
}

func newScreen() *screen { return &screen{wrote: make(chan struct{})} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.wrote)
	s.wrote = make(chan struct{})
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits for a line with a prefix, and returns the rest of it.
func (s *screen) await(t *testing.T, prefix string) string {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		s.mu.Lock()
		text, wrote := s.text.String(), s.wrote
		s.mu.Unlock()
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, prefix); ok && strings.HasSuffix(rest, "\n") {
				return strings.TrimSpace(rest)
			}
		}
		select {
		case <-wrote:
		case <-patience:
			t.Fatalf("no line begins with %q in:\n%s", prefix, text)
		}
	}
}

func jsonLog(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
	return v
}

// createdSession is a game session in the answer of CreateGameSession.
type createdSession struct {
	GameSessionID string `json:"GameSessionId"`
	IPAddress     string `json:"IpAddress"`
	DNSName       string `json:"DnsName"`
	Port          int
}

// createWhenFree creates a game session as soon as a process is free, which is a moment
// after it became ACTIVE.
func createWhenFree(t *testing.T, base string, in map[string]any) createdSession {
	t.Helper()
	c := &client.Client{Endpoint: base}
	for {
		var out struct{ GameSession createdSession }
		err := c.Call(t.Context(), "CreateGameSession", in, &out)
		if err == nil {
			return out.GameSession
		}
		if code(err) != "FleetCapacityExceededException" {
			t.Fatal(err)
		}
	}
}
