package fleetiq_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

func TestCreate(t *testing.T) {
	in(t, fleetiq.Options{Groups: 2}, func(c *cell) {
		g := c.group("g")
		if g.Status != fleetiq.Active || g.Balancing != fleetiq.SpotPreferred || g.Protection != fleetiq.NoProtection || !strings.Contains(g.StatusReason(), "SPOT_PREFERRED has no effect") {
			t.Errorf("created %+v: %s", g, g.StatusReason())
		}
		if arn := c.iq.Groups.AutoScalingARN(g); !strings.HasPrefix(arn, "arn:aws:autoscaling:us-east-1:000000000000:autoScalingGroup:") || !strings.HasSuffix(arn, ":autoScalingGroupName/gamelift-gameservergroup-g") {
			t.Errorf("the Auto Scaling group is %s", arn)
		}
		for name, in := range map[string]func(*fleetiq.CreateInput){
			"MinSize above MaxSize":  func(in *fleetiq.CreateInput) { in.Group.Machines.MinSize = 3 },
			"two names of templates": func(in *fleetiq.CreateInput) { in.Group.Machines.TemplateName = "template" },
			"no template":            func(in *fleetiq.CreateInput) { in.Group.Machines.TemplateID = "" },
			"a type twice":           func(in *fleetiq.CreateInput) { in.Group.Types[1] = in.Group.Types[0] },
		} {
			c.Refused(name, fault.InvalidRequest, func() error { _, err := c.iq.Groups.Create.Do(c.Ctx, input("new", in)); return err })
		}
		c.Refused("a reserved tag", fault.TaggingFailed, func() error {
			_, err := c.iq.Groups.Create.Do(c.Ctx, input("new", func(in *fleetiq.CreateInput) { in.Tags = map[string]string{"aws:x": "y"} }))
			return err
		})
		c.Refused("a name that is taken", fault.Conflict, func() error { _, err := c.iq.Groups.Create.Do(c.Ctx, input("g")); return err })
		quiet := c.group("on-demand", func(in *fleetiq.CreateInput) { in.Group.Balancing = fleetiq.OnDemandOnly })
		if why := quiet.StatusReason(); why != "" {
			t.Errorf("ON_DEMAND_ONLY needs no explanation: %q", why)
		}
		c.Refused("one too many", fault.LimitExceeded, func() error { _, err := c.iq.Groups.Create.Do(c.Ctx, input("new")); return err })
	})
}

func TestUpdate(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		g := c.group("g")
		wait.Settle(second)
		updated, err := c.iq.Groups.Update.Do(c.Ctx, fleetiq.UpdateInput{Group: c.iq.Groups.ARN("g"), Balancing: new(fleetiq.SpotOnly), Protection: new(fleetiq.FullProtection)})
		c.Must(err)
		if updated.Balancing != fleetiq.SpotOnly || updated.Protection != fleetiq.FullProtection || updated.RoleARN != g.RoleARN || len(updated.Types) != 2 || !updated.Updated.After(g.Updated) {
			t.Errorf("updated to %+v", updated)
		}
		c.Refused("a type twice", fault.InvalidRequest, func() error {
			_, err := c.iq.Groups.Update.Do(c.Ctx, fleetiq.UpdateInput{Group: "g", Types: []fleetiq.InstanceType{{Name: "c5.large"}, {Name: "c5.large"}}})
			return err
		})
		c.Refused("no such group", fault.NotFound, func() error { _, err := c.iq.Groups.Update.Do(c.Ctx, fleetiq.UpdateInput{Group: "none"}); return err })
		for _, suspend := range []bool{true, true, false} {
			if g, err := c.iq.Groups.Suspend.Do(c.Ctx, fleetiq.SuspendInput{Group: "g", Suspend: suspend}); err != nil || g.Suspended != suspend {
				t.Errorf("suspended %t: %+v, %v", suspend, g, err)
			}
		}
	})
}

