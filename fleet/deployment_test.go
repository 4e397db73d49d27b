package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// definitions are those that fixtures know: name or ARN to version.
type definitions map[string]fleet.Definition

func (d definitions) find(_ store.Reader, name string) (fleet.Definition, error) {
	v, ok := d[name]
	if !ok {
		return v, fault.Missing("Name: container group definition %s does not exist", name)
	}
	return v, nil
}

func version(name string, number, vcpu, mib, ports int) fleet.Definition {
	return fleet.Definition{
		Group:  fleet.Group{Name: name, Version: number, CPUMillis: vcpu, MemoryMiB: mib, Ports: ports},
		Status: "READY", Ready: true,
	}
}

// shelf are definitions of all kinds; an instance of type c5.large has 2 vCPU and 4 GiB.
func shelf() definitions {
	d := definitions{
		"game:1": version("game", 1, 500, 512, 2), "game:2": version("game", 2, 500, 512, 2), "game:3": version("game", 3, 500, 512, 2),
		"wide:1": version("wide", 1, 2000, 4096, 2), "huge:1": version("huge", 1, 100_000, 4, 1),
		"side:1":    version("side", 1, 500, 1024, 1),
		"copying:1": version("copying", 1, 500, 512, 2),
	}
	side := d["side:1"]
	side.PerInstance = true
	d["side:1"] = side
	copying := d["copying:1"]
	copying.Ready, copying.Status = false, "COPYING"
	d["copying:1"] = copying
	newest := d["game:1"]
	newest.Newest = true
	d["game"] = newest
	return d
}

func containerFixture(t testing.TB) *fixture {
	return newFixture(t, celltest.Options{Definitions: shelf().find})
}

// containers creates a container fleet of game:1 on c5.large.
func (x *fixture) containers(change func(*fleet.ContainerInput)) *fleet.Fleet {
	x.Helper()
	in := fleet.ContainerInput{Role: "arn:aws:iam::000000000000:role/r", Game: "game:1", InstanceType: "c5.large"}
	if change != nil {
		change(&in)
	}
	f, err := x.Fleets.CreateContainer.Do(x.Ctx, in)
	x.Must(err)
	return f
}

func (x *fixture) report(id, location string, s fleet.DeploymentStatus) {
	x.Helper()
	x.Update(func(tx *store.Tx) {
		if d := x.Fleets.Deployments.Current(tx, id); d != nil {
			x.Fleets.Deployments.Report(tx, d.ID, location, s, "the test says so")
		}
	})
}

// run takes a container fleet to ACTIVE everywhere, and ends its first deployment.
func (x *fixture) run(f *fleet.Fleet) *fleet.Fleet {
	x.Helper()
	for _, l := range f.Locations {
		x.advance(f.ID, l.Location, fleet.Active)
		x.report(f.ID, l.Location, fleet.DeploymentComplete)
	}
	return x.get(f.ID)
}

func (x *fixture) update(in fleet.ContainerUpdate) *fleet.Fleet {
	x.Helper()
	f, err := x.Fleets.UpdateContainer.Do(x.Ctx, in)
	x.Must(err)
	return f
}

// latest returns the latest deployment of a fleet.
func (x *fixture) latest(id string) *fleet.Deployment {
	return x.Fleets.Deployments.Get(x.Store.View(), x.get(id).Containers.Deployment)
}

// expect fails the test unless a fleet runs a version, in a status, with its latest
// deployment in another.
func (x *fixture) expect(id, runs string, s fleet.Status, d fleet.DeploymentStatus) {
	x.Helper()
	f := x.get(id)
	if got := f.Containers.Game.String(); got != runs || f.Status != s || x.latest(id).Status != d {
		x.Fatalf("the fleet runs %s in %s with deployment %s, want %s, %s, %s", got, f.Status, x.latest(id).Status, runs, s, d)
	}
}

