package fleetiq_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// removing starts the removal of a host that a utilized game server of a group with
// FULL_PROTECTION keeps, and returns the id of the host.
func (c *cell) removing(instanceID string) string {
	c.Helper()
	c.group("g", func(in *fleetiq.CreateInput) { in.Group.Protection = fleetiq.FullProtection })
	c.register("g", "game", instanceID)
	c.register("g", "free", instanceID)
	c.utilize("g", "game")
	host := c.hosts[instanceID]
	gone, err := c.Instances.RemoveHost.Do(c.Ctx, instance.HostRemoval{HostID: host})
	c.Must(err)
	if gone {
		c.Error("the host is removed although a protected game server is utilized")
	}
	return host
}

func (c *cell) left(hostID string) bool { return c.Instances.Host(c.Store.View(), hostID) != nil }

func (c *cell) connected(hostID, name string) {
	c.Helper()
	c.Must(c.Instances.HostConnected.Do(c.Ctx, instance.HostPresence{HostID: hostID, Info: machine(name)}))
}

// A host that is being removed takes no game servers and no claims, so that the removal ends
// with the last game.
func TestRemoval_TakesNothing(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		at := c.instances(1)[0]
		host := c.removing(at)
		c.Refused("a claim", fault.OutOfCapacity, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g"}) })
		c.Refused("a claim by id", fault.Conflict, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g", ID: "free"}) })
		err := c.tryRegister("g", "new", at)
		if !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), "InstanceId") || !strings.Contains(err.Error(), "being removed") {
			t.Errorf("registered on a host that is being removed: %v", err)
		}
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("g", "game")))
		if c.left(host) {
			t.Error("the host is left after the last game")
		}
	})
}

// A removal is completed when the group that kept the host loses its protection, and although the
// machine has joined again, or its instance id changed.
func TestRemoval_Completed(t *testing.T) {
	for name, do := range map[string]func(c *cell, at, host string){
		"no protection": func(c *cell, _, _ string) {
			_, err := c.iq.Groups.Update.Do(c.Ctx, fleetiq.UpdateInput{Group: "g", Protection: new(fleetiq.NoProtection)})
			c.Must(err)
		},
		"joined again": func(c *cell, at, _ string) {
			c.host(at, celltest.Home.Region)
			c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("g", "game")))
			if !c.left(c.hosts[at]) {
				c.Error("the new host went with the old one")
			}
		},
		"renamed": func(c *cell, at, host string) {
			c.connected(host, at)
			if !c.left(host) {
				c.Error("removed although a protected game server is utilized")
			}
			c.connected(host, "renamed")
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, fleetiq.Options{}, func(c *cell) {
				at := c.instances(1)[0]
				host := c.removing(at)
				if do(c, at, host); c.left(host) {
					t.Error("the host is left")
				}
			})
		})
	}
}

// A host that takes the name of a connected one does not become its instance.
func TestInstances_FirstJoined(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		at := c.instances(1)[0]
		first := c.hosts[at]
		c.connected(first, at)
		wait.Settle(second)
		c.host(at, elsewhere)
		for range 2 {
			if h := c.Instances.HostOfInstance(c.Store.View(), at); h.ID != first {
				t.Errorf("the instance is host %s in %s, want the first joined", h.ID, h.Location)
			}
			c.connected(c.hosts[at], at)
		}
	})
}

// A claim chooses among the game servers of the allowed locations.
func TestClaim_Locations(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		c.register("g", "here", c.instances(1)[0])
		c.register("g", "there", c.host("i-zzzzzzzzzzzzzzzzz", elsewhere))
		c.Refused("no location", fault.OutOfCapacity, func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g", Locations: []string{}}) })
		c.Refused("another location", fault.Conflict, func() error {
			return c.tryClaim(fleetiq.ClaimInput{Group: "g", ID: "here", Locations: []string{elsewhere}})
		})
		if v := c.claim(fleetiq.ClaimInput{Group: "g", Locations: []string{elsewhere}}); v.ID != "there" {
			t.Errorf("claimed %s", v.ID)
		}
	})
}
