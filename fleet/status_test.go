package fleet_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// A managed fleet passes through each status, with the events of each, although a host may
// report only some.
func TestAdvance_StepByStep(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{})
	f := x.managed()
	x.happened(f.ID, 0, event.FleetCreated)
	steps := []struct {
		to     fleet.Status
		events []event.Code
	}{
		{fleet.Downloading, []event.Code{event.FleetStateDownloading}},
		{fleet.Building, []event.Code{
			event.FleetExtractingBuild, event.FleetStateValidating, event.FleetValidatingRuntime,
			event.FleetStateBuilding, event.FleetRunningInstaller,
		}},
		{fleet.Validating, nil}, // never back
		{fleet.Active, []event.Code{
			event.LocationStateActivating, event.FleetCompletedInstaller, event.FleetStateActivating,
			event.LocationStateActive, event.FleetStateActive,
		}},
		{fleet.Downloading, nil},
		{fleet.Deleting, nil}, // no status before ACTIVE
	}
	want := fleet.Made
	for _, s := range steps {
		since, calls := x.now(), x.desired
		x.advance(f.ID, home, s.to)
		x.happened(f.ID, since, s.events...)
		if len(s.events) > 0 {
			want = s.to
		}
		if f := x.get(f.ID); f.Status != want || x.at(f.ID, home).Status != want {
			t.Errorf("after %s: fleet %s, location %s, want %s", s.to, f.Status, x.at(f.ID, home).Status, want)
		}
		if called := x.desired > calls; called != (len(s.events) > 0) {
			t.Errorf("%s: OnDesired was called: %v", s.to, called)
		}
	}
	x.advance("fleet-none", home, fleet.Active)
	x.advance(f.ID, "custom-nowhere", fleet.Active)
}

// The fleet moves with the location that is furthest, and fails with the last one.
func TestFail(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{})
	fail := func(id, location string) {
		x.Update(func(tx *store.Tx) { x.Fleets.Fail(tx, id, location, event.FleetActivationFailed, "no such file") })
	}
	want := func(what, id string, all, first, second fleet.Status) {
		t.Helper()
		if a, b := x.at(id, home).Status, x.at(id, other).Status; x.get(id).Status != all || a != first || b != second {
			t.Errorf("%s: fleet %s, locations %s and %s", what, x.get(id).Status, a, b)
		}
	}
	f := x.managed(other)
	x.advance(f.ID, other, fleet.Building)
	want("one advances", f.ID, fleet.Building, fleet.Made, fleet.Building)
	fail(f.ID, other)
	want("one fails", f.ID, fleet.Building, fleet.Made, fleet.Error)
	x.Update(func(tx *store.Tx) { x.Fleets.SetWaitReason(tx, f.ID, home, "no host has room") })
	fail(f.ID, home)
	want("all fail", f.ID, fleet.Error, fleet.Error, fleet.Error)
	if x.at(f.ID, home).WaitsForHost || x.get(f.ID).WantsInstances(x.at(f.ID, home)) {
		t.Error("a location in ERROR waits for instances")
	}
	g := x.managed(other)
	x.advance(g.ID, home, fleet.Active)
	fail(g.ID, home)
	want("an ACTIVE one fails", g.ID, fleet.Active, fleet.Active, fleet.Made)
	fail(g.ID, other)
	want("the other fails", g.ID, fleet.Active, fleet.Active, fleet.Error)
}

// SetWaitReason records an event only when a wait begins.
func TestSetWaitReason(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{})
	f := x.managed()
	since := x.now()
	for _, text := range []string{"", "no host has room", "still none", "", ""} {
		x.Update(func(tx *store.Tx) { x.Fleets.SetWaitReason(tx, f.ID, home, text) })
		if l := x.at(f.ID, home); l.WaitsForHost != (text != "") {
			t.Errorf("waits for a host: %v after %q", l.WaitsForHost, text)
		}
	}
	x.happened(f.ID, since, event.GenericEvent)
}

// No event asks for a host in a location that was created to have no instances, until its capacity has
// been set; it is ACTIVE as soon as the fleet is.
func TestSetWaitReason_Unused(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{})
	f := x.tagged(map[string]string{fleet.CapacityTag: "MinSize=0 DesiredInstances=0", fleet.CapacityTag + ":" + other: "DesiredInstances=01"}, other)
	since := x.now()
	for _, text := range []string{"no host has room", "", "no host has room"} {
		x.Update(func(tx *store.Tx) { x.Fleets.SetWaitReason(tx, f.ID, home, text) })
	}
	x.happened(f.ID, since)
	if l := x.at(f.ID, home); !l.Unused || !l.WaitsForHost || x.at(f.ID, other).Unused {
		t.Errorf("created %+v", l)
	}
	x.advance(f.ID, other, fleet.Active)
	now := x.get(f.ID)
	if l := x.at(f.ID, home); now.Status != fleet.Active || !l.Idle(now) {
		t.Errorf("in a fleet that is %s it waits: %+v", now.Status, l)
	}
	x.Must(x.capacity(fleet.CapacityInput{FleetID: f.ID, Min: ptr(1)}))
	if l := x.at(f.ID, home); l.Unused || l.Idle(x.get(f.ID)) {
		t.Errorf("with a capacity of its own: %+v", l)
	}
	since = x.now()
	for _, text := range []string{"", "no host has room"} {
		x.Update(func(tx *store.Tx) { x.Fleets.SetWaitReason(tx, f.ID, home, text) })
	}
	x.happened(f.ID, since, event.GenericEvent)
}

