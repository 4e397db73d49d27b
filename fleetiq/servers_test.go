package fleetiq_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wait"
)

func TestServers_Refusals(t *testing.T) {
	in(t, fleetiq.Options{Servers: 2}, func(c *cell) {
		c.group("g")
		c.group("h")
		host := c.instances(1)[0]
		c.register("g", "one", host)
		c.utilize("g", "one")
		c.Refused("no such group", fault.NotFound, func() error { return c.tryRegister("none", "two", host) })
		c.Refused("no such host", fault.InvalidRequest, func() error { return c.tryRegister("g", "two", "i-aaaaaaaaaaaaaaaaa") })
		c.Refused("an id that is taken", fault.Conflict, func() error { return c.tryRegister("h", "one", host) })
		c.register("g", "two", host)
		c.Refused("one too many", fault.LimitExceeded, func() error { return c.tryRegister("g", "three", host) })
		c.Refused("back to AVAILABLE", fault.InvalidRequest, func() error {
			_, err := c.iq.Servers.Update.Do(c.Ctx, fleetiq.ServerUpdate{ServerName: of("g", "one"), Utilization: new(fleetiq.Available)})
			return err
		})
		for name, n := range map[string]fleetiq.ServerName{"another group's": of("h", "one"), "unknown": of("g", "none"), "of no group": of("none", "one")} {
			c.Refused("update: "+name, fault.NotFound, func() error {
				_, err := c.iq.Servers.Update.Do(c.Ctx, fleetiq.ServerUpdate{ServerName: n, Healthy: true})
				return err
			})
			c.Refused("deregister: "+name, fault.NotFound, func() error { return c.iq.Servers.Deregister.Do(c.Ctx, n) })
			c.Refused("claim: "+name, fault.NotFound, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: n.Group, ID: n.ID}) })
		}
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of(c.iq.Groups.ARN("g"), "one")))
		c.register("h", "one", host)
	})
}

// The tag of a group restricts the location of its hosts, and applies from when it is set.
func TestInstances_Location(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		here, there := c.host("a machine", celltest.Home.Region), c.host("i-0123456789abcdefg", elsewhere)
		if len(here) != 19 || there != "i-0123456789abcdefg" {
			t.Errorf("instance ids %q and %q", here, there)
		}
		instances := func() (ids []string) {
			for i := range c.iq.Instances.Of(c.Store.View(), c.get("g"), "") {
				ids = append(ids, i.ID)
			}
			return ids
		}
		if got := instances(); !slices.Equal(got, []string{here, there}) {
			t.Errorf("instances %v without a tag", got)
		}
		c.Must(c.Tags.Add.Do(c.Ctx, tag.AddArgs{ARN: c.iq.Groups.ARN("g"), Tags: map[string]string{fleetiq.LocationTag: elsewhere}}))
		if got := instances(); !slices.Equal(got, []string{there}) {
			t.Errorf("instances %v in %s", got, elsewhere)
		}
		c.Refused("a host in another location", fault.InvalidRequest, func() error { return c.tryRegister("g", "one", here) })
		c.register("g", "two", there)
		c.host("i-0123456789abcdefg", elsewhere) // the machine joins again
		if got := instances(); !slices.Equal(got, []string{there}) {
			t.Errorf("instances %v after a machine joined twice", got)
		}
	})
}

