package compute_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// A deadline that was met has no effect.
func TestDeadlines_Met(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.connect("p")
		wait.Settle(ready - moment)
		y.Must(y.Computes.Ready(y.Ctx, compute.ReadyInput{Ref: y.ref("p"), Port: 1}))
		wait.Settle(ready)
		y.Must(y.Computes.Disconnect(y.Ctx, y.ref("p")))
		wait.Settle(back - moment)
		y.connect("p")
		wait.Settle(time.Hour)
		y.want("p", compute.Active, "")
	})
}

// An ended process is kept for an hour, so that its id is not taken for a new process,
// and then deleted.
func TestForgetting(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		y.Must(y.Computes.End(y.Ctx, y.ref("p")))
		wait.Settle(time.Hour - moment)
		y.process("p")
		wait.Settle(moment)
		if p := y.Computes.Process(y.Store.View(), y.ref("p").Key()); p != nil {
			y.Errorf("process is still known: %+v", p)
		}
		y.connect("p")
	})
}

// After a restart every process has a grace period to come back, including one that was
// away before: it could not come back while there was no node.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		y := open(t, driver, compute.Options{})
		y.furnish()
		for _, id := range []string{"connected", "away", "comes", "over"} {
			y.free(id)
		}
		y.Must(y.Computes.Disconnect(y.Ctx, y.ref("away")))
		y.Must(y.Computes.End(y.Ctx, y.ref("over")))
		before := y.Store.View().Digest()
		y.close()
		wait.Pass(time.Minute) // no node is running

		z := open(t, driver, compute.Options{})
		z.fleet = y.fleet
		if z.Store.View().Digest() != before {
			t.Error("the state after the start is not what it was before")
		}
		n, err := z.Computes.Restart(z.Ctx)
		z.Must(err)
		if n != 3 {
			t.Errorf("waits for %d processes, want 3", n)
		}
		wait.Settle(200 * time.Second)
		z.connect("comes")
		wait.Settle(again - 200*time.Second - moment)
		z.want("connected", compute.Active, "")
		z.want("away", compute.Active, "")
		wait.Settle(moment)
		z.want("connected", compute.Terminated, event.ServerProcessCrashed)
		z.want("away", compute.Terminated, event.ServerProcessCrashed)
		z.want("comes", compute.Active, "")
		if p := z.process("comes"); !p.Free() {
			t.Error("the process that came back is not free")
		}
		z.close()
	})
}

// With very many processes, calls are answered before all have their grace period. One that
// comes back before that stays connected, and one whose deadline has passed does not end.
func TestRestart_Many(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		y := open(t, driver, compute.Options{})
		y.furnish()
		for i := range 2010 {
			y.free(fmt.Sprintf("p%04d", i))
		}
		for _, id := range []string{"a-away", "a-back", "z-comes"} {
			y.free(id)
		}
		y.Must(y.Computes.Disconnect(y.Ctx, y.ref("a-away")))
		y.Must(y.Computes.Disconnect(y.Ctx, y.ref("a-back")))
		y.close()
		wait.Pass(again + moment) // no node is running

		z := assemble(t, celltest.Options{Driver: driver})
		z.fleet = y.fleet
		n, err := z.Computes.Restart(z.Ctx)
		z.Must(err)
		if n != 2013 {
			t.Errorf("waits for %d processes, want 2013", n)
		}
		if !z.process("p2009").Connected || z.process("p0000").Connected {
			t.Error("not the first 2000 are marked")
		}
		z.connect("z-comes")
		z.connect("a-back")
		z.Start(z.Computes.Run)
		wait.Settle(0)
		for p := range z.Computes.Processes(z.Store.View(), "", "") {
			if p.Connected != (p.ID == "z-comes" || p.ID == "a-back") {
				t.Errorf("%s connected: %t", p.ID, p.Connected)
			}
		}
		wait.Settle(again - moment)
		z.want("p2009", compute.Active, "")
		z.want("a-away", compute.Active, "")
		wait.Settle(2 * moment)
		z.want("p2009", compute.Terminated, event.ServerProcessCrashed)
		z.want("a-away", compute.Terminated, event.ServerProcessCrashed)
		z.want("z-comes", compute.Active, "")
		z.want("a-back", compute.Active, "")
		z.close()
	})
}

// Resync marks as lost the sockets that the store counts as open but no link holds.
func TestResync(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		y.Must(y.Computes.Resync(y.Ctx))
		if !y.process("p").Connected {
			y.Error("a process with a link was marked as lost")
		}
	})
}

// A deleted fleet is removed after its processes: they are told to end, then the computes
// are deleted, and then the fleet.
func TestFleetDeletion(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		y.connect("compute-2/q")
		y.Must(y.Fleets.Delete.Do(y.Ctx, y.fleet.ID))
		wait.Settle(0)
		if len(y.links["p"].Terminates) != 1 || len(y.links["compute-2/q"].Terminates) != 1 {
			y.Error("not every process was told to end")
		}
		y.Must(y.Computes.End(y.Ctx, y.ref("p")))
		wait.Settle(0)
		if y.Fleets.Get(y.Store.View(), y.fleet.ID) == nil {
			y.Fatal("the fleet is gone while a process runs")
		}
		wait.Settle(stop)
		if y.Fleets.Get(y.Store.View(), y.fleet.ID) != nil {
			y.Error("the fleet is still there after its last process")
		}
		for c := range y.Computes.InFleet(y.Store.View(), y.fleet.ID, "", "") {
			y.Errorf("compute %s is still there", c.Name)
		}
	})
}

// A location is deleted alone: processes elsewhere in the fleet go on.
func TestLocationRemoval(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		y.free("compute-2/q")
		_, err := y.Fleets.RemoveLocations.Do(y.Ctx, fleet.LocationsInput{FleetID: y.fleet.ID, Locations: []string{away}})
		y.Must(err)
		wait.Settle(0)
		y.Must(y.Computes.End(y.Ctx, y.ref("compute-2/q")))
		wait.Settle(0)
		y.want("p", compute.Active, "")
		f := y.Fleets.Get(y.Store.View(), y.fleet.ID)
		if len(f.Locations) != 1 || f.Locations[0].Location != home || f.Status != fleet.Active {
			y.Errorf("fleet %+v", f)
		}
		if _, err := y.Computes.Find(y.Store.View(), y.fleet.ID, "compute-2"); err == nil {
			y.Error("the compute of the location is still there")
		}
	})
}
