package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// TestAnnounce compares the published payload of each result with the developer guide's:
// the port is a string, members of game sessions are present only if there is one, and
// customEventData only if the queue has some.
func TestAnnounce(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		f := c.fleet(fleet.CreateInput{Locations: []string{"custom-a"}})
		for _, q := range []Queue{
			{Name: "told", EventData: "x", Target: "arn:aws:sns:us-east-1:000000000000:topic", Timeout: 10 * time.Second},
			{Name: "plain"},
		} {
			q.Destinations = []string{c.fleetARN(f)}
			c.create(q)
		}
		begin := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		for _, id := range []string{"cancelled", "late"} {
			c.place("told", Request{ID: id})
		}
		_, _, err := c.places.Stop(c.Ctx, "cancelled")
		c.Must(err)
		wait.Settle(10 * time.Second)
		later := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		c.place("plain", Request{ID: "placed", Players: []session.Joining{{PlayerID: "ann"}}})
		c.process(f.ID, "custom-a", activates)
		wait.Settle(0)
		c.place("plain", Request{ID: "failed"})
		c.Must(c.places.Queues.Delete.Do(c.Ctx, "plain"))
		p := c.get("placed")

		for code, want := range map[event.Code]map[string]any{
			event.PlacementCancelled: {"type": "PlacementCancelled", "placementId": "cancelled", "startTime": begin, "endTime": begin, "customEventData": "x"},
			event.PlacementTimedOut:  {"type": "PlacementTimedOut", "placementId": "late", "startTime": begin, "endTime": later, "customEventData": "x"},
			event.PlacementFailed:    {"type": "PlacementFailed", "placementId": "failed", "startTime": later, "endTime": later},
			event.PlacementFulfilled: {
				"type": "PlacementFulfilled", "placementId": "placed", "port": "7001", "gameSessionArn": p.GameSessionID,
				"ipAddress": "192.0.2.1", "dnsName": "192.0.2.1", "startTime": later, "endTime": later, "gameSessionRegion": "custom-a",
				"placedPlayerSessions": []any{map[string]any{"playerId": "ann", "playerSessionId": p.Placed[0].PlayerSessionID}},
			},
		} {
			told := c.Recorded(code)
			if len(told) != 1 {
				t.Fatalf("%s was told %d times", code, len(told))
			}
			var got map[string]any
			c.Must(json.Unmarshal(told[0].Notice.Detail, &got))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", code, diff)
			}
			if told[0].Notice.DetailType != "GameLift Queue Placement Event" || !strings.Contains(told[0].Notice.Source, ":gamesessionqueue/") {
				t.Errorf("%s: notice %+v", code, told[0].Notice)
			}
			if target := told[0].Notice.Target; (target != "") != (want["customEventData"] != nil) {
				t.Errorf("%s goes to %q", code, target)
			}
		}
	})
}

