package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

func TestCapacity_Update(t *testing.T) {
	t.Parallel()
	zero := ptr(true)
	for name, c := range map[string]struct {
		in   fleet.CapacityInput
		want fleet.Capacity // zero if the request is refused
	}{
		"nothing":            {fleet.CapacityInput{}, fleet.Capacity{Desired: 1, Max: 1}},
		"all":                {fleet.CapacityInput{Desired: ptr(3), Min: ptr(2), Max: ptr(5)}, fleet.Capacity{Desired: 3, Min: 2, Max: 5}},
		"to none":            {fleet.CapacityInput{Desired: ptr(0), Max: ptr(0)}, fleet.Capacity{}},
		"above the maximum":  {fleet.CapacityInput{Desired: ptr(2)}, fleet.Capacity{}},
		"below the minimum":  {fleet.CapacityInput{Desired: ptr(0), Min: ptr(1)}, fleet.Capacity{}},
		"minimum too large":  {fleet.CapacityInput{Min: ptr(2)}, fleet.Capacity{}},
		"negative":           {fleet.CapacityInput{Min: ptr(-1)}, fleet.Capacity{}},
		"from zero":          {fleet.CapacityInput{FromZero: zero}, fleet.Capacity{Desired: 1, Min: 1, Max: 1, FromZero: true, IdleAfter: 30 * time.Minute}},
		"from zero, idle":    {fleet.CapacityInput{FromZero: zero, IdleAfter: ptr(time.Minute)}, fleet.Capacity{Desired: 1, Min: 1, Max: 1, FromZero: true, IdleAfter: time.Minute}},
		"from zero, at 0":    {fleet.CapacityInput{FromZero: zero, Desired: ptr(0)}, fleet.Capacity{Max: 1, FromZero: true, IdleAfter: 30 * time.Minute}},
		"minimum of its own": {fleet.CapacityInput{FromZero: zero, Min: ptr(0)}, fleet.Capacity{}},
		"idle without zero":  {fleet.CapacityInput{IdleAfter: ptr(time.Minute)}, fleet.Capacity{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newFixture(t, celltest.Options{})
			f := x.managed()
			x.advance(f.ID, home, fleet.Active)
			before, since, calls := x.at(f.ID, ""), x.now(), x.desired
			c.in.FleetID = f.ID
			err := x.capacity(c.in)
			refused := c.want == fleet.Capacity{} && name != "to none"
			if refused {
				x.refused(err, fault.InvalidRequest)
				c.want = before.Capacity
			} else {
				x.Must(err)
			}
			if got := x.at(f.ID, "").Capacity; got != c.want {
				t.Errorf("capacity %+v, want %+v", got, c.want)
			}
			if c.want == before.Capacity {
				x.happened(f.ID, since)
			} else {
				x.happened(f.ID, since, event.FleetScaling)
			}
			if changed := x.desired > calls; changed != (c.want != before.Capacity) {
				t.Errorf("OnDesired was called: %v", changed)
			}
		})
	}
}

// The capacity of the home region can be changed as soon as the fleet is ACTIVE, that of
// other locations once they are ACTIVE themselves.
func TestCapacity_BeforeActive(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{})
	f := x.managed(other)
	update := func(location string) error {
		return x.capacity(fleet.CapacityInput{FleetID: f.ID, Location: location, Desired: ptr(0)})
	}
	x.refused(update(""), fault.InvalidFleetStatus)
	x.advance(f.ID, other, fleet.Active)
	x.Must(update(""))
	x.Must(update(other))
	g := x.managed(other)
	x.advance(g.ID, home, fleet.Active)
	f = g
	x.refused(update(other), fault.InvalidFleetStatus)
	x.refused(update("custom-nowhere"), fault.NotFound)
	f = x.anywhere("custom-a")
	x.refused(update("custom-a"), fault.InvalidRequest)
}

func TestCapacity_SetDesiredStaysWithinLimits(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{})
	f := x.managed(other)
	set := func(location string, n int) int {
		x.Update(func(tx *store.Tx) { x.Fleets.Capacities.SetDesired(tx, f.ID, location, n, "a policy") })
		return x.at(f.ID, location).Capacity.Desired
	}
	if n := set(home, 0); n != 1 {
		t.Errorf("a fleet that is not ACTIVE is scaled to %d", n)
	}
	x.advance(f.ID, home, fleet.Active)
	x.Must(x.capacity(fleet.CapacityInput{FleetID: f.ID, Min: ptr(1), Max: ptr(4), Desired: ptr(2)}))
	for _, c := range []struct{ n, want int }{{3, 3}, {9, 4}, {0, 1}} {
		if n := set(home, c.n); n != c.want {
			t.Errorf("%d are set as %d, want %d", c.n, n, c.want)
		}
	}
	if n := set(other, 0); n != 1 {
		t.Errorf("a location that is not ACTIVE is scaled to %d", n)
	}
	x.Update(func(tx *store.Tx) { x.Fleets.Capacities.SetDesired(tx, "fleet-none", home, 1, "") })
}

// A location with SCALE_TO_AND_FROM_ZERO rests, sleeps and is woken; one whose scaling is
// stopped does none of it.
func TestCapacity_FromZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, celltest.Options{})
		f := x.managed()
		x.advance(f.ID, home, fleet.Active)
		rest := func() { x.Update(func(tx *store.Tx) { x.Fleets.Capacities.Rest(tx, f.ID, home, "idle") }) }
		wake := func() {
			x.Must(x.Fleets.Capacities.Wake.Do(x.Ctx, fleet.WakeInput{FleetID: f.ID, Location: home, Why: "a request"}))
		}
		want := func(what string, desired int, rests, asleep bool) {
			t.Helper()
			l := x.at(f.ID, home)
			if c := l.Capacity; c.Desired != desired || c.FromZero && c.Min != desired || l.Rests() != rests || l.Asleep() != asleep {
				t.Errorf("%s: %+v, rests %v, asleep %v", what, c, l.Rests(), l.Asleep())
			}
		}
		rest()
		want("not scaled to zero", 1, false, false)
		x.Must(x.capacity(fleet.CapacityInput{FleetID: f.ID, FromZero: ptr(true), IdleAfter: ptr(time.Hour)}))
		wake()
		want("awake", 1, true, false)
		since := x.now()
		wait.Pass(time.Hour)
		rest()
		want("rested", 0, false, true)
		rest()
		wake()
		want("woken", 1, true, false)
		x.happened(f.ID, since, event.FleetScaling, event.FleetScaling)
		_, err := x.Fleets.Capacities.SetScaling.Do(x.Ctx, fleet.ScalingInput{FleetID: f.ID, Stopped: true})
		x.Must(err)
		rest()
		want("stopped", 1, false, false)
		_, err = x.Fleets.Capacities.SetScaling.Do(x.Ctx, fleet.ScalingInput{FleetID: f.ID})
		x.Must(err)
		rest()
		want("started again", 0, false, true)
		x.Must(x.capacity(fleet.CapacityInput{FleetID: f.ID, Max: ptr(0)}))
		wake()
		want("without room", 0, false, false)
	})
}
