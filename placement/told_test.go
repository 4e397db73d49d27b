package placement

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wait"
)

// told returns a terminal on a cell's console, without sockets, and its output.
func (c *cell) told() (*terminal.Terminal, *strings.Builder) {
	door := console.New(console.Options{
		Events: c.Events, Logger: slog.New(slog.DiscardHandler),
		Last:  func() uint64 { return c.Events.Last(c.Store.View()) },
		Allow: func(*http.Request, auth.Action, ...string) (auth.Caller, error) { return auth.Anybody(), nil },
		AllowOf: func(*http.Request, auth.Action, func(context.Context) (string, error)) (auth.Caller, error) {
			return auth.Anybody(), nil
		},
	})
	door.Placements(console.Placements{
		Explain: func(ctx context.Context, id string) (any, error) { return c.places.Explain(ctx, id) },
		Queues:  func() any { return c.places.Overview() },
	})
	var out strings.Builder
	return &terminal.Terminal{Client: &client.Client{Endpoint: "http://cell", HTTP: &http.Client{Transport: direct{door}}}, Out: &out}, &out
}

// direct answers requests by calling a handler.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestExplain_InTheTerminal checks the output, as an operator reads it, for a placement
// that waits, fails once and is placed, and for its queue.
func TestExplain_InTheTerminal(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		near := c.fleet(fleet.CreateInput{Locations: []string{"custom-near"}})
		far := c.fleet(fleet.CreateInput{Locations: []string{"custom-far"}})
		c.create(Queue{
			Name: "arena", Destinations: []string{c.fleetARN(near), c.fleetARN(far)}, Policies: []LatencyPolicy{{100, time.Minute}},
		})
		c.process(far.ID, "custom-far", activates)
		c.create(Queue{Name: "idle"})
		c.place("arena", Request{ID: "match-7", Latencies: []Latency{
			{"ann", "custom-near", 30}, {"bob", "custom-near", 50}, {"ann", "custom-far", 110}, {"bob", "custom-far", 150},
		}})
		wait.Settle(20 * time.Second)
		view, out := c.told()
		c.Must(view.Explain(c.Ctx, "match-7"))
		names := strings.NewReplacer(near.ID, "FLEET-NEAR", far.ID, "FLEET-FAR", "custom-", "")
		want := `Placement match-7 in queue arena is PENDING; it times out at DEADLINE
Latency caps: 100 ms from 0s to 1m0s, none from 1m0s on

Round 1, after 0s (cap 100 ms): no candidate has a free process that the rules allow
  # FLEET LOCATION LATENCY OUTCOME WHY
  1 FLEET-NEAR near 40 ms NO_FREE_PROCESS no free game server process
  2 FLEET-FAR far 130 ms OVER_LATENCY_CAP player bob has 150 ms to far; the cap is 100 ms for 1m0s more

Now, after 20s (cap 100 ms): no candidate has a free process that the rules allow
  # FLEET LOCATION LATENCY OUTCOME WHY
  1 FLEET-NEAR near 40 ms NO_FREE_PROCESS no free game server process
  2 FLEET-FAR far 130 ms OVER_LATENCY_CAP player bob has 150 ms to far; the cap is 100 ms for 40s more
`
		deadline := c.get("match-7").Deadline.Local().Format(time.TimeOnly)
		if diff := cmp.Diff(words(want), words(names.Replace(strings.ReplaceAll(out.String(), deadline, "DEADLINE")))); diff != "" {
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
		out.Reset()
		c.Must(view.Queues(c.Ctx))
		want = "QUEUE PENDING WAIT TIMEOUT DESTINATIONS\narena 1 20s 10m0s FLEET-NEAR,FLEET-FAR\nidle 0 0s 10m0s -\n"
		if diff := cmp.Diff(words(want), words(names.Replace(out.String()))); diff != "" {
			t.Errorf("queues (-want +got):\n%s", diff)
		}

		c.process(near.ID, "custom-near", crashes)
		wait.Settle(40 * time.Second)
		out.Reset()
		c.Must(view.Explain(c.Ctx, "match-7"))
		for _, part := range []string{
			"is FULFILLED: game session arn:", "it took 1m0s",
			"Round 2, after 20s (cap 100 ms): placed on FLEET-NEAR in near",
			"Round 3, after 20s: game session arn:", "ended before it was ACTIVE; trying elsewhere",
			"1 FLEET-FAR far 130 ms OVER_LATENCY_CAP player bob has 150 ms to far; the cap is 100 ms for 40s more",
			"2 FLEET-NEAR near 40 ms NO_FREE_PROCESS failed once before; no free game server process",
			"Round 5, after 1m0s: placed on FLEET-FAR in far",
			"2 FLEET-NEAR near 40 ms NOT_NEEDED failed once before; comes after the chosen one",
		} {
			if got := strings.Join(words(names.Replace(out.String())), "\n"); !strings.Contains(got, part) {
				t.Errorf("the end does not tell %q:\n%s", part, got)
			}
		}
	})
}

// TestExplain_JSON checks that -o json prints everything, and that an ended placement is
// explained from the archive.
func TestExplain_JSON(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		c.create(Queue{Name: "q", Timeout: 15 * time.Second})
		c.place("q", Request{ID: "p", Name: "a game"})
		view, out := c.told()
		view.JSON = true
		c.Must(view.Queues(c.Ctx))
		wait.Settle(time.Hour)
		c.Must(view.Explain(c.Ctx, "p"))
		queues, explanation, _ := strings.Cut(out.String(), "\n")
		var all []QueueState
		c.Must(json.Unmarshal([]byte(queues), &all))
		want := []QueueState{{Name: "q", ARN: c.places.Queues.ARN("q"), Pending: 1, Timeout: 15000, Destinations: []string{}}}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Error(diff)
		}
		var e struct {
			Placement struct{ Status string }
			Request   struct{ Name string }
			Rounds    []Round
		}
		c.Must(json.Unmarshal([]byte(explanation), &e, json.MatchCaseInsensitiveNames(true)))
		if e.Placement.Status != "TIMED_OUT" || e.Request.Name != "a game" || len(e.Rounds) != 2 {
			t.Errorf("got %+v", e)
		}
		if err := view.Explain(c.Ctx, "nosuch"); err == nil || !strings.Contains(err.Error(), "placement nosuch does not exist") {
			t.Errorf("an unknown one: %v", err)
		}
	})
}

// words returns lines with single spaces, so that tests do not depend on a table's
// alignment.
func words(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}