// A game server that reports no health for three minutes is deregistered; but Muster's own
// absence does not count.
func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		c := open(t, driver, fleetiq.Options{})
		c.Start(c.iq.Run)
		c.group("g")
		host := c.instances(1)[0]
		c.register("g", "silent", host)
		c.register("g", "alive", host)
		c.claim(fleetiq.ClaimInput{Group: "g", ID: "silent"})
		wait.Settle(fleetiq.HealthTime - second)
		c.beat("g", "alive")
		if c.server("g", "silent") == nil {
			t.Error("deregistered before the time")
		}
		wait.Settle(second)
		if c.server("g", "silent") != nil || c.server("g", "alive") == nil || !c.server("g", "alive").LastHealthCheck.Equal(time.Now().Add(-second)) {
			t.Errorf("left are %v", c.listed("g", false))
		}
		if n := len(c.Recorded(event.GameServerUnhealthy)); n != 1 {
			t.Errorf("%d events of unhealthy game servers, want 1", n)
		}
		c.register("g", "claimed", host)
		c.claim(fleetiq.ClaimInput{Group: "g", ID: "claimed"})
		c.Close()

		wait.Settle(time.Hour)
		again := open(t, driver, fleetiq.Options{})
		again.Start(again.iq.Run)
		wait.Settle(fleetiq.HealthTime - second)
		if v := again.server("g", "claimed"); v == nil || !v.ClaimedUntil.IsZero() || again.server("g", "alive") == nil {
			t.Errorf("after an hour's absence: %+v of %v", v, again.listed("g", false))
		}
		again.beat("g", "claimed")
		wait.Settle(second)
		if got := again.listed("g", false); !slices.Equal(got, []string{"claimed"}) {
			t.Errorf("left are %v", got)
		}
		again.Close()
	})
}

// Lists are in order of registration, in both directions, and can be read in pages.
func TestServers_Order(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		c.group("g2")
		host := c.instances(1)[0]
		var want []string
		for i := range 7 {
			id := fmt.Sprint("server-", (i*5)%7)
			c.register("g", id, host)
			c.register("g2", "other-"+id, host)
			want = append(want, id) // all at the same time
		}
		for _, newestFirst := range []bool{false, true} {
			var paged []string
			for after, full := "", true; full; {
				n := 0
				for v := range c.iq.Servers.Of(c.Store.View(), "g", newestFirst, after) {
					paged = append(paged, v.ID)
					after = v.Position(newestFirst)
					if n++; n == 3 {
						break
					}
				}
				full = n == 3
			}
			if !slices.Equal(paged, want) || !slices.Equal(c.listed("g", newestFirst), want) {
				t.Errorf("newest first %t: pages %v, list %v, want %v", newestFirst, paged, c.listed("g", newestFirst), want)
			}
			slices.Reverse(want)
		}
	})
}

// The drain of a host waits for games and claims, its removal for those of protected groups.
func TestHosts_WaitForGames(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("open")
		c.group("protected", func(in *fleetiq.CreateInput) { in.Group.Protection = fleetiq.FullProtection })
		hosts := c.instances(3)
		for i, host := range hosts {
			for _, group := range []string{"open", "protected"} {
				c.register(group, fmt.Sprint(group, "-", i), host)
			}
		}
		c.utilize("open", "open-0")
		c.claim(fleetiq.ClaimInput{Group: "protected", ID: "protected-0"})
		c.drain(hosts[0])
		drained := func(want int) {
			t.Helper()
			if n := len(c.Recorded(event.HostDrained)); n != want {
				t.Errorf("%d hosts were drained, want %d", n, want)
			}
		}
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("open", "open-0")))
		drained(0)
		wait.Settle(fleetiq.ClaimTime)
		drained(1)
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("protected", "protected-0"))) // it was free
		drained(1)

		removal := func(host string, now bool) bool {
			t.Helper()
			gone, err := c.Instances.RemoveHost.Do(c.Ctx, instance.HostRemoval{HostID: c.hosts[host], Now: now})
			c.Must(err)
			if left := c.Instances.Host(c.Store.View(), c.hosts[host]) != nil; left == gone {
				t.Errorf("the host is gone: %t; it is left: %t", gone, left)
			}
			return gone
		}
		c.utilize("open", "open-1")
		c.utilize("protected", "protected-1")
		c.utilize("protected", "protected-2")
		if removal(hosts[1], false) {
			t.Error("removed although a protected game server is utilized")
		}
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("protected", "protected-1")))
		if c.Instances.Host(c.Store.View(), c.hosts[hosts[1]]) != nil {
			t.Error("the host is left, although only an unprotected game server is utilized")
		}
		if !removal(hosts[2], true) {
			t.Error("the removal waited although it was to be immediate")
		}
	})
}