// SAFE_DELETE and RETAIN wait until no game server is claimed or utilized; what is left then
// is deregistered, and the hosts stay.
func TestDelete_Waits(t *testing.T) {
	for _, how := range []fleetiq.DeleteOption{"", fleetiq.SafeDelete, fleetiq.Retain} {
		t.Run("option "+string(how), func(t *testing.T) {
			in(t, fleetiq.Options{}, func(c *cell) {
				c.group("g", func(in *fleetiq.CreateInput) { in.Tags = map[string]string{"k": "v"} })
				host := c.instances(1)[0]
				for _, id := range []string{"idle", "claimed", "utilized"} {
					c.register("g", id, host)
				}
				c.utilize("g", "utilized")
				c.claim(fleetiq.ClaimInput{Group: "g", ID: "claimed"})
				if g := c.delete("g", how); g.Status != fleetiq.DeleteScheduled || g.StatusReason() == "" {
					t.Errorf("deleted: %+v", g)
				}
				for name, do := range map[string]func() error{
					"register": func() error { return c.tryRegister("g", "new", host) },
					"claim":    func() error { return c.tryClaim(fleetiq.ClaimInput{Group: "g"}) },
					"suspend":  func() error { _, err := c.iq.Groups.Suspend.Do(c.Ctx, fleetiq.SuspendInput{Group: "g"}); return err },
					"delete":   func() error { _, err := c.iq.Groups.Delete.Do(c.Ctx, fleetiq.DeleteInput{Group: "g"}); return err },
				} {
					c.Refused(name, fault.InvalidRequest, do)
				}
				c.Refused("create again", fault.Conflict, func() error { _, err := c.iq.Groups.Create.Do(c.Ctx, input("g")); return err })
				wait.Settle(fleetiq.ClaimTime)
				if g := c.get("g"); g.Status != fleetiq.DeleteScheduled || len(c.listed("g", false)) != 3 {
					t.Errorf("a game server is utilized: %+v with %v", g, c.listed("g", false))
				}
				c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("g", "utilized")))
				wait.Settle(0)
				c.gone("g", 2)
				if c.Instances.Host(c.Store.View(), c.hosts[host]) == nil {
					t.Error("the host was removed")
				}
			})
		})
	}
}

// gone checks that a group, its game servers and its tags are deleted.
func (c *cell) gone(name string, servers int) {
	c.Helper()
	if c.get(name) != nil || c.listed(name, false) != nil || c.Tags.Of(c.Store.View(), c.iq.Groups.ARN(name)) != nil {
		c.Errorf("group %s is %+v with %d game servers", name, c.get(name), len(c.listed(name, false)))
	}
	n := 0
	for _, e := range c.Recorded(event.GameServerDeregistered) {
		if strings.HasSuffix(e.Message, "its group is being deleted") {
			n++
		}
	}
	if n != servers || len(c.Recorded(event.GameServerGroupDeleted)) != 1 {
		c.Errorf("%d game servers were deregistered with the group, want %d", n, servers)
	}
	c.group(name) // the name is free
}

// FORCE_DELETE waits for nothing, and deregisters any number of game servers.
func TestDelete_Force(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		host := c.instances(1)[0]
		const n = 2*store.DueAtOnce + 7
		for i := range n {
			c.register("g", fmt.Sprintf("server-%d", i), host)
		}
		c.utilize("g", "server-3")
		if g := c.delete("g", fleetiq.ForceDelete); g.Status != fleetiq.DeleteScheduled {
			t.Errorf("deleted: %+v", g)
		}
		wait.Settle(0)
		c.gone("g", n)
	})
}

// A claim that becomes a game keeps a group that is to be deleted.
func TestDelete_ClaimedBecomesUtilized(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		c.register("g", "one", c.instances(1)[0])
		c.claim(fleetiq.ClaimInput{Group: "g"})
		c.delete("g", fleetiq.SafeDelete)
		c.utilize("g", "one")
		wait.Settle(2 * fleetiq.ClaimTime)
		if c.get("g") == nil {
			t.Fatal("the group is gone although it has a game")
		}
		wait.Settle(fleetiq.HealthTime) // the game server is dead
		if c.get("g") != nil {
			t.Errorf("the group is %+v", c.get("g"))
		}
	})
}

func TestMetrics(t *testing.T) {
	in(t, fleetiq.Options{}, func(c *cell) {
		c.group("g")
		hosts := c.instances(2)
		for i := range 5 {
			c.register("g", fmt.Sprint("server-", i), hosts[i%2])
		}
		c.utilize("g", "server-1")
		c.utilize("g", "server-2")
		c.drain(hosts[1])
		want := `# HELP muster_game_server_group State of game server groups, under the published metric names (AvailableGameServers, UtilizedGameServers, DrainingAvailableGameServers, DrainingUtilizedGameServers, PercentUtilizedGameServers).
# TYPE muster_game_server_group gauge
`
		for metric, value := range map[string]int{
			"AvailableGameServers": 3, "UtilizedGameServers": 2, "PercentUtilizedGameServers": 40, "DrainingAvailableGameServers": 1, "DrainingUtilizedGameServers": 1,
		} {
			want += fmt.Sprintf("muster_game_server_group{game_server_group=\"g\",metric=%q} %d\n", metric, value)
		}
		if err := testutil.GatherAndCompare(c.registry, strings.NewReader(want), "muster_game_server_group"); err != nil {
			t.Error(err)
		}
	})
}
