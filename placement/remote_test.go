package placement

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/histories"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// withFar runs f in virtual time, in a cell whose queue q leads to a fleet here and to some
// remotes, in this order.
func withFar(t *testing.T, f func(c *cell, here *fleet.Fleet, q Queue), remotes ...*far) {
	t.Helper()
	withFarOn(t, store.NewMemory(), f, remotes...)
}

// withFarOn is like withFar, on a driver.
func withFarOn(t *testing.T, driver store.Driver, f func(c *cell, here *fleet.Fleet, q Queue), remotes ...*far) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCell(t, driver, Options{Remotes: all(remotes)})
		c.run()
		defer c.Close()
		f(c, c.fleet(fleet.CreateInput{Locations: []string{"custom-here"}, Cost: "1"}), c.queueTo(remotes))
		for _, r := range remotes {
			r.late.Wait()
		}
	})
}

func all(remotes []*far) (rs Remotes) {
	for _, r := range remotes {
		rs = append(rs, r)
	}
	return rs
}

// queueTo returns a queue with remotes as destinations, which is not stored yet.
func (c *cell) queueTo(remotes []*far) Queue {
	q := Queue{Name: "q"}
	for _, r := range remotes {
		q.Destinations = append(q.Destinations, r.destination())
	}
	return q
}

// outcomes returns the candidates of a placement's last decision, or of now, as text.
func (c *cell) outcomes(id string) (all []string) {
	c.Helper()
	e, err := c.places.Explain(c.Ctx, id)
	c.Must(err)
	round := e.Now
	for i := range e.Rounds {
		if len(e.Rounds[i].Candidates) > 0 && e.Now == nil {
			round = &e.Rounds[i]
		}
	}
	for _, v := range round.Candidates {
		all = append(all, strings.TrimSpace(fmt.Sprint(v.Place.Remote, " ", v.Outcome)))
	}
	return all
}

// What is here comes first in this queue, and the remotes take what does not fit, the
// cheaper one first; what is known of them decides without asking first.
func TestRemote_Overflow(t *testing.T) {
	dear, cheap := newFar("dear", 10, 1), newFar("cheap", 1, 2)
	dear.cost, cheap.cost, dear.survives, cheap.survives = 3, 2, true, true
	withFar(t, func(c *cell, here *fleet.Fleet, q Queue) {
		q.Destinations = append(q.Destinations, c.fleetARN(here))
		q.Priority = []Criterion{ByCost}
		c.create(q)
		c.process(here.ID, "custom-here", activates)
		wait.Settle(10 * time.Second) // the remotes have been asked
		for i, want := range []string{here.ID, "fleet-cheap", "fleet-dear"} {
			id := fmt.Sprint("p-", i)
			c.place("q", Request{ID: id, Players: []session.Joining{{PlayerID: "ann"}, {PlayerID: "bob"}}})
			wait.Settle(10 * time.Second)
			p := c.get(id)
			if p.Status != Fulfilled || arn.SessionFleet(p.GameSessionID) != want || len(p.Placed) != 2 {
				t.Fatalf("%s is %s at %q with %v, want %q; %q", id, p.Status, p.GameSessionID, p.Placed, want, c.outcomes(id))
			}
		}
		if diff := cmp.Diff([]string{"NO_FREE_PROCESS", "cheap NO_FREE_PROCESS", "dear CHOSEN"}, c.outcomes("p-2")); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
		p := c.get("p-1")
		if p.Location != "custom-cheap" || p.IPAddress != "192.0.2.9" || p.Port == 0 {
			t.Errorf("the placement is at %s, %s:%d", p.Location, p.IPAddress, p.Port)
		}
		if dear.calls["Create"] != 1 || cheap.calls["Create"] != 1 {
			t.Errorf("cheap was asked for %d game sessions, and dear for %d", cheap.calls["Create"], dear.calls["Create"])
		}
	}, dear, cheap)
}

