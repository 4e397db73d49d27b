package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/internal/fault"
)

func (b *bundle) post(path, body string) (status int, text string) {
	b.t.Helper()
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	b.console.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

func TestRules(t *testing.T) {
	t.Parallel()
	allowed := true
	b := newBundle(t, func(action auth.Action) error {
		if allowed && action == "DescribeMatchmaking" {
			return nil
		}
		return fault.New(fault.AccessDenied, "not %s", action)
	})
	b.console.Rules(console.Rules{
		Check:     func(body string) any { return map[string]string{"checked": body} },
		Templates: func() any { return []string{"duel"} },
		Simulate: func(_ context.Context, in *console.Simulation, tell func(console.Progress) error) (any, error) {
			switch in.A {
			case "wrong":
				return nil, fault.Invalid("runs: too many")
			case "late":
				return nil, errors.Join(tell(console.Progress{Done: .5}), fault.New(fault.LimitExceeded, "too many tickets"))
			}
			return map[string]uint64{"seed": in.Seed}, errors.Join(tell(console.Progress{Done: .25, Run: 1, Runs: 2}), tell(console.Progress{Done: .5}))
		},
	})
	for _, c := range []struct {
		name, path, body string
		allowed          bool
		status           int
		want             string
	}{
		{"check", "rules/check", `{"body":"x"}`, true, 200, `{"checked":"x"}`},
		{"check without permission", "rules/check", `{"body":"x"}`, false, 403, "not DescribeMatchmaking"},
		{"no JSON", "rules/check", `x`, true, 400, "the body is not what is expected"},
		{"no JSON without permission", "rules/check", `x`, false, 403, "not DescribeMatchmaking"},
		{"unknown member", "rules/check", `{"text":""}`, true, 400, "unknown field"},
		{"too large", "rules/check", `{"body":"` + strings.Repeat("x", 512<<10) + `"}`, true, 413, "512 KiB"},
		{"simulate", "simulations", `{"a":"","b":"","seed":7}`, true, 200, "{\"progress\":{\"done\":0.25,\"run\":1,\"runs\":2,\"in_play\":0}}\n{\"result\":{\"seed\":7}}\n"},
		{"simulate without permission", "simulations", `{}`, false, 403, "not DescribeMatchmaking"},
		{"refused at once", "simulations", `{"a":"wrong"}`, true, 400, "runs: too many"},
		{"refused later", "simulations", `{"a":"late"}`, true, 200, `{"error":"too many tickets"}`},
	} {
		allowed = c.allowed
		if status, text := b.post("/console/api/"+c.path, c.body); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %.200s, want %d %s", c.name, status, text, c.status, c.want)
		}
	}
}

// One simulation runs at a time. It ends when its page is closed, and when the server
// stops.
func TestRules_OneSimulation(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	ended := make(chan error, 1)
	b.console.Rules(console.Rules{Simulate: func(ctx context.Context, _ *console.Simulation, tell func(console.Progress) error) (any, error) {
		if err := tell(console.Progress{}); err != nil {
			return nil, err
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}})
	server := httptest.NewServer(b.console)
	t.Cleanup(server.Close)
	begin := func() (lines *bufio.Scanner, leave func()) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/console/api/simulations", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = bufio.NewScanner(answer.Body)
		if answer.StatusCode != http.StatusOK || !lines.Scan() {
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("simulation: %d %s", answer.StatusCode, text)
		}
		return lines, func() { cancel(); answer.Body.Close() }
	}
	_, leave := begin()
	if status, text := b.post("/console/api/simulations", "{}"); status != http.StatusServiceUnavailable || !strings.Contains(text, "another simulation is running") {
		t.Errorf("a second one: %d %s", status, text)
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("after its page was closed it ended with %v", err)
	}
	for status := 0; status != http.StatusOK; { // the first gives its place away when its handler returns
		ctx, cancel := context.WithCancel(t.Context())
		w := &recorder{ResponseRecorder: httptest.NewRecorder()}
		cancel()
		b.console.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/console/api/simulations", strings.NewReader("{}")).WithContext(ctx))
		if status = w.Code; status == http.StatusOK {
			<-ended
		} else if status != http.StatusServiceUnavailable {
			t.Fatal(status)
		}
	}
	lines, leave := begin()
	defer leave()
	b.console.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("after the console closed it ended with %v", err)
	}
	var last struct{ Error string }
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &last) != nil || last.Error != "the server is stopping" {
		t.Errorf("the last line is %q", lines.Text())
	}
}
