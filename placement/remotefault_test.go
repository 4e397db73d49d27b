package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// withFault runs f with a remote that comes first in a queue, and a free process here.
func withFault(t *testing.T, r *far, f func(c *cell, here *fleet.Fleet)) {
	t.Helper()
	withFaultOn(t, store.NewMemory(), r, f)
}

// withFaultOn is like withFault, on a driver.
func withFaultOn(t *testing.T, driver store.Driver, r *far, f func(c *cell, here *fleet.Fleet)) {
	t.Helper()
	r.survives = true
	withFarOn(t, driver, func(c *cell, here *fleet.Fleet, q Queue) {
		q.Destinations = append(q.Destinations, c.fleetARN(here))
		q.Priority = []Criterion{ByDestination}
		q.Timeout = 10 * time.Minute
		c.create(q)
		wait.Settle(10 * time.Second) // the remote has been asked
		c.process(here.ID, "custom-here", activates)
		f(c, here)
		if n := c.places.t.attempts.Len(c.Store.View()); n != 0 {
			t.Errorf("%d attempts are left", n)
		}
		w := c.places.away
		w.mu.Lock()
		defer w.mu.Unlock()
		w.board.mu.Lock()
		defer w.board.mu.Unlock()
		if len(w.errands) != 0 || len(w.board.taken) != 0 {
			t.Errorf("what is kept in memory of attempts that are settled: %d errands, %d processes", len(w.errands), len(w.board.taken))
		}
	}, r)
}

// begin starts a placement for ann.
func (c *cell) begin(id string) {
	c.Helper()
	c.place("q", Request{ID: id, Players: []session.Joining{{PlayerID: "ann"}}})
}

// isAt checks that a placement is FULFILLED at a fleet.
func (c *cell) isAt(id, fleetID string) {
	c.Helper()
	if p := c.get(id); p.Status != Fulfilled || arn.SessionFleet(p.GameSessionID) != fleetID {
		c.Errorf("%s is %s at %q, want fleet %s", id, p.Status, p.GameSessionID, fleetID)
	}
}

// A remote whose answers are lost holds a placement up for a bounded time: until it says by the
// token that there is no game session, or has been silent for too long. What was created
// nevertheless is ended once that is possible.
func TestRemote_Silent(t *testing.T) {
	for name, test := range map[string]struct {
		mute   []string      // requests whose answers are lost
		blind  bool          // the remote says that it has no game session
		within time.Duration // the placement is here
	}{
		"everything":           {[]string{"Create", "Describe", "Survey", "Reserve", "Reserved", "Terminate"}, false, longestSilence + 15*time.Second},
		"creations":            {[]string{"Create"}, true, 10 * time.Second},
		"once it was created":  {[]string{"Describe", "Survey", "Reserve", "Reserved", "Terminate"}, false, longestSilence + 15*time.Second},
		"the players' slots":   {[]string{"Reserve", "Reserved", "Survey"}, false, longestSilence + 15*time.Second},
		"creations of nothing": {[]string{"Create", "Survey"}, true, 10 * time.Second},
		// A game session that the remote does not know any more may be shown again.
		"nothing, it vanishes": {nil, true, 30 * time.Second},
	} {
		r := newFar("r", 1, 1)
		withFault(t, r, func(c *cell, here *fleet.Fleet) {
			r.set(func() {
				r.mute = func(what string) bool { return slices.Contains(test.mute, what) }
				if test.blind {
					r.blind = func(string) bool { return true }
				}
			})
			c.begin("p")
			wait.Settle(test.within)
			t.Log(name)
			c.isAt("p", here.ID)
			if n := r.asked("Create"); n > 12 {
				t.Errorf("%s: %d requests to create a game session were sent", name, n)
			}
			r.set(func() { r.mute, r.blind = nil, nil })
			wait.Settle(lateness + 2*time.Minute)
			if n := len(r.live()); n != 0 {
				t.Errorf("%s: %d game sessions are left at the remote", name, n)
			}
		})
	}
}

// A game session that was told to end is asked after until it has.
func TestRemote_Terminating(t *testing.T) {
	r := newFar("r", 1, 1)
	r.lingers = 5 * time.Minute
	withFault(t, r, func(c *cell, here *fleet.Fleet) {
		r.set(func() { r.mute = func(what string) bool { return what == "Reserve" || what == "Reserved" } })
		c.begin("p")
		wait.Settle(5 * time.Second)
		_, _, err := c.places.Stop(c.Ctx, "p")
		c.Must(err)
		wait.Settle(3 * time.Minute)
		if n := c.places.t.attempts.Len(c.Store.View()); n != 1 || len(r.live()) != 1 {
			t.Errorf("%d attempts are kept for %d game sessions that are being ended", n, len(r.live()))
		}
		wait.Settle(5 * time.Minute)
	})
}

