package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
)

// start runs an app until the test ends: in memory and open to anyone, unless change
// says otherwise.
func start(t *testing.T, change func(*app.Options)) *app.App {
	t.Helper()
	return begin(t, options(t, change))
}

// begin runs an app with options until the test ends.
func begin(t *testing.T, o app.Options) *app.App {
	t.Helper()
	a := must(app.New(o))(t)
	check(t, a.Start(t.Context()))
	t.Cleanup(func() { stop(t, a) })
	return a
}

// try starts an app, stops it, and returns the first error.
func try(t *testing.T, o app.Options) error {
	t.Helper()
	a, err := app.New(o)
	if err == nil {
		err = a.Start(t.Context())
		stop(t, a)
		<-a.Done()
	}
	return err
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
	out = new(screen)
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

// must returns what a call has returned, unless that is an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// check ends the test if there is an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// at returns a client without a key.
func at(a *app.App) *client.Client { return &client.Client{Endpoint: "http://" + a.Addr().String()} }

// call runs an operation unsigned.
func call(t *testing.T, a *app.App, operation string, in any) map[string]any {
	t.Helper()
	return answered(t, at(a), operation, in)
}

// answered runs an operation, which must succeed.
func answered(t *testing.T, c *client.Client, operation string, in any) (out map[string]any) {
	t.Helper()
	if err := c.Call(t.Context(), operation, in, &out); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

// anywhere makes a location and an Anywhere fleet in it, both of a name.
func anywhere(t *testing.T, c *client.Client, name string) (id, arn string) {
	t.Helper()
	answered(t, c, "CreateLocation", map[string]any{"LocationName": "custom-" + name})
	made := answered(t, c, "CreateFleet", map[string]any{
		"Name": name, "ComputeType": "ANYWHERE", "Locations": []any{map[string]any{"Location": "custom-" + name}},
	})["FleetAttributes"].(map[string]any)
	return made["FleetId"].(string), made["FleetArn"].(string)
}

// direct is an HTTP client that follows no redirects.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// send sends a request by a client, and returns the answer with its text.
func send(t testing.TB, c *http.Client, method, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer := must(c.Do(r))(t)
	defer answer.Body.Close()
	return answer, string(must(io.ReadAll(answer.Body))(t))
}

// get requests a URL and returns status and body.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, text := send(t, direct, http.MethodGet, url, "", nil)
	return answer.StatusCode, strings.TrimSpace(text)
}

// screen is a writer that tests can wait on.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	return wait.Value(t, fmt.Sprintf("a line begins with %q", prefix), func() (string, error) {
		for line := range strings.Lines(s.String()) {
			if rest, ok := strings.CutPrefix(line, prefix); ok && strings.HasSuffix(rest, "\n") {
				return strings.TrimSpace(rest), nil
			}
		}
		return "", fmt.Errorf("the lines are\n%s", s)
	})
}

func jsonLog(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

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