// A container fleet passes through each status with its events, as hosts report in the
// statuses of a build, and its first deployment is complete with it.
func TestContainerFleet_StepByStep(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.containers(nil)
	if !strings.HasPrefix(f.ID, "containerfleet-") || f.ComputeType != fleet.Container || !f.WantsInstances(x.at(f.ID, home)) || !f.TakesProcesses(home) {
		t.Fatalf("created %+v", f)
	}
	x.happened(f.ID, 0, event.FleetCreated, event.FleetStatePending, event.LocationStatePending, event.GenericEvent)
	since := x.now()
	x.Update(func(tx *store.Tx) { x.Fleets.Fail(tx, f.ID, home, event.FleetActivationFailed, "no such image") })
	x.happened(f.ID, since, event.FleetActivationFailed) // no container fleet is ever in ERROR
	if got := x.get(f.ID); got.Status != fleet.Pending || !got.WantsInstances(x.at(f.ID, home)) {
		t.Errorf("after a failure: %+v", got)
	}
	x.report(f.ID, home, fleet.DeploymentComplete) // nothing is desired of it yet
	x.expect(f.ID, "game:1", fleet.Pending, fleet.DeploymentInProgress)
	for _, s := range []struct {
		to, want fleet.Status
		events   []event.Code
	}{
		{fleet.Downloading, fleet.Creating, []event.Code{event.LocationStateCreating, event.FleetStateCreating}},
		{fleet.Downloading, fleet.Creating, nil},
		{fleet.Activating, fleet.Activating, []event.Code{event.LocationStateActivating, event.FleetStateActivating}},
		{fleet.Building, fleet.Activating, nil},
		{fleet.Active, fleet.Active, []event.Code{event.LocationStateActive, event.FleetStateActive}},
	} {
		since := x.now()
		x.advance(f.ID, home, s.to)
		x.happened(f.ID, since, s.events...)
		if got := x.get(f.ID); got.Status != s.want || x.at(f.ID, home).Status != s.want {
			t.Fatalf("after %s: %s", s.to, got.Status)
		}
	}
	x.report(f.ID, home, fleet.DeploymentComplete)
	x.expect(f.ID, "game:1", fleet.Active, fleet.DeploymentComplete)
}

// Without a game server group nothing runs; setting one starts the fleet.
func TestContainerFleet_Created(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.containers(func(in *fleet.ContainerInput) { in.Game, in.Locations = "", []string{other} })
	if f.Status != fleet.Created || x.at(f.ID, other).Status != fleet.Created || f.WantsInstances(x.at(f.ID, other)) || f.MostCopies() != 0 {
		t.Fatalf("created %+v", f)
	}
	if got := slices.Collect(x.Fleets.Deployments.Of(x.Store.View(), f.ID, "")); got != nil {
		t.Errorf("deployments %v", got)
	}
	x.update(fleet.ContainerUpdate{FleetID: f.ID, PerInstance: ptr("side:1")})
	if got := x.get(f.ID); got.Status != fleet.Created || got.Containers.PerInstance == nil {
		t.Fatalf("with a per-instance group: %+v", got)
	}
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:1")})
	x.expect(f.ID, "game:1", fleet.Activating, fleet.DeploymentPending)
	x.run(f)
	x.expect(f.ID, "game:1", fleet.Active, fleet.DeploymentComplete)
}

// A deployment is COMPLETE when it is in every location; meanwhile the fleet serves.
func TestDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := containerFixture(t)
		f := x.run(x.containers(func(in *fleet.ContainerInput) { in.Locations = []string{other} }))
		first := x.latest(f.ID)
		since := x.now()
		f = x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2")})
		x.expect(f.ID, "game:2", fleet.Updating, fleet.DeploymentPending)
		if !f.Status.Serves() || !f.Has(home) || !f.WantsInstances(x.at(f.ID, home)) {
			t.Error("an UPDATING fleet does not serve")
		}
		x.happened(f.ID, since, event.FleetUpdated, event.GenericEvent, event.LocationStateUpdating, event.LocationStateUpdating, event.FleetStateUpdating)
		d := x.latest(f.ID)
		if d.From.Game.String() != "game:1" || d.Config != fleet.DefaultDeployment {
			t.Errorf("deployment %+v", d)
		}
		x.report(f.ID, home, fleet.DeploymentInProgress)
		x.report(f.ID, home, fleet.DeploymentComplete)
		x.expect(f.ID, "game:2", fleet.Updating, fleet.DeploymentInProgress)
		if x.at(f.ID, home).Status != fleet.Active || x.at(f.ID, other).Status != fleet.Updating {
			t.Error("a location whose part is complete stays UPDATING, or the other does not")
		}
		x.report(f.ID, home, fleet.DeploymentImpaired) // too late
		x.report(f.ID, "custom-nowhere", fleet.DeploymentImpaired)
		x.report(f.ID, other, fleet.DeploymentComplete)
		x.expect(f.ID, "game:2", fleet.Active, fleet.DeploymentComplete)
		if got := x.latest(f.ID); got.Ended.IsZero() || x.Fleets.Deployments.Current(x.Store.View(), f.ID) != nil {
			t.Errorf("ended %+v", got)
		}
		if got := x.ids(f.ID, ""); !slices.Equal(got, []string{d.ID, first.ID}) {
			t.Errorf("deployments %v", got)
		}
		if got := x.ids("", d.ID); !slices.Equal(got, []string{first.ID}) {
			t.Errorf("deployments of all fleets, after the newest: %v", got)
		}
	})
}

