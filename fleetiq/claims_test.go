package fleetiq_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

var onlyActive = []fleetiq.InstanceStatus{fleetiq.InstanceActive}

// A claim lasts for a minute, to the millisecond, unless the game server becomes UTILIZED.
func TestClaim_Expires(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		host := c.instances(1)[0]
		c.register("g", "one", host)
		c.register("g", "two", host)
		first := c.claim(fleetiq.ClaimInput{Group: "g", Data: "map=7"})
		if first.ID != "one" || first.Data != "map=7" || first.Utilization != fleetiq.Available || !first.IsClaimed(time.Now()) || !first.LastClaim.Equal(time.Now()) {
			t.Errorf("claimed %+v", first)
		}
		c.claim(fleetiq.ClaimInput{Group: "g", ID: "two"})
		c.utilize("g", "two")
		wait.Settle(fleetiq.ClaimTime - time.Millisecond)
		c.Refused("all are claimed or utilized", fault.OutOfCapacity, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g"}) })
		c.Refused("it is claimed", fault.Conflict, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g", ID: "one"}) })
		wait.Settle(time.Millisecond)
		if v := c.server("g", "one"); v.IsClaimed(time.Now()) || !v.ClaimedUntil.IsZero() || !v.LastClaim.Equal(first.LastClaim) || v.Data != "map=7" {
			t.Errorf("after a minute: %+v", v)
		}
		if v := c.claim(fleetiq.ClaimInput{Group: "g"}); v.ID != "one" || v.Data != "map=7" {
			t.Errorf("claimed again: %+v", v)
		}
		c.Refused("a utilized one", fault.Conflict, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g", ID: "two"}) })
		if n := len(c.Recorded(event.GameServerClaimExpired)); n != 1 {
			t.Errorf("%d claims expired, want 1", n)
		}
	})
}

// Claims fill one instance before the next, and use DRAINING ones last, or not at all.
func TestClaim_Instances(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		hosts := c.instances(4)
		for i, at := range []int{2, 1, 0, 2, 1, 3} {
			c.register("g", fmt.Sprint("server-", i), hosts[at])
		}
		c.drain(hosts[0])
		_, err := c.Instances.RemoveHost.Do(c.Ctx, instance.HostRemoval{HostID: c.hosts[hosts[3]], Now: true})
		c.Must(err)
		c.Refused("on a draining instance", fault.Conflict, func() error {
			return c.tryClaim(fleetiq.ClaimInput{Group: "g", ID: "server-2", Statuses: onlyActive})
		})
		c.Refused("on a removed host", fault.Conflict, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g", ID: "server-5"}) })
		c.Refused("a filter without ACTIVE", fault.InvalidRequest, func() error {
			return c.tryClaim(fleetiq.ClaimInput{Group: "g", Statuses: []fleetiq.InstanceStatus{fleetiq.InstanceDraining}})
		})
		var got []string
		for range 4 {
			got = append(got, c.claim(fleetiq.ClaimInput{Group: "g", Statuses: onlyActive}).ID)
		}
		if want := []string{"server-1", "server-4", "server-0", "server-3"}; !slices.Equal(got, want) {
			t.Errorf("claimed %v, want %v", got, want)
		}
		c.Refused("only a draining instance is left", fault.OutOfCapacity, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g", Statuses: onlyActive}) })
		if v := c.claim(fleetiq.ClaimInput{Group: "g"}); v.ID != "server-2" {
			t.Errorf("claimed %s without a filter", v.ID)
		}
		c.Refused("nothing is left", fault.OutOfCapacity, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g"}) })
	})
}
