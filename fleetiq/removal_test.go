package fleetiq_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
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
	c.Must(c.Instances.HostConnected.Do(c.Ctx, instance.HostPresence{HostID: hostID, Info: instance.HostInfo{
		Name: name, IPAddress: "192.0.2.1", CPUMillis: 1000, MemoryMiB: 1000, PortFrom: 1, PortTo: 100,
	}}))
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

// A removal is completed when the group that kept the host loses its protection.
func TestRemoval_ProtectionEnds(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		host := c.removing(c.instances(1)[0])
		_, err := c.iq.Groups.Update.Do(c.Ctx, fleetiq.UpdateInput{Group: "g", Protection: new(fleetiq.NoProtection)})
		c.Must(err)
		if c.left(host) {
			t.Error("the host is left without protection")
		}
	})
}

// A removal is completed although the machine has joined again, or its instance id changed.
func TestRemoval_AnotherInstance(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		at := c.instances(1)[0]
		host := c.removing(at)
		c.host(at, celltest.Home.Region)
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("g", "game")))
		if c.left(host) || !c.left(c.hosts[at]) {
			t.Errorf("left: the old host %t, the new one %t", c.left(host), c.left(c.hosts[at]))
		}
	})
}

func TestRemoval_Renamed(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		at := c.instances(1)[0]
		host := c.removing(at)
		c.connected(host, at)
		if !c.left(host) {
			t.Error("removed although a protected game server is utilized")
		}
		c.connected(host, "renamed")
		if c.left(host) {
			t.Error("the renamed host is left, although it is no longer the instance of the game server")
		}
	})
}

// A host that takes the name of a connected one does not become its instance.
func TestInstances_FirstJoined(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		at := c.instances(1)[0]
		first := c.hosts[at]
		c.connected(first, at)
		celltest.Pass(second)
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
