package console_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/internal/fault"
)

func TestTickets(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{}
	b := newBundle(t, func(_ *http.Request, action string) error {
		if allowed[action] {
			return nil
		}
		return fault.New(fault.AccessDenied, "not %s", action)
	})
	missing := func(id string) error {
		if id == "gone" {
			return fault.Missing("TicketId: ticket gone does not exist")
		}
		return nil
	}
	b.console.Tickets(console.Tickets{
		Explain:  func(_ context.Context, id string) (any, error) { return map[string]string{"id": id}, missing(id) },
		Overview: func(_ context.Context, c string) (any, error) { return map[string]string{"name": c}, missing(c) },
		Trace: func(_ context.Context, c string, since time.Time) ([]any, error) {
			return []any{map[string]int{"year": since.Year()}, map[string]string{"name": c}}, missing(c)
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
	} {
		clear(allowed)
		allowed[c.action] = true
		w := httptest.NewRecorder()
		b.console.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		body, _ := io.ReadAll(w.Result().Body)
		if w.Code != c.status || !strings.Contains(string(body), c.body) {
			t.Errorf("%s as %q: %d %s, want %d %s", c.path, c.action, w.Code, body, c.status, c.body)
		}
	}
}