func (x *fixture) ids(fleetID, after string) []string {
	var ids []string
	for d := range x.Fleets.Deployments.Of(x.Store.View(), fleetID, after) {
		ids = append(ids, d.ID)
	}
	return ids
}

// One impaired location takes all back to the last version that was ready everywhere, with
// as many groups as there were.
func TestDeployment_RollsBack(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.run(x.containers(func(in *fleet.ContainerInput) { in.Locations, in.Copies = []string{other}, 3 }))
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2"), Copies: ptr(4), PerInstance: nil})
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:3")}) // never mind 2
	for n := range 3 {
		if x.Fleets.UsesVersion(x.Store.View(), "game", n+1) != f.ID {
			t.Errorf("game:%d, of which groups may run, is not in use", n+1)
		}
	}
	x.report(f.ID, home, fleet.DeploymentComplete)
	x.report(f.ID, other, fleet.DeploymentImpaired)
	x.expect(f.ID, "game:1", fleet.Updating, fleet.DeploymentRollingBack)
	if got := x.get(f.ID); got.Slots() != 3 || x.at(f.ID, home).Status != fleet.Updating {
		t.Errorf("rolled back to %+v", got.Containers)
	}
	for _, location := range []string{home, other} {
		x.report(f.ID, location, fleet.DeploymentInProgress)
		x.report(f.ID, location, fleet.DeploymentComplete)
	}
	x.expect(f.ID, "game:1", fleet.Active, fleet.DeploymentRollbackDone)
	if u := x.Fleets.UsesVersion; u(x.Store.View(), "game", 1) == "" || u(x.Store.View(), "game", 2)+u(x.Store.View(), "game", 3) != "" {
		t.Error("after the rollback, other versions than game:1 are in use")
	}
	for _, s := range x.latest(f.ID).Locations {
		if s != fleet.DeploymentRollbackDone {
			t.Errorf("locations %v", x.latest(f.ID).Locations)
		}
	}
}

// Without a rollback the fleet stays as it is; the same version can be deployed again, and
// the next deployment returns to what last worked.
func TestDeployment_Maintained(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.run(x.containers(nil))
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2"), Deployment: fleet.DeploymentInput{Rollback: ptr(false)}})
	x.report(f.ID, home, fleet.DeploymentImpaired)
	x.expect(f.ID, "game:2", fleet.Active, fleet.DeploymentImpaired)
	for name, want := range map[string]string{"game": f.ID, "none": ""} {
		if got := x.Fleets.UsesVersion(x.Store.View(), name, 1); got != want {
			t.Errorf("%s:1, to which the fleet may return, is used by %q", name, got)
		}
	}
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2")})
	x.expect(f.ID, "game:2", fleet.Updating, fleet.DeploymentPending)
	x.report(f.ID, home, fleet.DeploymentImpaired)
	x.expect(f.ID, "game:1", fleet.Updating, fleet.DeploymentRollingBack)
	x.report(f.ID, home, fleet.DeploymentImpaired)
	x.expect(f.ID, "game:1", fleet.Active, fleet.DeploymentImpaired)
}