// A remote that cannot be reached, or is full though its survey said otherwise, is passed
// over, and used again when it can be.
func TestRemote_Away(t *testing.T) {
	r := newFar("r", 0, 3)
	r.survives = true
	withFar(t, func(c *cell, here *fleet.Fleet, q Queue) {
		q.Destinations = append(q.Destinations, c.fleetARN(here))
		c.create(q)
		r.set(func() { r.cut = true })
		wait.Settle(20 * time.Second)
		c.place("q", Request{ID: "p"})
		wait.Settle(time.Second)
		if diff := cmp.Diff([]string{"r REMOTE_UNAVAILABLE", "NO_FREE_PROCESS"}, c.outcomes("p")); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
		r.set(func() { r.cut = false })
		wait.Settle(time.Minute)
		if diff := cmp.Diff([]string{"r NO_FREE_PROCESS", "NO_FREE_PROCESS"}, c.outcomes("p")); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
		r.set(func() { r.free = 1 })
		wait.Settle(20 * time.Second)
		if p := c.get("p"); p.Status != Fulfilled || r.calls["Create"] != 1 {
			t.Errorf("the placement is %s after %d requests", p.Status, r.calls["Create"])
		}
	}, r)
}

// A remote that nobody configured is refused, with what to do.
func TestRemote_Unknown(t *testing.T) {
	withFar(t, func(c *cell, _ *fleet.Fleet, q Queue) {
		q.Destinations = []string{newFar("other", 0, 0).destination()}
		_, err := c.places.Queues.Create.Do(c.Ctx, QueueInput{Queue: q, Elsewhere: c.places.Queues.Elsewhere(c.Ctx, q.Destinations)})
		if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "region eu-west-1 and account 222222222222, and --remotes names no deployment") {
			t.Errorf("got %v", err)
		}
	}, newFar("r", 0, 3))
}

// A remote that answers nothing is asked to end a game session at intervals that double, up to a
// minute, and so learns of it within a minute once it can be reached.
func TestRemote_BackOff(t *testing.T) {
	r := newFar("r", 1, 3)
	r.survives = true
	withFar(t, func(c *cell, _ *fleet.Fleet, q Queue) {
		c.create(q)
		wait.Settle(10 * time.Second)
		c.place("q", Request{ID: "p"})
		for r.asked("Create") == 0 {
			wait.Settle(10 * time.Millisecond)
		}
		wait.Settle(400 * time.Millisecond) // it has answered
		var asked []time.Time
		r.set(func() {
			r.cut = true
			r.mute = func(what string) bool {
				if what == "Terminate" {
					asked = append(asked, time.Now())
				}
				return false
			}
		})
		_, _, err := c.places.Stop(c.Ctx, "p")
		c.Must(err)
		wait.Settle(5 * time.Minute)
		if len(asked) < 10 || asked[1].Sub(asked[0]) > time.Second {
			t.Fatalf("it was asked at %s", asked)
		}
		for n := 2; n < len(asked); n++ {
			if got, want := asked[n].Sub(asked[n-1]), min(2*asked[n-1].Sub(asked[n-2]), longestEnding); got != want {
				t.Errorf("request %d was sent %s after the one before it, want %s", n, got, want)
			}
		}
		r.set(func() { r.cut = false })
		wait.Settle(longestEnding + time.Second)
		if n := len(r.live()); n != 0 {
			t.Errorf("%d game sessions are live", n)
		}
	}, r)
}

// TestRemote_Histories runs random histories of placements in a queue that leads to this
// cell and to two remotes, over a network that loses, delays and repeats, with restarts, and
// checks what must always hold.
func TestRemote_Histories(t *testing.T) {
	histories.Check(t, remoteHistory)
}

