package fleetiq_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// After the database lost commits, no game server is claimed that may be used by a game of
// which nobody knows, until it says that it is AVAILABLE or is registered anew. Until then it
// keeps its host, as one that is used does.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		c := open(t, driver, fleetiq.Options{})
		c.group("g")
		host := c.instances(1)[0]
		for _, id := range []string{"claimed", "free", "new", "quiet", "used"} {
			c.register("g", id, host)
		}
		c.utilize("g", "used")
		c.claim(fleetiq.ClaimInput{Group: "g", ID: "claimed"})
		confirmed, hosts := c.Store.Confirmed()+7, c.hosts
		c.Close()

		c = openWith(t, celltest.Options{Driver: driver, Confirmed: confirmed}, fleetiq.Options{})
		defer c.Close()
		c.hosts = hosts
		c.Start(c.iq.Run)
		if told := c.Recorded(event.CommitsLost); len(told) != 2 {
			t.Errorf("%d events, want one about processes and one about game servers", len(told))
		}
		for range 2 {
			c.Refused("all may be used", fault.OutOfCapacity, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g"}) })
			c.Refused("this one may be used", fault.Conflict, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g", ID: "free"}) })
			for _, id := range []string{"claimed", "free", "new", "quiet", "used"} {
				c.beat("g", id) // which does not say whether it is used
			}
			wait.Settle(fleetiq.ClaimTime) // the claim ends
		}
		available := func(id string) {
			t.Helper()
			_, err := c.iq.Servers.Update.Do(c.Ctx, fleetiq.ServerUpdate{ServerName: of("g", id), Utilization: new(fleetiq.Available), Healthy: true})
			c.Must(err)
		}
		available("free")
		if v := c.claim(fleetiq.ClaimInput{Group: "g"}); v.ID != "free" {
			t.Errorf("%s was claimed", v.ID)
		}
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("g", "new")))
		c.register("g", "new", host)
		if v := c.claim(fleetiq.ClaimInput{Group: "g"}); v.ID != "new" {
			t.Errorf("%s was claimed", v.ID)
		}
		c.utilize("g", "claimed")
		if v := c.server("g", "claimed"); v.Doubt || v.Utilization != fleetiq.Utilized {
			t.Errorf("a game server that says what it is: %+v", v)
		}

		c.drain(host)
		for _, id := range []string{"claimed", "free", "new", "used"} {
			c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("g", id)))
		}
		if len(c.Recorded(event.HostDrained)) != 0 {
			t.Error("a host counts as drained on which a game server may be used")
		}
		available("quiet")
		wait.Settle(time.Second)
		if len(c.Recorded(event.HostDrained)) != 1 {
			t.Error("a host does not count as drained whose last game server says that it is AVAILABLE")
		}
	})
}
