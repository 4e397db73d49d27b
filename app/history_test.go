package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
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
	call(t, a, "CreateLocation", map[string]any{"LocationName": "custom-empty"})
	made := call(t, a, "CreateFleet", map[string]any{"Name": "f", "ComputeType": "ANYWHERE", "Locations": []any{map[string]any{"Location": "custom-empty"}}})
	call(t, a, "CreateGameSessionQueue", map[string]any{"Name": "q", "TimeoutInSeconds": 600, "Destinations": []any{map[string]any{"DestinationArn": made["FleetAttributes"].(map[string]any)["FleetArn"]}}})
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

// What the console recorded is there after a restart.
func TestConsole_HistoryOutlivesRestart(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = "sqlite" })
	before := start(t, func(c *app.Options) { *c = o })
	fails(t, before)
	begun := canceled(t, before)["15m"].Series.Begun
	stop(t, before)
	after := start(t, func(c *app.Options) { *c = o })
	wait.Until(t, "history is restored", func() bool { return canceled(t, after)["1h"].Counts["placement CANCELLED"] == 1 })
	for name, v := range canceled(t, after) {
		if v.Counts["placement CANCELLED"] != 1 || v.Series.Begun.After(begun) && !begun.IsZero() {
			t.Errorf("%s: %+v, recorded from %v", name, v.Counts, begun)
		}
	}
}

// What the console recorded is there on the node that takes over.
func TestPostgres_HistoryOutlivesTakeover(t *testing.T) {
	o := options(t, func(o *app.Options) { o.Store = pgtest.Database(t) })
	first := start(t, func(c *app.Options) { *c = o })
	second := start(t, func(c *app.Options) { *c = o })
	fails(t, first)
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	call(t, second, "ListLocations", map[string]any{}) // held until the second node serves
	wait.Until(t, "history is restored", func() bool { return canceled(t, second)["7d"].Counts["placement CANCELLED"] == 1 })
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