// TestMetrics compares the exposition of every metric of queues.
func TestMetrics(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		dear := c.fleet(fleet.CreateInput{Locations: []string{"custom-a", "custom-b"}, Cost: "2"})
		cheap := c.fleet(fleet.CreateInput{Locations: []string{"custom-a"}, Cost: "1"})
		c.create(Queue{Name: "q", Destinations: []string{c.fleetARN(dear), c.fleetARN(cheap)}})
		var err error
		latencies := []Latency{{"ann", "custom-a", 20}, {"ann", "custom-b", 80}}
		for _, step := range []func(){
			func() { c.process(cheap.ID, "custom-a", activates) },
			func() { _, err = c.start("q", Request{ID: "best", Latencies: latencies}) }, // lowest latency and price
			func() { c.process(dear.ID, "custom-b", activates) },
			func() { _, err = c.start("q", Request{ID: "second", Latencies: latencies}) }, // first choice is out of capacity
			func() { _, err = c.start("q", Request{ID: "cancelled"}) },
			func() { _, _, err = c.places.Stop(c.Ctx, "cancelled") },
			func() { c.Must(c.Fleets.Delete.Do(c.Ctx, dear.ID)); c.process(cheap.ID, "custom-a", activates) },
			func() { _, err = c.start("q", Request{ID: "third"}) }, // first choice is not viable
			func() { _, err = c.start("q", Request{ID: "waits"}) },
			func() { wait.Settle(30 * time.Second) },
			func() { _, err = c.start("q", Request{ID: "waits too"}) },
		} {
			step()
			c.Must(err)
			wait.Settle(0)
		}
		wait.Settle(10 * time.Second)
		want := `
# HELP muster_queue State of game session queues, under the published metric names (QueueDepth, AverageWaitTime in seconds).
# TYPE muster_queue gauge
muster_queue{metric="AverageWaitTime",queue_name="q"} 25
muster_queue{metric="QueueDepth",queue_name="q"} 2
# HELP muster_queue_events_total Events of game session queues, under the published metric names (PlacementsStarted, FirstChoiceOutOfCapacity, Placement LOCATION, …).
# TYPE muster_queue_events_total counter
muster_queue_events_total{metric="FirstChoiceNotViable",queue_name="q"} 1
muster_queue_events_total{metric="FirstChoiceOutOfCapacity",queue_name="q"} 1
muster_queue_events_total{metric="LowestLatencyPlacement",queue_name="q"} 1
muster_queue_events_total{metric="LowestPricePlacement",queue_name="q"} 3
muster_queue_events_total{metric="Placement custom-a",queue_name="q"} 2
muster_queue_events_total{metric="Placement custom-b",queue_name="q"} 1
muster_queue_events_total{metric="PlacementsCanceled",queue_name="q"} 1
muster_queue_events_total{metric="PlacementsFailed",queue_name="q"} 0
muster_queue_events_total{metric="PlacementsStarted",queue_name="q"} 6
muster_queue_events_total{metric="PlacementsSucceeded",queue_name="q"} 3
muster_queue_events_total{metric="PlacementsTimedOut",queue_name="q"} 0
`
		if err := testutil.GatherAndCompare(c.registry, strings.NewReader(want), "muster_queue", "muster_queue_events_total"); err != nil {
			t.Error(err)
		}
	})
}

// TestUniqueIDs checks that no id can be used twice if so configured.
func TestUniqueIDs(t *testing.T) {
	inCell(t, Options{UniqueIDs: true}, func(c *cell) {
		c.create(Queue{Name: "q", Timeout: 15 * time.Second})
		for _, later := range []time.Duration{15 * time.Second, time.Hour} {
			id := later.String()
			c.place("q", Request{ID: id})
			wait.Settle(later)
			if _, err := c.start("q", Request{ID: id}); err == nil || !strings.Contains(err.Error(), "was used before") {
				t.Errorf("after %s: %v", later, err)
			}
		}
	})
}

// TestSessionNames checks that attempts under one id have distinct names, even if another
// game session has taken the plain one, and that names exceed the length of an id only by
// their suffix.
func TestSessionNames(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		f := c.fleet(fleet.CreateInput{Locations: []string{"custom-a"}})
		c.create(Queue{Name: "q", Destinations: []string{c.fleetARN(f)}})
		long := strings.Repeat("x", MaxIDLength)
		c.process(f.ID, "custom-a", activates)
		_, err := c.Sessions.Create(c.Ctx, session.CreateInput{FleetID: f.ID, Location: "custom-a", MaxPlayers: 2, Token: long})
		c.Must(err)
		for range 3 {
			c.process(f.ID, "custom-a", crashes)
		}
		c.process(f.ID, "custom-a", activates)
		c.place("q", Request{ID: long})
		wait.Settle(0)
		seen := map[string]bool{}
		for _, e := range c.Recorded(event.GameSessionCreated) {
			name := e.GameSessionID[strings.LastIndex(e.GameSessionID, "/")+1:]
			if seen[name] || len(name) > MaxIDLength+9 {
				t.Errorf("a second game session is called %s, or that is too long", name)
			}
			seen[name] = true
		}
		if len(seen) != 5 || c.get(long).Status != Fulfilled {
			t.Errorf("%d game sessions; the placement is %s", len(seen), c.get(long).Status)
		}
	})
}

// TestSessionNames_LongAfter checks that a second attempt under an id has its own name
// even if the first one's game session is archived.
func TestSessionNames_LongAfter(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		f := c.fleet(fleet.CreateInput{Locations: []string{"custom-a"}})
		c.create(Queue{Name: "q", Timeout: 15 * time.Second, Destinations: []string{c.fleetARN(f)}})
		for range 2 {
			c.process(f.ID, "custom-a", silent)
			c.place("q", Request{ID: "p"})
			wait.Settle(time.Hour)
		}
		made := c.Recorded(event.GameSessionCreated)
		if len(made) != 2 || made[0].GameSessionID == made[1].GameSessionID {
			t.Errorf("%d game sessions, the second is called %s", len(made), made[len(made)-1].GameSessionID)
		}
	})
}
