package console_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/internal/fault"
)

// The doors explain tickets, placements and queues to callers who may describe them only.
func TestExplanations(t *testing.T) {
	t.Parallel()
	allowed := map[auth.Action]bool{}
	b := newBundle(t, func(action auth.Action) error {
		if allowed[action] {
			return nil
		}
		return fault.New(fault.AccessDenied, "not %s", action)
	})
	missing := func(id string) error {
		switch id {
		case "gone":
			return fault.Missing("gone does not exist")
		case "broken":
			return errors.New("read disk: secret path")
		}
		return nil
	}
	b.console.Placements(console.Placements{
		Explain: func(_ context.Context, id string) (any, error) { return map[string]string{"id": id}, missing(id) },
		Queues:  func() any { return []string{"q"} },
	})
	b.console.Tickets(console.Tickets{
		Explain:  func(_ context.Context, id string) (any, error) { return map[string]string{"id": id}, missing(id) },
		Overview: func(_ context.Context, c string) (any, error) { return map[string]string{"name": c}, missing(c) },
		Trace: func(_ context.Context, c string, since time.Time) (iter.Seq[any], error) {
			return slices.Values([]any{map[string]int{"year": since.Year()}, map[string]string{"name": c}}), missing(c)
		},
	})
	for _, c := range []struct {
		path, action string
		status       int
		body         string
	}{
		{"/console/api/tickets/t-1/explain", "", 403, "not DescribeMatchmaking"},
		{"/console/api/tickets/t-1/explain", "DescribeMatchmaking", 200, `{"id":"t-1"}`},
		{"/console/api/tickets/gone/explain", "DescribeMatchmaking", 404, "gone does not exist"},
		{"/console/api/matchmaking/duels/explain", "", 403, "not DescribeMatchmaking"},
		{"/console/api/matchmaking/duels/explain", "DescribeMatchmaking", 200, `{"name":"duels"}`},
		{"/console/api/matchmaking/gone/explain", "DescribeMatchmaking", 404, "gone does not exist"},
		{"/console/api/matchmaking/duels/trace?since=2026-01-02T15:04:05Z", "", 403, "not DescribeMatchmaking"},
		{"/console/api/matchmaking/duels/trace?since=2026-01-02T15:04:05Z", "DescribeMatchmaking", 200, "{\"year\":2026}\n{\"name\":\"duels\"}\n"},
		{"/console/api/matchmaking/duels/trace?since=yesterday", "DescribeMatchmaking", 400, "since: must be a time"},
		{"/console/api/matchmaking/gone/trace", "DescribeMatchmaking", 404, "gone does not exist"},
		{"/console/api/placements/p-1/explain", "", 403, "not DescribeGameSessionPlacement"},
		{"/console/api/placements/p-1/explain", "DescribeGameSessionPlacement", 200, `{"id":"p-1"}`},
		{"/console/api/placements/gone/explain", "DescribeGameSessionPlacement", 404, "gone does not exist"},
		{"/console/api/placements/broken/explain", "DescribeGameSessionPlacement", 500, "internal failure"},
		{"/console/api/placements/p-1", "DescribeGameSessionPlacement", 404, "nothing at"},
		{"/console/api/queues", "DescribeGameSessionPlacement", 403, "not DescribeGameSessionQueues"},
		{"/console/api/queues", "DescribeGameSessionQueues", 200, `["q"]`},
	} {
		clear(allowed)
		allowed[auth.Action(c.action)] = true
		w := &recorder{ResponseRecorder: httptest.NewRecorder()}
		b.console.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		body, _ := io.ReadAll(w.Result().Body)
		if w.Code != c.status || !strings.Contains(string(body), c.body) || strings.Contains(string(body), "secret") {
			t.Errorf("%s as %q: %d %s, want %d %s", c.path, c.action, w.Code, body, c.status, c.body)
		}
	}
}

// hurried counts the write deadlines that are set for a response.
type hurried struct {
	*httptest.ResponseRecorder
	set, cleared int
}

func (h *hurried) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		h.cleared++
	} else {
		h.set++
	}
	return nil
}

// Each page of a trace has a write deadline.
func TestTickets_TraceHasDeadlines(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.console.Tickets(console.Tickets{Trace: func(context.Context, string, time.Time) (iter.Seq[any], error) {
		return func(yield func(any) bool) {
			for n := 0; n < 1203 && yield(n); n++ {
			}
		}, nil
	}})
	w := &hurried{ResponseRecorder: httptest.NewRecorder()}
	b.console.ServeHTTP(w, httptest.NewRequest("GET", "/console/api/matchmaking/duels/trace", nil))
	if n := strings.Count(w.Body.String(), "\n"); n != 1203 || w.set != 3 || w.cleared != 1 {
		t.Errorf("%d lines under %d deadlines, %d taken away", n, w.set, w.cleared)
	}
}

// A request for a trace while another is being sent is told to try again later.
func TestTickets_OneTraceAtATime(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	ask := func() *recorder {
		w := &recorder{ResponseRecorder: httptest.NewRecorder()}
		b.console.ServeHTTP(w, httptest.NewRequest("GET", "/console/api/matchmaking/duels/trace", nil))
		return w
	}
	calls, inside := 0, 0
	b.console.Tickets(console.Tickets{Trace: func(context.Context, string, time.Time) (iter.Seq[any], error) {
		if calls++; calls == 1 {
			inside = ask().Code
		}
		return slices.Values([]any{calls}), nil
	}})
	if first, later := ask().Code, ask().Code; first != 200 || inside != 503 || later != 200 || calls != 2 {
		t.Errorf("answered %d, meanwhile %d, later %d, with %d traces made", first, inside, later, calls)
	}
}
