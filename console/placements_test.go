package console_test

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/internal/fault"
)

func TestPlacements(t *testing.T) {
	t.Parallel()
	allowed := map[auth.Action]bool{}
	b := newBundle(t, func(action auth.Action) error {
		if allowed[action] {
			return nil
		}
		return fault.New(fault.AccessDenied, "not %s", action)
	})
	b.console.Placements(console.Placements{
		Explain: func(_ context.Context, id string) (any, error) {
			switch id {
			case "gone":
				return nil, fault.Missing("PlacementId: placement gone does not exist")
			case "broken":
				return nil, errors.New("read disk: secret path")
			}
			return map[string]string{"id": id}, nil
		},
		Queues: func() any { return []string{"q"} },
	})
	for _, c := range []struct {
		path, action string
		status       int
		body         string
	}{
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
		w := httptest.NewRecorder()
		b.console.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		body, _ := io.ReadAll(w.Result().Body)
		if w.Code != c.status || !strings.Contains(string(body), c.body) || strings.Contains(string(body), "secret") {
			t.Errorf("%s as %q: %d %s, want %d %s", c.path, c.action, w.Code, body, c.status, c.body)
		}
	}
}