// The first deployment has nothing to return to; the fleet can be corrected although it was
// never ACTIVE.
func TestDeployment_FirstIsImpaired(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.containers(nil)
	x.advance(f.ID, home, fleet.Downloading)
	_, err := x.Fleets.UpdateContainer.Do(x.Ctx, fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2")})
	x.refused(err, fault.NotReady)
	x.report(f.ID, home, fleet.DeploymentImpaired)
	x.expect(f.ID, "game:1", fleet.Creating, fleet.DeploymentImpaired)
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2")})
	x.expect(f.ID, "game:2", fleet.Creating, fleet.DeploymentPending)
	x.run(f)
	x.expect(f.ID, "game:2", fleet.Active, fleet.DeploymentComplete)
}

// A location that waits for its first host, or is removed, does not hold a deployment up.
func TestDeployment_LocationsThatDoNotCount(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.containers(func(in *fleet.ContainerInput) { in.Locations = []string{other, "eu-central-1"} })
	x.advance(f.ID, other, fleet.Active)
	x.advance(f.ID, "eu-central-1", fleet.Active)
	x.report(f.ID, other, fleet.DeploymentComplete)
	x.report(f.ID, "eu-central-1", fleet.DeploymentComplete)
	x.expect(f.ID, "game:1", fleet.Active, fleet.DeploymentInProgress)
	x.Update(func(tx *store.Tx) { x.Fleets.SetWaitReason(tx, f.ID, home, "no host has joined") })
	x.expect(f.ID, "game:1", fleet.Active, fleet.DeploymentComplete)

	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2")})
	x.report(f.ID, other, fleet.DeploymentComplete)
	x.expect(f.ID, "game:2", fleet.Updating, fleet.DeploymentInProgress)
	x.Must(x.remove(f.ID, "eu-central-1"))
	x.expect(f.ID, "game:2", fleet.Active, fleet.DeploymentComplete)
	if s := x.latest(f.ID).Locations["eu-central-1"]; s != fleet.DeploymentCancelled {
		t.Errorf("the deployment in the location that was removed is %s", s)
	}
}

// A fleet that named its definition without a version gets newer ones, never older ones.
func TestFollow(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	known := shelf()
	pinned := x.run(x.containers(nil))
	f := x.run(x.containers(func(in *fleet.ContainerInput) { in.Game = "game" }))
	follow := func(d fleet.Definition) { x.Update(func(tx *store.Tx) { x.Fleets.Follow(tx, d) }) }
	follow(known["game:3"])
	x.expect(f.ID, "game:3", fleet.Updating, fleet.DeploymentPending)
	follow(known["game:2"])
	x.expect(f.ID, "game:3", fleet.Updating, fleet.DeploymentPending)
	x.expect(pinned.ID, "game:1", fleet.Active, fleet.DeploymentComplete)
	big := known["huge:1"]
	big.Name, big.Version = "game", 4
	since := x.now()
	follow(big)
	x.expect(f.ID, "game:3", fleet.Updating, fleet.DeploymentPending)
	x.happened(f.ID, since, event.GenericEvent)
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2")}) // no longer follows
	follow(fleet.Definition{Group: fleet.Group{Name: "game", Version: 5}})
	x.expect(f.ID, "game:2", fleet.Updating, fleet.DeploymentPending)
}

// Deleting a fleet cancels its deployment; with the fleet, its deployments are gone.
func TestDeleteContainer(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.containers(nil)
	x.refused(x.Fleets.Delete.Do(x.Ctx, f.ID), fault.InvalidRequest)
	x.refused(x.Fleets.DeleteContainer.Do(x.Ctx, x.managed().ID), fault.InvalidRequest)
	x.refused(x.Fleets.DeleteContainer.Do(x.Ctx, "containerfleet-none"), fault.NotFound)
	x.Must(x.Fleets.DeleteContainer.Do(x.Ctx, f.ID))
	x.expect(f.ID, "game:1", fleet.Deleting, fleet.DeploymentCancelled)
	x.report(f.ID, home, fleet.DeploymentComplete)
	x.refused(x.Fleets.DeleteContainer.Do(x.Ctx, f.ID), fault.InvalidRequest)
	_, err := x.Fleets.UpdateContainer.Do(x.Ctx, fleet.ContainerUpdate{FleetID: f.ID})
	x.refused(err, fault.InvalidRequest)
	if x.Fleets.UsesVersion(x.Store.View(), "game", 1) == "" {
		t.Error("a fleet that is being deleted still runs its version")
	}
	x.Update(func(tx *store.Tx) { x.Fleets.Finish(tx, f.ID) })
	if x.Fleets.UsesVersion(x.Store.View(), "game", 1) != "" || x.ids("", "") != nil {
		t.Error("something of the fleet is left")
	}
}

// As many deployments are kept as are allowed: the newest.
func TestDeployments_AreBounded(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.run(x.containers(nil))
	for n := range 110 {
		f = x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr(fmt.Sprintf("game:%d", 1+(n+1)%2))})
	}
	if ids := x.ids(f.ID, ""); len(ids) != 100 || ids[0] != f.Containers.Deployment {
		t.Errorf("%d deployments are kept, the first %s", len(ids), ids[0])
	}
}