// A remote that refuses what one placement asks for is still used for all others, and is not
// asked for the same again and again.
func TestRemote_RefusedRequest(t *testing.T) {
	r := newFar("r", 10, 1)
	r.denies = func(r *Request) *Refusal {
		if r.Name == "odd" {
			return &Refusal{Kind: Refused, Message: "InvalidRequestException: Name"}
		}
		return nil
	}
	withFault(t, r, func(c *cell, here *fleet.Fleet) {
		for i := range 3 {
			c.place("q", Request{ID: fmt.Sprint("odd-", i), Name: "odd"})
			wait.Settle(time.Second)
			c.begin(fmt.Sprint("p-", i))
			wait.Settle(5 * time.Second)
			c.isAt(fmt.Sprint("p-", i), "fleet-r")
		}
		c.isAt("odd-0", here.ID)
		wait.Settle(5 * time.Minute)
		if p := c.get("odd-1"); p.Status != Pending {
			t.Errorf("odd-1 is %s", p.Status)
		}
		e, err := c.places.Explain(c.Ctx, "odd-1")
		c.Must(err)
		if v := e.Now.Candidates[len(e.Now.Candidates)-1]; v.Outcome != RemoteAway || v.Text != "it refused this placement: InvalidRequestException: Name" {
			t.Errorf("explained as %+v", v)
		}
		if n := r.asked("Create"); n > 30 {
			t.Errorf("%d requests to create a game session were sent for 6 placements, of which 2 are refused", n)
		}
		wait.Settle(15 * time.Minute)
	})
}

// Only a game session that the remote says has ended counts as gone.
func TestRemoteSession(t *testing.T) {
	t.Parallel()
	for status, want := range map[session.Status][2]bool{ // whether it has ended, and is gone
		session.Activating: {false, false}, session.Active: {false, false}, session.Terminating: {true, false},
		session.Terminated: {true, true}, "ERROR": {true, true}, "": {false, false}, "MIGRATING": {false, false},
	} {
		s := RemoteSession{ID: "g", Status: status}
		if s.ended() != want[0] || s.gone() != want[1] {
			t.Errorf("%q: ended %v, gone %v", status, s.ended(), s.gone())
		}
	}
	if (RemoteSession{}).ended() {
		t.Error("no game session has ended")
	}
}

// fragile is a driver on which a commit can fail.
type fragile struct {
	*store.Memory
	fails atomic.Pointer[func() error] // of the next commit; nil: it succeeds
}

// Open implements store.Driver.
func (f *fragile) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := f.Memory.Open(ctx, cell, schema)
	return fragileDB{db, f}, err
}

type fragileDB struct {
	store.DB
	*fragile
}

// Commit implements store.DB.
func (db fragileDB) Commit(ctx context.Context, b *store.Batch) error {
	if fails := db.fails.Swap(nil); fails != nil {
		return (*fails)()
	}
	return db.DB.Commit(ctx, b)
}

// A remote has created a game session, but its answer does not become durable, and then it cannot
// be reached. That nothing was sent then says nothing about the request before it: the game session
// is used, or ended.
func TestRemote_AnswerNotDurable(t *testing.T) {
	for name, test := range map[string]struct {
		away time.Duration
		at   func(here *fleet.Fleet) string
		live int
	}{
		"back soon":     {longestSilence / 2, func(*fleet.Fleet) string { return "fleet-r" }, 1},
		"away for long": {2 * longestSilence, func(here *fleet.Fleet) string { return here.ID }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, driver := newFar("r", 1, 1), &fragile{Memory: store.NewMemory()}
			withFaultOn(t, driver, r, func(c *cell, here *fleet.Fleet) {
				lost := false
				fails := func() error {
					r.set(func() { r.cut, lost = true, len(r.sessions) == 1 })
					return errors.New("the disk is full")
				}
				r.set(func() {
					r.mute = func(what string) bool {
						if what == "Create" && !lost {
							driver.fails.Store(&fails) // of the commit of its answer
						}
						return false
					}
				})
				c.begin("p")
				wait.Settle(test.away)
				r.set(func() { r.cut = false })
				wait.Settle(lateness + 2*time.Minute)
				if !lost {
					t.Fatal("the commit that failed is not that of the answer")
				}
				c.isAt("p", test.at(here))
				if n := len(r.live()); n != test.live {
					t.Errorf("%d game sessions are live at the remote, want %d", n, test.live)
				}
			})
		})
	}
}

// What is recorded of a placement that goes elsewhere names the token of the game session that there
// may be, and only then.
func TestRemote_GivenUp(t *testing.T) {
	for _, doubt := range []bool{false, true} {
		r := newFar("r", 1, 1)
		withFault(t, r, func(c *cell, here *fleet.Fleet) {
			r.set(func() {
				r.mute = func(what string) bool { return doubt && what != "Survey" }
				r.denies = func(*Request) *Refusal {
					if doubt {
						return nil
					}
					return &Refusal{Kind: Full, Message: "FleetCapacityExceededException: no process"}
				}
			})
			c.begin("p")
			wait.Settle(longestSilence + 15*time.Second)
			c.isAt("p", here.ID)
			token := ""
			for _, g := range r.live() {
				token = g.token
			}
			retried := c.Recorded(event.PlacementRetried)
			if len(retried) != 1 || strings.Contains(retried[0].Message, "any game session there with token "+token+" is ended") != doubt {
				t.Errorf("there may be a game session: %v, with token %q; recorded is %+v", doubt, token, retried)
			}
			r.set(func() { r.mute = nil })
			wait.Settle(lateness + 2*time.Minute)
		})
	}
}
