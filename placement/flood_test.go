package placement

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// TestFlood has 10,000 placements wait for scarce capacity that arrives in bursts, and
// restarts the node in between. All are placed, in order of arrival.
func TestFlood(t *testing.T) {
	const total = 10_000
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		c := newCell(t, driver, Options{})
		defer func() { c.Close() }()
		f := c.fleet(fleet.CreateInput{Locations: []string{"custom-a"}})
		_, err := c.places.Queues.Create.Do(c.Ctx, QueueInput{Queue: Queue{Name: "q", Destinations: []string{c.fleetARN(f)}}})
		c.Must(err)
		c.run()
		var came []string
		for i := range total {
			came = append(came, fmt.Sprintf("p-%x", i*7919%65536)) // ids are unrelated to the order
			_, err := c.start("q", Request{ID: came[i]})
			c.Must(err)
		}
		for burst, made := 0, 0; made < total; burst++ {
			n := min(total-made, 1+burst*977%1500)
			for range n {
				c.process(f.ID, "custom-a", activates)
			}
			synctest.Wait()
			made += n
			if got := len(c.Recorded(event.PlacementFulfilled)); got != made {
				t.Fatalf("burst %d: %d are placed, want %d", burst, got, made)
			}
			if burst%3 == 1 {
				c = c.reopened(t, driver)
			}
		}
		var made []string
		for _, e := range c.Recorded(event.GameSessionCreated) {
			made = append(made, e.GameSessionID[strings.LastIndex(e.GameSessionID, "/")+1:])
		}
		if diff := cmp.Diff(came, made); diff != "" {
			t.Errorf("game sessions are not in the order of their placements (-placements +game sessions):\n%s", diff)
		}
		c.check()
	})
}

// reopened stops the node and returns a new one on the same database.
func (c *cell) reopened(t *testing.T, driver store.Driver) *cell {
	digest := c.Store.View().Digest()
	c.Close()
	next := newCell(t, driver, Options{})
	if next.Store.View().Digest() != digest {
		t.Fatal("the state that was loaded is not the one that was left")
	}
	next.made = c.made
	next.run()
	return next
}