// A fleet is deleted once nothing runs in it any more; until then it cannot be changed.
func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, celltest.Options{})
		second := 0
		x.Fleets.OnDeleting(func() { second++ })
		f := x.anywhere("custom-a")
		if f.Status != fleet.Active || !f.Created.Equal(time.Now()) || !f.TakesProcesses("custom-a") {
			t.Fatalf("created %+v", f)
		}
		x.Must(x.Fleets.Delete.Do(x.Ctx, f.ID))
		if x.deleted != 1 || second != 1 {
			t.Errorf("OnDeleting was called %d and %d times", x.deleted, second)
		}
		if leaving := slices.Collect(x.Fleets.Leaving(x.Store.View())); len(leaving) != 1 || leaving[0].TakesProcesses("custom-a") {
			t.Errorf("leaving %v", leaving)
		}
		x.refused(x.Fleets.Delete.Do(x.Ctx, f.ID), fault.InvalidRequest)
		_, err := x.Fleets.Update.Do(x.Ctx, fleet.UpdateInput{FleetID: f.ID, Name: ptr("new")})
		x.refused(err, fault.InvalidFleetStatus)
		x.refused(x.Fleets.Locations.Delete.Do(x.Ctx, "custom-a"), fault.InvalidRequest)
		x.Update(func(tx *store.Tx) { x.Fleets.Finish(tx, f.ID) })
		if x.get(f.ID) != nil {
			t.Error("the fleet is left")
		}
		x.Must(x.Fleets.Locations.Delete.Do(x.Ctx, "custom-a"))
		x.happened(f.ID, 0, event.FleetCreated, event.FleetStateActive, event.FleetDeleting, event.FleetDeleted)
	})
}

func TestLocations(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{Quotas: fleet.Quotas{LocationsPerFleet: 2}})
	f := x.managed(home) // named twice, it is one
	if len(f.Locations) != 1 || f.Locations[0].Capacity != (fleet.Capacity{Desired: 1, Max: 1}) {
		t.Fatalf("locations %+v", f.Locations)
	}
	x.refused(x.add(f.ID, other), fault.InvalidFleetStatus)
	x.advance(f.ID, home, fleet.Active)
	for _, bad := range [][]string{{home}, {"custom-nowhere"}, {other, other}} {
		err := x.add(f.ID, bad...)
		if !fault.Is(err, fault.InvalidRequest) && !fault.Is(err, fault.LimitExceeded) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	x.Must(x.add(f.ID, other))
	if l := x.at(f.ID, other); l.Status != fleet.Made || !x.get(f.ID).WantsInstances(l) || !x.get(f.ID).TakesProcesses(other) {
		t.Errorf("added %+v", l)
	}
	x.refused(x.add(f.ID, "eu-central-1"), fault.LimitExceeded)
	x.refused(x.remove(f.ID, home), fault.InvalidRequest)
}

// A location is removed when nothing runs there any more.
func TestRemoveLocations(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{})
	f := x.anywhere("custom-a")
	_, err := x.Fleets.Locations.Create(x.Ctx, "custom-b", nil)
	x.Must(err)
	x.Must(x.add(f.ID, "custom-b"))
	x.Must(x.remove(f.ID, "custom-b"))
	if l := x.at(f.ID, "custom-b"); l.Status != fleet.Deleting || x.get(f.ID).Has("custom-b") || x.deleted != 1 {
		t.Errorf("removed %+v", l)
	}
	x.refused(x.remove(f.ID, "custom-b"), fault.InvalidRequest)
	x.Update(func(tx *store.Tx) { x.Fleets.FinishLocation(tx, f.ID, "custom-b") })
	if x.get(f.ID).Place("custom-b") != nil {
		t.Error("the location is left")
	}
}

// Whatever hosts report and in whatever order, statuses change only as Moves lists, a
// location that is ACTIVE stays ACTIVE until it is deleted, and a fleet is ACTIVE if and only
// if a location was.
func TestStatus_History(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := newFixture(t, celltest.Options{})
		f := x.managed(other)
		was := map[string]fleet.Status{"": fleet.Made, home: fleet.Made, other: fleet.Made}
		statuses := []fleet.Status{fleet.Made, fleet.Downloading, fleet.Validating, fleet.Building, fleet.Activating, fleet.Active, fleet.Error, fleet.Deleting}
		rt.Repeat(map[string]func(*rapid.T){
			"advance": func(rt *rapid.T) {
				x.advance(f.ID, rapid.SampledFrom([]string{home, other}).Draw(rt, "location"), rapid.SampledFrom(statuses).Draw(rt, "to"))
			},
			"fail": func(rt *rapid.T) {
				location := rapid.SampledFrom([]string{home, other}).Draw(rt, "location")
				x.Update(func(tx *store.Tx) { x.Fleets.Fail(tx, f.ID, location, event.FleetActivationFailed, "") })
			},
			"delete": func(*rapid.T) { _ = x.Fleets.Delete.Do(x.Ctx, f.ID) },
			"": func(rt *rapid.T) {
				now := map[string]fleet.Status{"": x.get(f.ID).Status, home: x.at(f.ID, home).Status, other: x.at(f.ID, other).Status}
				for name, status := range now {
					if !reachable(was[name], status) {
						rt.Fatalf("%q went from %s to %s", name, was[name], status)
					}
				}
				active := now[home] == fleet.Active || now[other] == fleet.Active
				if now[""] != fleet.Deleting && active != (now[""] == fleet.Active) {
					rt.Fatalf("fleet %s with locations %s and %s", now[""], now[home], now[other])
				}
				was = now
			},
		})
	})
}

// reachable reports whether moves lead from a status to another.
func reachable(from, to fleet.Status) bool {
	if from == to {
		return true
	}
	for m := range fleet.Moves {
		if m[0] == from && m[1] != from && reachable(m[1], to) {
			return true
		}
	}
	return false
}
