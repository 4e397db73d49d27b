package placement

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/histories"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// TestHistories runs random histories of placements, processes that activate, do nothing
// or crash, restarts and time, and checks the invariants.
func TestHistories(t *testing.T) {
	histories.Check(t, history)
}

// saga is one history.
type saga struct {
	*cell
	t       *rapid.T
	driver  store.Driver
	fleets  []*fleet.Fleet
	queues  map[string]Queue
	started int               // placements
	begun   map[string]uint64 // by id: how often it was started
}

func history(t *rapid.T) {
	s := &saga{t: t, driver: store.NewMemory(), queues: map[string]Queue{}, begun: map[string]uint64{}}
	s.cell = newCell(t, s.driver, Options{})
	s.run()
	defer func() { s.Close() }()
	s.furnish()
	steps := s.steps()
	names := slices.Sorted(maps.Keys(steps))
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		steps[rapid.SampledFrom(names).Draw(t, "step")]()
		synctest.Wait()
		s.check()
		s.checkCaps()
	}
	wait.Settle(2 * time.Hour)
	s.checkEnds()
}

func (s *saga) furnish() {
	for range 2 {
		limit := rapid.SampledFrom([]int{0, 1, 2}).Draw(s.t, "activation limit")
		s.fleets = append(s.fleets, s.fleet(fleet.CreateInput{
			Locations: []string{"custom-a", "custom-b"}, Runtime: fleet.Runtime{MaxActivations: limit, ActivationTimeout: 40 * time.Second},
		}))
	}
	for name, q := range map[string]Queue{
		"plain":   {Destinations: []string{s.fleetARN(s.fleets[0]), s.fleetARN(s.fleets[1])}},
		"capped":  {Destinations: []string{s.fleetARN(s.fleets[1])}, Policies: []LatencyPolicy{{100, 30 * time.Second}, {50, 20 * time.Second}}},
		"ordered": {Destinations: []string{s.fleetARN(s.fleets[0])}, Priority: []Criterion{ByLocation}, LocationOrder: []string{"custom-b"}, Timeout: 90 * time.Second},
	} {
		q.Name = name
		made, err := s.places.Queues.Create.Do(s.Ctx, QueueInput{Queue: q})
		s.Must(err)
		s.queues[name] = *made
	}
}

// steps returns what can happen. Many steps are refused, which is fine.
func (s *saga) steps() map[string]func() {
	return map[string]func(){
		"start":    s.begin,
		"another":  s.begin,
		"free":     s.free,
		"restart":  s.restart,
		"seconds":  func() { wait.Settle(time.Duration(rapid.IntRange(1, 40).Draw(s.t, "seconds")) * time.Second) },
		"minutes":  func() { wait.Settle(time.Duration(rapid.IntRange(1, 7).Draw(s.t, "minutes")) * time.Minute) },
		"cancel":   s.stopOne,
		"activate": func() { s.host(func(l *link, id string) { l.activate(id) }) },
		"crash":    func() { s.host(func(l *link, _ string) { l.end() }) },
		"deny": func() {
			s.host(func(l *link, id string) { _ = s.Sessions.SetJoinPolicy(s.Ctx, l.ref, id, session.DenyAll) })
		},
	}
}

// begin starts a placement under a new id, or under a used one.
func (s *saga) begin() {
	if s.started == 0 || rapid.IntRange(0, 3).Draw(s.t, "new id") > 0 {
		s.started++
	}
	r := Request{ID: fmt.Sprint("p-", rapid.IntRange(1, s.started).Draw(s.t, "id")), Players: []session.Joining{{PlayerID: "ann"}}}
	queue := rapid.SampledFrom([]string{"plain", "capped", "ordered"}).Draw(s.t, "queue")
	if rapid.Bool().Draw(s.t, "latencies") {
		for _, l := range []string{"custom-a", "custom-b"} {
			r.Latencies = append(r.Latencies, Latency{"ann", l, float32(rapid.IntRange(0, 4).Draw(s.t, "ms") * 40)})
		}
	}
	before := s.Store.View().Digest()
	_, err := s.start(queue, r)
	switch {
	case err == nil:
		s.begun[r.ID]++
	case s.Store.View().Digest() != before:
		s.t.Fatalf("a refusal changed the state: %v", err)
	}
}

func (s *saga) free() {
	f := rapid.SampledFrom(s.fleets).Draw(s.t, "fleet")
	acts := rapid.SampledFrom([]behaviour{activates, activates, silent, crashes}).Draw(s.t, "acts")
	s.process(f.ID, rapid.SampledFrom([]string{"custom-a", "custom-b"}).Draw(s.t, "location"), acts)
}

func (s *saga) stopOne() {
	if s.started > 0 {
		id := fmt.Sprint("p-", rapid.IntRange(1, s.started).Draw(s.t, "id"))
		_, _, _ = s.places.Stop(s.Ctx, id)
	}
}

// host calls do with a process whose game session is being activated.
func (s *saga) host(do func(*link, string)) {
	for p := range s.places.t.placements.All(s.Store.View()) {
		if p.Trying() {
			do(s.hostOf(p.ID), p.GameSessionID)
			return
		}
	}
}

// restart stops the node and starts another on the same database. Processes reconnect.
func (s *saga) restart() {
	digest := s.Store.View().Digest()
	s.Close()
	links := s.links
	s.cell = newCell(s.t, s.driver, Options{})
	if s.Store.View().Digest() != digest {
		s.t.Fatal("the state that was loaded is not the one that was left")
	}
	s.made = len(links)
	for key, l := range links {
		l.c, s.links[key] = s.cell, l
		_, _ = s.Computes.Connect(s.Ctx, compute.ConnectInput{Ref: l.ref}, l) // refused if it has ended
	}
	s.run()
}

// checkCaps checks that no game session was created over a latency cap in force.
func (s *saga) checkCaps() {
	view := s.Store.View()
	for p := range s.places.t.placements.All(view) {
		g := s.Sessions.Live(view, p.GameSessionID)
		if g == nil {
			continue
		}
		r, q := s.places.t.requests.Get(view, p.ID), s.queues[p.Queue]
		limit, _ := capAt(ascending(q.Policies), g.Created.Sub(p.Started))
		for _, l := range r.Latencies {
			if limit > 0 && l.Location == p.Location && l.Millis > float32(limit) {
				s.t.Fatalf("%s is at %s after %v: %v ms, the cap was %d", p.ID, p.Location, g.Created.Sub(p.Started), l.Millis, limit)
			}
		}
	}
}

// checkEnds checks that every placement has ended, each with one event of its end.
func (s *saga) checkEnds() {
	ended := map[string]uint64{}
	for after := uint64(0); ; {
		entries, err := s.Events.Read(s.Ctx, event.Query{After: after, Notices: true, Limit: 1000})
		s.Must(err)
		for _, e := range entries {
			after = e.Seq
			ended[e.Value.Resource]++
		}
		if len(entries) < 1000 {
			break
		}
	}
	for id, n := range s.begun {
		if p := s.get(id); !p.Over() {
			s.t.Errorf("%s is %s after two hours", id, p.Status)
		}
		if ended[id] != n {
			s.t.Errorf("%s was started %d times and ended %d times", id, n, ended[id])
		}
	}
}
