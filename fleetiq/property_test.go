package fleetiq_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/histories"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// Whatever is called in whatever order: no game server is claimed by two callers within a
// minute, statuses move as their tables say (a wrong move panics), nothing that is overdue
// is left, and a restart finds the same state.
func TestProperty(t *testing.T) {
	histories.Check(t, history)
}

func history(t *rapid.T) {
	driver := store.NewMemory()
	c := open(t, driver, fleetiq.Options{})
	defer c.Close()
	c.Start(c.iq.Run)
	hosts := c.instances(3)
	groups, servers := []string{"g", "h"}, []string{"one", "two", "three", "four"}
	owned := map[string]time.Time{} // when game servers were claimed
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		name := of(rapid.SampledFrom(groups).Draw(t, "group"), rapid.SampledFrom(servers).Draw(t, "server"))
		switch step := rapid.IntRange(0, 9).Draw(t, "step"); step {
		case 0:
			_, err := c.iq.Groups.Create.Do(c.Ctx, input(name.Group))
			c.mayFail(err)
		case 1, 2, 3:
			if err := c.tryRegister(name.Group, name.ID, rapid.SampledFrom(hosts).Draw(t, "host")); err == nil {
				delete(owned, name.ID)
			} else {
				c.mayFail(err)
			}
		case 4, 5, 6:
			claim := fleetiq.ClaimInput{Group: name.Group}
			if step == 6 {
				claim.ID = name.ID
			}
			v, err := c.iq.Servers.Claim.Do(c.Ctx, claim)
			if c.mayFail(err); err != nil {
				break
			}
			if since, twice := owned[v.ID]; twice && time.Since(since) < fleetiq.ClaimTime {
				t.Fatalf("%s was claimed again after %s", v.ID, time.Since(since))
			}
			owned[v.ID] = time.Now()
		case 7:
			_, err := c.iq.Servers.Update.Do(c.Ctx, fleetiq.ServerUpdate{ServerName: name, Healthy: true, Utilization: rapid.SampledFrom([]*fleetiq.Utilization{
				nil, new(fleetiq.Available), new(fleetiq.Utilized),
			}).Draw(t, "to")})
			c.mayFail(err)
		case 8:
			if rapid.Bool().Draw(t, "whole group") {
				_, err := c.iq.Groups.Delete.Do(c.Ctx, fleetiq.DeleteInput{
					Group: name.Group, Option: rapid.SampledFrom([]fleetiq.DeleteOption{fleetiq.SafeDelete, fleetiq.ForceDelete, fleetiq.Retain}).Draw(t, "how"),
				})
				c.mayFail(err)
			} else {
				c.mayFail(c.iq.Servers.Deregister.Do(c.Ctx, name))
			}
		case 9:
			wait.Settle(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 59 * second, 60 * second, fleetiq.HealthTime}).Draw(t, "pause"))
		}
		c.sound(t, groups)
	}
	digest := c.Store.View().Digest()
	c.Close()
	again := open(t, driver, fleetiq.Options{})
	if again.Store.View().Digest() != digest {
		t.Error("a restart finds another state")
	}
	again.Must(again.Store.Close())
}

// mayFail fails the test if err is no fault.
func (c *cell) mayFail(err error) {
	c.Helper()
	if _, ok := fault.As(err); err != nil && !ok {
		c.Fatal(err)
	}
}

// sound checks what holds once the loop has done its work.
func (c *cell) sound(rt *rapid.T, groups []string) {
	synctest.Wait()
	view, now := c.Store.View(), time.Now()
	for _, name := range groups {
		g, waits := c.iq.Groups.Get(view, name), false
		for v := range c.iq.Servers.Of(view, name, false, "") {
			if !v.ClaimedUntil.IsZero() && !v.IsClaimed(now) || v.Utilization == fleetiq.Utilized && v.IsClaimed(now) || now.Sub(v.LastHealthCheck) >= fleetiq.HealthTime {
				rt.Errorf("at %s there is %+v", now, v)
			}
			waits = waits || v.IsClaimed(now) || v.Utilization == fleetiq.Utilized
			if g == nil {
				rt.Errorf("%+v has no group", v)
			}
		}
		if g != nil && g.Status != fleetiq.Active && (g.Status != fleetiq.DeleteScheduled || g.Force || !waits) {
			rt.Error(fmt.Sprintf("group %s is %s, although it has nothing to wait for", name, g.Status))
		}
	}
}