// Whatever is done to a container fleet, in whatever order: at most one deployment has not
// ended, the fleet is UPDATING only during one, what it runs is what its deployment says,
// and what may be needed again is in use.
func TestDeployments_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		x := containerFixture(t)
		f := x.containers(func(in *fleet.ContainerInput) { in.Locations = []string{other} })
		location := func() string { return rapid.SampledFrom([]string{home, other}).Draw(r, "location") }
		statuses := []fleet.DeploymentStatus{fleet.DeploymentInProgress, fleet.DeploymentComplete, fleet.DeploymentImpaired}
		r.Repeat(map[string]func(*rapid.T){
			"advance": func(r *rapid.T) {
				x.advance(f.ID, location(), rapid.SampledFrom([]fleet.Status{fleet.Downloading, fleet.Activating, fleet.Active}).Draw(r, "to"))
			},
			"report": func(r *rapid.T) { x.report(f.ID, location(), rapid.SampledFrom(statuses).Draw(r, "status")) },
			"wait": func(r *rapid.T) {
				text := rapid.SampledFrom([]string{"", "no host"}).Draw(r, "why")
				x.Update(func(tx *store.Tx) { x.Fleets.SetWaitReason(tx, f.ID, location(), text) })
			},
			"update": func(r *rapid.T) {
				game := rapid.SampledFrom([]string{"game:1", "game:2", "game"}).Draw(r, "game")
				in := fleet.ContainerUpdate{FleetID: f.ID, Game: &game, NoPerInstance: rapid.Bool().Draw(r, "alone")}
				if !in.NoPerInstance {
					in.PerInstance = ptr("side:1")
				}
				in.Deployment.Rollback = ptr(rapid.Bool().Draw(r, "rollback"))
				if _, err := x.Fleets.UpdateContainer.Do(x.Ctx, in); err != nil && !fault.Is(err, fault.NotReady) {
					r.Fatal(err)
				}
			},
			"follow": func(*rapid.T) { x.Update(func(tx *store.Tx) { x.Fleets.Follow(tx, shelf()["game:3"]) }) },
			"": func(r *rapid.T) {
				now, view := x.get(f.ID), x.Store.View()
				open := 0
				for d := range x.Fleets.Deployments.Of(view, f.ID, "") {
					if !d.Status.Ended() {
						open++
					}
					if d.Status.Ended() == d.Ended.IsZero() {
						r.Fatalf("deployment %+v", d)
					}
				}
				d, current := x.latest(f.ID), x.Fleets.Deployments.Current(view, f.ID)
				if open > 1 || (open == 1) != (current != nil) || current != nil && current != d {
					r.Fatalf("%d deployments have not ended; the current one is %v", open, current)
				}
				if now.Status == fleet.Updating && current == nil {
					r.Fatal("the fleet is UPDATING without a deployment")
				}
				runs := d.Game
				if d.Status == fleet.DeploymentRollingBack || d.Status == fleet.DeploymentRollbackDone {
					runs = d.From.Game
				}
				if now.Containers.Game.String() != runs.String() && d.Status != fleet.DeploymentImpaired {
					r.Fatalf("the fleet runs %v, its deployment says %v", now.Containers.Game, runs)
				}
				for _, g := range []*fleet.Group{d.From.Game, d.Game, now.Containers.PerInstance} {
					if proven := d.Status == fleet.DeploymentComplete || d.Status == fleet.DeploymentRollbackDone; g != nil && !proven && x.Fleets.UsesVersion(view, g.Name, g.Version) == "" {
						r.Fatalf("%s, of which groups run or may return, is not in use", g)
					}
				}
				for _, l := range now.Locations {
					if l.Status == fleet.Updating && now.Status != fleet.Updating {
						r.Fatalf("location %s is UPDATING in a fleet that is %s", l.Location, now.Status)
					}
				}
			},
		})
	})
}