func remoteHistory(t *rapid.T) {
	driver := store.NewMemory()
	remotes := []*far{newFar("x", 3, rapid.Uint64().Draw(t, "seed x")), newFar("y", 3, rapid.Uint64().Draw(t, "seed y"))}
	for _, r := range remotes {
		r.losses, r.refuses = rapid.IntRange(0, 60).Draw(t, "losses"), rapid.IntRange(0, 20).Draw(t, "refusals")
		r.lingers = time.Duration(rapid.IntRange(0, 90).Draw(t, "lingers")) * time.Second
	}
	c := newCell(t, driver, Options{Remotes: all(remotes)})
	defer func() { c.Close() }()
	c.run()
	here := c.fleet(fleet.CreateInput{Locations: []string{"custom-here"}})
	q := c.queueTo(remotes)
	q.Timeout = 2 * time.Minute
	q.Destinations = append(q.Destinations, c.fleetARN(here))
	c.create(q)
	players := []session.Joining{{PlayerID: "ann"}, {PlayerID: "bob"}}
	begun, stopped := 0, []string{}
	for range rapid.IntRange(5, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 6).Draw(t, "step") {
		case 0, 1:
			begun++
			c.place("q", Request{ID: fmt.Sprint("p-", begun), Players: players})
		case 2:
			if begun > 0 {
				id := fmt.Sprint("p-", rapid.IntRange(1, begun).Draw(t, "stopped"))
				if _, _, err := c.places.Stop(c.Ctx, id); err == nil {
					stopped = append(stopped, id)
				}
			}
		case 3:
			c.Stop()
			digest := c.Store.View().Digest()
			if err := c.Store.Close(); err != nil {
				t.Fatal(err)
			}
			links, made := c.links, c.made
			c = newCell(t, driver, Options{Remotes: all(remotes)})
			if c.Store.View().Digest() != digest {
				t.Fatal("the state that was loaded is not the one that was left")
			}
			for key, l := range links {
				l.c, c.links[key] = c, l
			}
			c.made = made
			c.run()
		case 4:
			r := remotes[rapid.IntRange(0, 1).Draw(t, "cut")]
			r.mu.Lock()
			r.cut = !r.cut
			r.mu.Unlock()
		case 5:
			c.process(here.ID, "custom-here", rapid.SampledFrom([]behaviour{activates, silent}).Draw(t, "acts"))
		}
		wait.Settle(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
		checkFar(t, c, remotes, false)
	}
	for _, r := range remotes {
		r.mu.Lock()
		r.cut, r.losses = false, 0
		r.mu.Unlock()
		r.late.Wait()
	}
	wait.Settle(2*lateness + time.Hour)
	checkFar(t, c, remotes, true)
	for _, id := range stopped {
		if p := c.get(id); p.Status != Cancelled {
			t.Fatalf("%s, which was stopped, is %s", id, p.Status)
		}
	}
	if n := c.places.t.attempts.Len(c.Store.View()); n != 0 {
		t.Fatalf("%d attempts are left", n)
	}
	if n := len(c.Recorded(event.PlacementLeft)); n != 0 {
		t.Fatalf("%d game sessions were left", n)
	}
}

// checkFar checks that no two placements have one game session, that one which is FULFILLED at a
// remote has the slots of all its players there, and, once all has settled, that nothing else is
// live.
func checkFar(t *rapid.T, c *cell, remotes []*far, settled bool) {
	t.Helper()
	view := c.Store.View()
	used := map[string]bool{} // game sessions of fulfilled placements
	at := map[string]*far{}   // by fleet
	for _, r := range remotes {
		at["fleet-"+r.name] = r
	}
	for p := range c.places.t.placements.All(view) {
		if p.Status == Fulfilled {
			if used[p.GameSessionID] || len(p.Placed) != 2 || p.Placed[0].PlayerID == p.Placed[1].PlayerID {
				t.Fatalf("%s is FULFILLED at %s with %v", p.ID, p.GameSessionID, p.Placed)
			}
			used[p.GameSessionID] = true
			if r := at[arn.SessionFleet(p.GameSessionID)]; r != nil && !r.has(p.GameSessionID, p.Placed) {
				t.Fatalf("%s is FULFILLED at %s with %v, which the remote does not have", p.ID, p.GameSessionID, p.Placed)
			}
		}
		if settled && !p.Over() {
			t.Fatalf("%s is %s", p.ID, p.Status)
		}
	}
	if settled {
		for _, e := range c.Recorded(event.PlacementFulfilled) { // its row may be archived
			used[e.GameSessionID] = true
		}
	}
	for _, r := range remotes {
		for _, s := range r.live() {
			if settled && !used[s.ID] {
				t.Fatalf("game session %s is live and belongs to no placement", s.ID)
			}
			if len(s.players) > 2 {
				t.Fatalf("game session %s has slots for %v", s.ID, s.players)
			}
		}
	}
}
