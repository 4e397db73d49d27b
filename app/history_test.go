package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
)

// queueView is the part of the view that tests read.
type queueView struct {
	Counts map[string]int
	Series struct {
		Begun  time.Time
		Values map[string][]*float64
	}
}

// fails has a server record a placement that fails.
func fails(t *testing.T, a *app.App) {
	t.Helper()
	_, fleet := anywhere(t, at(a), "empty")
	call(t, a, "CreateGameSessionQueue", map[string]any{"Name": "q", "TimeoutInSeconds": 600, "Destinations": []any{map[string]any{"DestinationArn": fleet}}})
	call(t, a, "StartGameSessionPlacement", map[string]any{"GameSessionQueueName": "q", "PlacementId": "p", "MaximumPlayerSessionCount": 2})
	call(t, a, "StopGameSessionPlacement", map[string]any{"PlacementId": "p"})
}

// canceled returns what a server knows of the placement of fails, in each range.
func canceled(t *testing.T, a *app.App) (all map[string]queueView) {
	t.Helper()
	all = map[string]queueView{}
	for _, name := range []string{"15m", "1h", "24h", "7d"} {
		var v queueView
		viewOf(t, &client.Client{Endpoint: a.URL()}, "queue?name=q&range="+name, &v)
		all[name] = v
	}
	return all
}

// A range that there is not is refused with the ranges that there are.
func TestConsole_RangeRefused(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) {})
	for _, view := range []string{"now", "crashes", "queues", "queue", "matchmakers", "matchmaker", "fleet"} {
		status, body := get(t, a.URL()+"/console/api/views/"+view+"?range=2h")
		if status != http.StatusBadRequest || !strings.Contains(body, "none of 15m, 1h, 24h and 7d") {
			t.Errorf("%s: %d %s", view, status, body)
		}
	}
}
