package placement

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// nearby is a far that is another region of this deployment.
type nearby struct {
	*far
	asleep atomic.Bool
	woken  atomic.Pointer[string] // why
}

func newNearby(free int) *nearby {
	n := &nearby{far: newFar(farRegion, free, 5)}
	n.survives = true
	return n
}

func (n *nearby) Poll() time.Duration { return 500 * time.Millisecond }

func (n *nearby) Survey(ctx context.Context, destination string) (Survey, error) {
	found, err := n.far.Survey(ctx, destination)
	if n.asleep.Load() && err == nil {
		found.Places[0].Asleep, found.Places[0].Free = true, 0
	}
	return found, err
}

// Wake implements Neighbor.
func (n *nearby) Wake(ctx context.Context, _ Place, why string) error {
	return n.call(ctx, "Wake", func() error {
		n.woken.Store(&why)
		n.asleep.Store(false)
		return nil
	})
}

// withNearby runs f in virtual time, in a cell whose queue q leads to another region and then to
// a fleet here with a free process.
func withNearby(t *testing.T, n *nearby, f func(c *cell, here *fleet.Fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCell(t, store.NewMemory(), Options{Remotes: Remotes{n}})
		c.run()
		defer c.Close()
		here := c.fleet(fleet.CreateInput{Locations: []string{"custom-here"}})
		c.process(here.ID, "custom-here", activates)
		wait.Settle(time.Second)
		c.create(Queue{Name: "q", Destinations: []string{n.destination(), c.fleetARN(here)}})
		f(c, here)
		n.late.Wait()
	})
}

// A placement that comes before anything is known of another region waits for its answer, and
// goes to the better place. Its game session has the id of the placement.
func TestNeighbor_Awaited(t *testing.T) {
	t.Parallel()
	n := newNearby(2)
	withNearby(t, n, func(c *cell, _ *fleet.Fleet) {
		c.place("q", Request{ID: "p"})
		wait.Settle(10 * time.Second)
		p := c.get("p")
		if p.Status != Fulfilled || arn.SessionFleet(p.GameSessionID) != "fleet-"+farRegion || !strings.HasSuffix(p.GameSessionID, "/p") {
			t.Errorf("p is %s at %q: %q", p.Status, p.GameSessionID, c.outcomes("p"))
		}
		all, err := c.Events.Read(c.Ctx, event.Query{Limit: 100})
		c.Must(err)
		for _, e := range all {
			if e.Value.Code == event.PlacementSent && !strings.HasPrefix(e.Value.Message, "to region "+farRegion+", fleet ") {
				t.Errorf("the event says %q", e.Value.Message)
			}
		}
	})
}

// Another region that cannot be reached holds no placement up.
func TestNeighbor_Away(t *testing.T) {
	t.Parallel()
	n := newNearby(2)
	n.cut = true
	withNearby(t, n, func(c *cell, here *fleet.Fleet) {
		c.place("q", Request{ID: "p"})
		wait.Settle(10 * time.Second)
		if p := c.get("p"); p.Status != Fulfilled || arn.SessionFleet(p.GameSessionID) != here.ID {
			t.Errorf("p is %s at %q", p.Status, p.GameSessionID)
		}
		n.set(func() { n.cut = false })
		wait.Settle(7 * time.Second) // it is asked again soon
		c.place("q", Request{ID: "next"})
		wait.Settle(5 * time.Second)
		if p := c.get("next"); p.Status != Fulfilled || arn.SessionFleet(p.GameSessionID) != "fleet-"+farRegion {
			t.Errorf("next is %s at %q: %q", p.Status, p.GameSessionID, c.outcomes("next"))
		}
	})
}

// A placement that nothing has room for wakes a location of another region, even if the first
// requests to do so are lost.
func TestNeighbor_Asleep(t *testing.T) {
	t.Parallel()
	n := newNearby(1)
	n.asleep.Store(true)
	withNearby(t, n, func(c *cell, here *fleet.Fleet) {
		c.place("q", Request{ID: "first"})
		wait.Settle(10 * time.Second)
		if p := c.get("first"); arn.SessionFleet(p.GameSessionID) != here.ID || n.woken.Load() != nil {
			t.Fatalf("first is at %q, and the other region is woken: %v", p.GameSessionID, n.woken.Load() != nil)
		}
		c.place("q", Request{ID: "p"})
		lost := 0
		n.set(func() { n.mute = func(what string) bool { lost++; return what == "Wake" && lost < 4 } })
		wait.Settle(time.Minute)
		if why := n.woken.Load(); why == nil || *why != "placement p waits for a process" {
			t.Errorf("woken: %v", why)
		}
		if p := c.get("p"); p.Status != Fulfilled || arn.SessionFleet(p.GameSessionID) != "fleet-"+farRegion {
			t.Errorf("p is %s at %q: %q", p.Status, p.GameSessionID, c.outcomes("p"))
		}
	})
}
