package placement

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// world is the input of a plan, without the services.
type world struct {
	st     *store.Store
	t      tables
	fleets map[string]*fleet.Fleet
	room   map[Place]int
	now    time.Time
	number int // placements so far
}

func newWorld(t rapid.TB) *world {
	w := &world{
		st: store.New(store.Options{Driver: store.NewMemory()}), fleets: map[string]*fleet.Fleet{}, room: map[Place]int{},
		now: time.Unix(1_700_000_000, 0).UTC(),
	}
	w.t = newTables(w.st, Retention)
	if err := w.st.Open(context.Background()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) close() { w.st.Close() }

func (w *world) resolve(_ store.Reader, destination string) (*fleet.Fleet, Outcome) {
	if f := w.fleets[destination]; f != nil {
		return f, ""
	}
	return nil, NoSuchFleet
}

func (w *world) free(_ store.Reader, f *fleet.Fleet, location string, most int) int {
	return min(most, w.room[Place{FleetID: f.ID, Location: location}])
}

func (w *world) fleet(id string, status fleet.Status, locations ...string) {
	f := &fleet.Fleet{ID: id, Status: status}
	for _, l := range locations {
		f.Locations = append(f.Locations, fleet.LocationState{Location: l, Status: fleet.Active})
	}
	w.fleets[id] = f
}

func (w *world) update(f func(*store.Tx)) {
	if err := w.st.Update(context.Background(), func(tx *store.Tx) error { f(tx); return nil }); err != nil {
		panic(err)
	}
}

// wait adds a placement that has been waiting for some time.
func (w *world) wait(tx *store.Tx, queue string, since time.Duration, r Request) string {
	w.number++
	r.ID = fmt.Sprintf("p%06d", w.number)
	r.Summary = summarize(r.Latencies)
	w.t.requests.Put(tx, &r)
	w.t.placements.Put(tx, &Placement{
		ID: r.ID, Queue: queue, Status: Pending, Started: w.now.Add(-since), Deadline: w.now.Add(time.Hour), Arrival: r.ID,
	})
	return r.ID
}

func (w *world) plan(turn int, known held) Plan {
	return plan(&w.t, w.st.View(), w, nil, w.now, turn, known)
}

// carryOut executes a plan.
func (w *world) carryOut(p Plan) {
	w.update(func(tx *store.Tx) {
		for _, proposal := range p.Proposals {
			w.room[proposal.Place]--
			w.t.placements.Delete(tx, proposal.PlacementID)
		}
	})
}

// TestPlan_Properties generates worlds of fleets, queues and waiting placements, and
// checks plans against the rules, plan after plan as capacity and time change.
func TestPlan_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer w.close()
		w.draw(t)
		var known held
		for range rapid.IntRange(1, 6).Draw(t, "plans") {
			w.change(t)
			turn := rapid.IntRange(0, 5).Draw(t, "turn")
			fresh, again, resumed := w.plan(turn, nil), w.plan(turn, nil), w.plan(turn, known)
			if diff := cmp.Diff(fresh.Proposals, again.Proposals); diff != "" {
				t.Fatalf("the same snapshot, moment and turn give two plans:\n%s", diff)
			}
			if diff := cmp.Diff(fresh.Proposals, resumed.Proposals, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("what the plan before found out changes the plan (-fresh +resumed):\n%s", diff)
			}
			w.hold(t, resumed)
			if rapid.Bool().Draw(t, "carried out") {
				w.carryOut(resumed)
				known = resumed.Held
			} else {
				known = nil
			}
		}
	})
}

func (w *world) draw(t *rapid.T) {
	statuses := []fleet.Status{fleet.Active, fleet.Active, fleet.Active, fleet.Deleting}
	for _, id := range []string{"f", "g", "h"} {
		w.fleet(id, rapid.SampledFrom(statuses).Draw(t, "status"), somePermutation(t, "locations of "+id)...)
	}
	w.update(func(tx *store.Tx) {
		for i := range rapid.IntRange(1, 3).Draw(t, "queues") {
			q := &Queue{Name: fmt.Sprint("q", i), Destinations: rapid.Permutation([]string{"f", "g", "h", "gone"}).Draw(t, "destinations")}
			if rapid.Bool().Draw(t, "filter") {
				q.AllowedLocations = somePermutation(t, "allowed")
			}
			for range rapid.IntRange(0, 3).Draw(t, "policies") {
				q.Policies = append(q.Policies, LatencyPolicy{rapid.IntRange(1, 5).Draw(t, "cap") * 50, time.Duration(rapid.IntRange(0, 60).Draw(t, "for")) * time.Second})
			}
			w.t.queues.Put(tx, q)
		}
	})
}

// change adds placements, adds or removes free processes, and lets time pass.
func (w *world) change(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "seconds")) * time.Second)
	for _, f := range []string{"f", "g", "h"} {
		for _, l := range names {
			if rapid.IntRange(0, 3).Draw(t, "changed") == 0 {
				w.room[Place{FleetID: f, Location: l}] = rapid.IntRange(0, 3).Draw(t, "free")
			}
		}
	}
	w.update(func(tx *store.Tx) {
		queues := slices.Collect(w.t.queues.All(tx))
		for range rapid.IntRange(0, 50).Draw(t, "placements") {
			r := Request{Latencies: rapid.SliceOfN(latency(), 0, 4).Draw(t, "latencies")}
			if rapid.IntRange(0, 4).Draw(t, "override") == 0 {
				r.Latencies, r.Override = nil, &Override{rapid.SampledFrom([]Fallback{NoFallback, AfterSinglePass}).Draw(t, "fallback"), somePermutation(t, "order")}
			}
			w.wait(tx, rapid.SampledFrom(queues).Draw(t, "queue").Name, 0, r)
		}
	})
}

