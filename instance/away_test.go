package instance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// An agent that is away while its game servers are connected costs no game session.
// After a minute its host gets no new ones, until the agent is back.
func TestManaged_AgentAwayGamesLive(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		h := y.host()
		f := y.managed("")
		i := y.assigned(h)[0].ID
		busy, free := y.run(h, i, "busy"), y.run(h, i, "free")
		p, err := y.takeOf(f)
		y.Must(err)
		if p.ID == "free" {
			busy, free = free, busy
		}
		impaired := func() bool { return y.Instances.Impaired(y.Store.View(), y.Instances.Instance(y.Store.View(), i)) }
		reason := func() string {
			return y.Instances.Reason(y.Store.View(), f, region, nil)
		}
		y.Must(y.Instances.HostLost.Do(y.Ctx, h))
		if got := reason(); got != "1 instance on a host whose agent is away; muster hosts shows which" {
			y.Errorf("the reason of the location is %q", got)
		}
		wait.Settle(59 * time.Second)
		if impaired() {
			y.Error("impaired within its grace")
		}
		wait.Settle(2 * time.Second)
		if !impaired() {
			y.Error("not impaired after a minute")
		}
		y.Refused("a game session on an impaired compute", fault.FleetCapacityExceeded, func() error { _, err := y.takeOf(f); return err })
		wait.Settle(10 * time.Minute)
		for _, ref := range []compute.Ref{busy, free} {
			if p := y.Computes.Process(y.Store.View(), ref.Key()); p.Status != compute.Active {
				y.Errorf("process %s is %s", ref.ProcessID, p.Status)
			}
		}
		freed := y.freed
		y.connected(h)
		if got := reason(); got != "" {
			y.Errorf("the agent is back, and the reason of the location is %q", got)
		}
		if impaired() || y.freed == freed {
			y.Error("still impaired, or nobody was told, though the agent is back")
		}
		if p, err := y.takeOf(f); err != nil || p.ID != free.ProcessID {
			y.Errorf("took %+v, %v", p, err)
		}
	})
}

// The instances of an agent that stays away are replaced; game sessions there are
// played to their end, although nothing protects them.
func TestManaged_AgentStaysAway(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		h := y.host()
		f := y.managed("")
		i := y.assigned(h)[0].ID
		y.run(h, i, "p")
		y.run(h, i, "q")
		busy, err := y.takeOf(f)
		y.Must(err)
		other := y.host()
		y.Must(y.Instances.HostLost.Do(y.Ctx, h))
		wait.Settle(14 * time.Minute)
		if n := len(y.assigned(other)); n != 0 {
			y.Errorf("replaced %d instances after 14 minutes", n)
		}
		wait.Settle(2 * time.Minute)
		if n := len(y.assigned(other)); n != 1 {
			y.Errorf("%d instances on the other host, want 1", n)
		}
		wait.Settle(time.Hour)
		for id, want := range map[string]compute.Status{"p": compute.Active, "q": compute.Active} {
			if id != busy.ID {
				want = compute.Terminated
			}
			ref := compute.Ref{FleetID: f.ID, ComputeName: i, ProcessID: id}
			p := y.Computes.Process(y.Store.View(), ref.Key())
			if got := compute.Terminated; p != nil && p.Status != want || p == nil && got != want {
				y.Errorf("process %s is %+v, want %s; the game session is on %s", id, p, want, busy.ID)
			}
		}
		y.Must(y.Computes.End(y.Ctx, busy.Ref()))
		wait.Settle(6 * time.Minute)
		if y.Instances.Instance(y.Store.View(), i) != nil {
			y.Error("the instance is still there though its last game session ended")
		}
		if codes, _ := y.told(f); slices.Contains(codes, event.ServerProcessCrashed) || y.status(f) != fleet.Active {
			y.Errorf("fleet %s, events %v", y.status(f), codes)
		}
	})
}

// A host whose disk is full keeps its game sessions and gets no more.
func TestManaged_DiskFull(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		h := y.host()
		f := y.managed("")
		ref := y.run(h, y.assigned(h)[0].ID, "p")
		y.Must(y.Instances.ReportHost.Do(y.Ctx, instance.HostReport{HostID: h, DiskFull: true}))
		y.Refused("a game session where the disk is full", fault.FleetCapacityExceeded, func() error { _, err := y.takeOf(f); return err })
		if p := y.Computes.Process(y.Store.View(), ref.Key()); p.Status != compute.Active {
			y.Errorf("the process is %s", p.Status)
		}
		y.Must(y.Instances.ReportHost.Do(y.Ctx, instance.HostReport{HostID: h}))
		if _, err := y.takeOf(f); err != nil {
			y.Error(err)
		}
	})
}

// Game sessions fill one host before the next, whichever process was ready first;
// scaling down removes the instances of the emptier host.
func TestManaged_PacksSoThatHostsEmpty(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		hosts := []string{y.host(), y.host(), y.host()}
		slices.Sort(hosts)
		f := y.managed("")
		for _, h := range hosts { // one instance is desired: once it is ready the fleet is ACTIVE
			for _, a := range y.assigned(h) {
				y.run(h, a.ID, "p-"+a.ID)
			}
		}
		y.scale(f, 6)
		for _, h := range slices.Backward(hosts) { // the last becomes ready first
			for _, a := range y.assigned(h) {
				if y.Instances.Instance(y.Store.View(), a.ID).Status == instance.Pending {
					y.run(h, a.ID, "p-"+a.ID)
				}
			}
			wait.Settle(time.Second)
		}
		for n := range 3 {
			p, err := y.takeOf(f)
			y.Must(err)
			if want := hosts[n/2]; p.HostID != want {
				y.Errorf("game session %d is on host %s, want %s", n, p.HostID, want)
			}
		}
		y.scale(f, 4)
		for n, h := range hosts {
			leaving := 0
			for _, a := range y.assigned(h) {
				if a.Stop != instance.Keep {
					leaving++
				}
			}
			if want := map[int]int{2: 2}[n]; leaving != want {
				y.Errorf("%d instances leave host %d, want %d", leaving, n, want)
			}
		}
	})
}

// The first report of an agent that came back ends the processes that had connected before
// and that it does not list. One that has connected since may be newer than the report.
func TestManaged_FirstReport(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		h := y.host()
		y.managed("")
		i := y.assigned(h)[0].ID
		ref := y.run(h, i, "p")
		first := instance.HostReport{HostID: h, First: true, Instances: []instance.InstanceReport{{InstanceID: i, Phase: instance.Activating}}}
		status := func() compute.Status { return y.Computes.Process(y.Store.View(), ref.Key()).Status }

		y.Must(y.Instances.ReportHost.Do(y.Ctx, first))
		if got := status(); got != compute.Active {
			t.Fatalf("a process newer than the agent's connection is %s, want ACTIVE", got)
		}
		y.Must(y.Instances.HostLost.Do(y.Ctx, h))
		wait.Settle(time.Second)
		y.connected(h)
		y.Must(y.Instances.ReportHost.Do(y.Ctx, first))
		if got := status(); got != compute.Terminated {
			t.Errorf("a process that the agent found no more is %s, want TERMINATED", got)
		}
	})
}