// hold checks a plan against an independent, plain statement of the rules.
func (w *world) hold(t *rapid.T, p Plan) {
	view := w.st.View()
	used, placed := map[Place]int{}, map[string]bool{}
	for _, proposal := range p.Proposals {
		if placed[proposal.PlacementID] {
			t.Fatalf("%s is placed twice", proposal.PlacementID)
		}
		placed[proposal.PlacementID] = true
		if used[proposal.Place]++; used[proposal.Place] > w.room[proposal.Place] {
			t.Fatalf("%v is used %d times with %d free", proposal.Place, used[proposal.Place], w.room[proposal.Place])
		}
		waiting := w.t.placements.Get(view, proposal.PlacementID)
		if why := w.wrong(view, waiting, proposal.Place); why != "" {
			t.Fatalf("%s must not be placed at %v: %s", waiting.ID, proposal.Place, why)
		}
	}
	for waiting := range w.t.placements.All(view) {
		for at, n := range w.room {
			if !placed[waiting.ID] && n > used[at] && w.wrong(view, waiting, at) == "" {
				t.Fatalf("%s waits though %v is free and allowed", waiting.ID, at)
			}
		}
	}
}

// wrong returns why a placement may not be at a place now, or "".
func (w *world) wrong(r store.Reader, p *Placement, at Place) string {
	q, request, f := w.t.queues.Get(r, p.Queue), w.t.requests.Get(r, p.ID), w.fleets[at.FleetID]
	switch {
	case !slices.Contains(q.Destinations, at.FleetID) || f.Status != fleet.Active || !f.Has(at.Location):
		return "not a destination that can host"
	case len(q.AllowedLocations) > 0 && !slices.Contains(q.AllowedLocations, at.Location):
		return "filtered"
	case request.Override != nil && request.Override.Fallback == NoFallback && !slices.Contains(request.Override.LocationOrder, at.Location):
		return "not in the override"
	}
	limit, _ := capAt(ascending(q.Policies), w.now.Sub(p.Started))
	for _, l := range request.Latencies {
		if limit > 0 && l.Location == at.Location && l.Millis > float32(limit) {
			return fmt.Sprintf("%s has %v ms, the cap is %d", l.PlayerID, l.Millis, limit)
		}
	}
	return ""
}

// TestPlan_Fair checks that queues that share a fleet get its processes in turns,
// regardless of how many become free at a time and how long the queues are.
func TestPlan_Fair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer w.close()
		w.fleet("f", fleet.Active, "a")
		queues := rapid.IntRange(2, 5).Draw(t, "queues")
		w.update(func(tx *store.Tx) {
			for i := range queues {
				q := &Queue{Name: fmt.Sprint("q", i), Destinations: []string{"f"}}
				w.t.queues.Put(tx, q)
				for range rapid.IntRange(40, 200).Draw(t, "length") {
					w.wait(tx, q.Name, 0, Request{})
				}
			}
		})
		got, turn := map[string]int{}, 0
		for range 10 {
			w.room[Place{FleetID: "f", Location: "a"}] = rapid.IntRange(1, 8).Draw(t, "burst")
			p := w.plan(turn, nil)
			turn += len(p.Proposals)
			for _, proposal := range p.Proposals {
				got[w.t.placements.Get(w.st.View(), proposal.PlacementID).Queue]++
			}
			w.carryOut(p)
		}
		least, most := turn, 0
		for i := range queues {
			least, most = min(least, got[fmt.Sprint("q", i)]), max(most, got[fmt.Sprint("q", i)])
		}
		if most-least > 1 {
			t.Fatalf("the queues got %v", got)
		}
	})
}

// BenchmarkPlan_Cycle measures one plan over 10,000 waiting placements with 20 players'
// latencies to 5 locations.
func BenchmarkPlan_Cycle(b *testing.B) {
	for _, c := range []struct {
		name  string
		free  int
		cap   int
		known bool
	}{
		{"no capacity", 0, 0, false},
		{"capacity for 10", 10, 0, false},
		{"capacity for 256", 256, 0, false},
		{"all over the cap", 1, 10, false},
		{"all over the cap, known", 1, 10, true},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkCycle(b, c.free, c.cap, c.known) })
	}
}

func benchmarkCycle(b *testing.B, free, limit int, known bool) {
	w := newWorld(b)
	defer w.close()
	locations := []string{"a", "b", "c", "d", "e"}
	w.fleet("f", fleet.Active, locations...)
	w.update(func(tx *store.Tx) {
		q := &Queue{Name: "q", Destinations: []string{"f"}}
		if limit > 0 {
			q.Policies = []LatencyPolicy{{limit, 0}}
		}
		w.t.queues.Put(tx, q)
		for i := range 10_000 {
			var r Request
			for p := range 20 {
				for l, name := range locations {
					r.Latencies = append(r.Latencies, Latency{fmt.Sprint("player", p), name, float32(20 + (i*7+p*13+l*29)%200)})
				}
			}
			w.wait(tx, q.Name, 0, r)
		}
	})
	for _, l := range locations {
		w.room[Place{FleetID: "f", Location: l}] = free
	}
	var memory held
	if known {
		memory = w.plan(0, nil).Held
	}
	b.ReportAllocs()
	for b.Loop() {
		w.plan(0, memory)
	}
}
