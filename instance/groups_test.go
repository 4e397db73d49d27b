package instance_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// definition returns the version of a container group that a name like game:2 says: with a
// game server at UDP port 7777 and a metrics port at 9000, or per instance with port 5000.
func definition(_ store.Reader, name string) (fleet.Definition, error) {
	kind, number, _ := strings.Cut(name, ":")
	version, err := strconv.Atoi(number)
	if err != nil {
		return fleet.Definition{}, fault.Missing("Name: container group definition %s does not exist", name)
	}
	d := fleet.Definition{
		Group: fleet.Group{Name: kind, Version: version, CPUMillis: 500, MemoryMiB: 1024, Ports: 2, Ranges: []fleet.PortRange{
			{Container: "game", Game: true, From: 7777, To: 7777, Protocol: "UDP"}, {Container: "metrics", From: 9000, To: 9000, Protocol: "TCP"},
		}},
		Status: "READY", Ready: true,
	}
	if kind == "beside" {
		d.PerInstance, d.Ports = true, 1
		d.Ranges = []fleet.PortRange{{Container: "log", From: 5000, To: 5000, Protocol: "TCP"}}
	}
	return d, nil
}

// quay is a yard of container fleets, whose test acts as the agents of hosts with an engine.
type quay struct {
	*yard
	fleetID string
	runs    map[string]compute.Ref // by instance and group
	bad     map[int]bool           // versions whose game servers crash
	frail   map[int]bool           // versions whose game servers crash soon after they are ready
	n       int
}

func inQuay(t *testing.T, f func(*quay)) {
	t.Helper()
	inCell(t, celltest.Options{Definitions: definition}, func(y *yard) {
		f(&quay{yard: y, runs: map[string]compute.Ref{}, bad: map[int]bool{}, frail: map[int]bool{}})
	})
}

// docker adds a container engine to a machine's facts.
func docker(m *instance.HostInfo) { m.Engine = "docker 28" }

// dock joins a machine with an engine, and with what f changes about it.
func (q *quay) dock(f ...func(*instance.HostInfo)) string {
	q.Helper()
	h := q.host()
	q.connected(h, append([]func(*instance.HostInfo){docker}, f...)...)
	return h
}

// create creates a container fleet with two slots an instance.
func (q *quay) create(change func(*fleet.ContainerInput)) {
	q.Helper()
	in := fleet.ContainerInput{Role: "arn:aws:iam::000000000000:role/r", Game: "game:1", InstanceType: "c5.large", Copies: 2}
	if change != nil {
		change(&in)
	}
	f, err := q.Fleets.CreateContainer.Do(q.Ctx, in)
	q.Must(err)
	q.fleetID = f.ID
	wait.Settle(0)
}

func (q *quay) fleet() *fleet.Fleet { return q.Fleets.Get(q.Store.View(), q.fleetID) }

// deployment returns the fleet's latest deployment.
func (q *quay) deployment() *fleet.Deployment {
	return q.Fleets.Deployments.Get(q.Store.View(), q.fleet().Containers.Deployment)
}

// work does once what the agent of a host does with its desired state.
func (q *quay) work(host string) {
	q.Helper()
	for _, a := range q.assigned(host) {
		a = q.now(a)
		r := instance.InstanceReport{InstanceID: a.ID, Phase: instance.Activating}
		for n := range a.Groups {
			g := &a.Groups[n]
			report := instance.GroupReport{Name: g.Name, Phase: instance.GroupRunning, Containers: []instance.Container{{Name: "game", RuntimeID: fmt.Sprint("c", g.Of.Version)}}}
			if !g.PerInstance {
				report.Phase = q.tend(a, g, &r)
			}
			r.Groups = append(r.Groups, report)
		}
		q.report(host, r)
		q.settle(host, q.now(a))
	}
}

// works works a number of times, with a pause after each.
func (q *quay) works(host string, times int, pause time.Duration) {
	q.Helper()
	for range times {
		q.work(host)
		wait.Settle(pause)
	}
}

// now returns an assignment as it is now: each report may have changed others.
func (q *quay) now(a instance.Assignment) instance.Assignment {
	if i := q.Instances.Instance(q.Store.View(), a.ID); i != nil {
		a.Instance = i
	}
	return a
}

// tend starts or ends the game server of a group, and returns the group's phase.
func (q *quay) tend(a instance.Assignment, g *instance.Group, r *instance.InstanceReport) instance.GroupPhase {
	key := a.ID + "/" + g.Name
	ref, runs := q.runs[key]
	switch {
	case g.Stop != instance.Keep && runs && q.Computes.Lives(q.Store.View(), ref):
		r.Processes = append(r.Processes, instance.ProcessReport{ID: ref.ProcessID, Group: g.Name, Started: time.Now()})
		return instance.GroupDraining
	case g.Stop != instance.Keep:
		delete(q.runs, key)
		return instance.GroupGone
	case !runs:
		q.n++
		ref = compute.Ref{FleetID: a.FleetID, ComputeName: key, ProcessID: fmt.Sprint("p", q.n)}
		q.runs[key] = ref
	}
	r.Processes = append(r.Processes, instance.ProcessReport{ID: ref.ProcessID, Group: g.Name, Started: time.Now()})
	return instance.GroupRunning
}

// settle lets the game servers that the host has just started connect, or crash.
func (q *quay) settle(host string, a instance.Assignment) {
	q.Helper()
	for n := range a.Groups {
		g := &a.Groups[n]
		ref, runs := q.runs[a.ID+"/"+g.Name]
		if !runs || q.Computes.Process(q.Store.View(), ref.Key()) != nil || g.Stop != instance.Keep || a.Stop != instance.Keep {
			continue
		}
		if q.bad[g.Of.Version] {
			q.crash(host, a, g, ref)
			continue
		}
		q.links[ref.ProcessID] = &celltest.Link{}
		q.Ready(ref, q.links[ref.ProcessID], 7777)
		if q.frail[g.Of.Version] {
			wait.Settle(time.Second)
			q.crash(host, a, g, ref)
		}
	}
	for key, ref := range q.runs { // as game servers do that are told to end
		if p := q.Computes.Process(q.Store.View(), ref.Key()); p != nil && p.Status == compute.Terminating {
			q.Must(q.Computes.End(q.Ctx, ref))
			delete(q.runs, key)
		}
	}
	wait.Settle(0)
}

// crash ends a game server with an error.
func (q *quay) crash(host string, a instance.Assignment, g *instance.Group, ref compute.Ref) {
	q.Helper()
	delete(q.runs, a.ID+"/"+g.Name)
	q.exited(host, a.ID, instance.ExitReport{Group: g.Name, ProcessID: ref.ProcessID, Known: true, Code: 1, Tail: []string{"no such map"}})
}

// exited reports the end of a game server on an instance.
func (q *quay) exited(host, instanceID string, r instance.ExitReport) {
	q.Helper()
	r.HostID, r.InstanceID = host, instanceID
	_, err := q.Instances.ProcessExited.Do(q.Ctx, r)
	q.Must(err)
}

// host1 creates a fleet, and returns a host on which its game servers are ready.
func (q *quay) host1(change ...func(*fleet.ContainerInput)) string {
	q.Helper()
	q.create(func(in *fleet.ContainerInput) {
		for _, f := range change {
			f(in)
		}
	})
	h := q.dock()
	q.work(h)
	q.work(h)
	return h
}

// game creates a game session of the fleet, and returns its game server.
func (q *quay) game() compute.Ref {
	q.Helper()
	g, err := q.Sessions.Create(q.Ctx, session.CreateInput{FleetID: q.fleetID, MaxPlayers: 2, Location: region})
	q.Must(err)
	ref := compute.ParseRef(q.Sessions.Live(q.Store.View(), g.ID).ProcessKey)
	q.Must(q.Sessions.Activate(q.Ctx, ref, g.ID))
	return ref
}

// over ends a game server as it does itself after its game session.
func (q *quay) over(ref compute.Ref) {
	q.Helper()
	q.Must(q.Computes.End(q.Ctx, ref))
	delete(q.runs, ref.ComputeName)
}

func TestGroups_SlotsAreComputes(t *testing.T) {
	inQuay(t, func(q *quay) {
		q.host() // without an engine
		q.create(func(in *fleet.ContainerInput) { in.PerInstance = "beside:1" })
		if _, texts := q.told(q.fleet()); !strings.Contains(texts, "has a container engine") {
			q.Errorf("no event says that an engine is missing:\n%s", texts)
		}
		h := q.dock()
		a := q.assigned(h)
		if len(a) != 1 || len(a[0].Groups) != 3 || len(a[0].Computes) != 2 || a[0].PortTo-a[0].PortFrom+1 != 2*2+1 {
			q.Fatalf("assigned %+v", a)
		}
		q.work(h)
		if got := q.fleet().Status; got != fleet.Active {
			q.Errorf("with ready game servers the fleet is %s", got)
		}
		q.work(h)
		if d := q.deployment(); d.Status != fleet.DeploymentComplete {
			q.Errorf("the first deployment is %+v", d)
		}
		for n := range 2 {
			name := compute.GroupName(a[0].ID, strconv.Itoa(n))
			for p := range q.Computes.On(q.Store.View(), q.fleetID, name) {
				if want := a[0].PortFrom + 2*n; p.Port != want {
					q.Errorf("players reach slot %d at port %d, not %d", n, p.Port, want)
				}
			}
		}
		if c := q.Instances.Counts(q.Store.View(), q.fleet(), region); c != (instance.Counts{Active: 1, Idle: 1}) {
			q.Errorf("counts %+v", c)
		}
		p, err := q.takeOf(q.fleet())
		q.Must(err)
		if c := q.Instances.Counts(q.Store.View(), q.fleet(), region); c != (instance.Counts{Active: 1}) {
			q.Errorf("counts %+v with a game session", c)
		}
		if host, ok := q.Instances.HostOf(q.Store.View(), p.Ref()); !ok || host != h {
			q.Errorf("the process is on host %q", host)
		}
		if ports := q.Instances.Instance(q.Store.View(), a[0].ID); ports.Ports(ports.Group("instance"))[0].Outside != a[0].PortFrom+4 {
			q.Errorf("the per-instance group has ports %+v", ports.Ports(ports.Group("instance")))
		}
		q.Must(q.Fleets.DeleteContainer.Do(q.Ctx, q.fleetID))
		for range 3 {
			wait.Settle(time.Minute)
			q.work(h)
			for _, a := range q.assigned(h) {
				q.report(h, instance.InstanceReport{InstanceID: a.ID, Phase: instance.PhaseGone})
			}
		}
		wait.Settle(time.Minute)
		if f := q.fleet(); f != nil && f.Status != fleet.Terminated {
			q.Errorf("the deleted fleet is %s", f.Status)
		}
		for range q.Computes.InFleet(q.Store.View(), q.fleetID, "", "") {
			q.Errorf("a compute of the deleted fleet is left")
		}
	})
}

func TestGroups_UndeclaredPort(t *testing.T) {
	inQuay(t, func(q *quay) {
		q.create(nil)
		h := q.dock()
		a := q.assigned(h)[0]
		ref := compute.Ref{FleetID: q.fleetID, ComputeName: compute.GroupName(a.ID, "0"), ProcessID: "p"}
		q.Ready(ref, &celltest.Link{}, 9000) // of another container
		wait.Settle(0)
		if p := q.Computes.Process(q.Store.View(), ref.Key()); p.Status != compute.Terminating || p.Why != event.ServerProcessWrongPort {
			q.Errorf("the process is %+v", p)
		}
		if len(q.Recorded(event.ServerProcessWrongPort)) != 1 {
			q.Error("no event names the port")
		}
	})
}

// The end of a game server is an event, and its group is ready again once the next one is.
func TestGroups_Exits(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1()
		a := q.assigned(h)[0]
		groups, processes := 0, 0 // events so far
		expect := func(what, group string, ready bool, failures, crashed, exited int) {
			t.Helper()
			wait.Settle(0)
			if g := q.group(a.ID + "/" + group); g.Ready != ready || g.Failures != failures {
				q.Errorf("%s: the group is %+v", what, *g)
			}
			groups, processes = groups+crashed, processes+exited
			if n, m := len(q.Recorded(event.GameGroupCrashed)), len(q.Recorded(event.ServerProcessCrashed)); n != groups || m != processes {
				q.Errorf("%s: %d events of groups and %d of processes, want %d and %d", what, n, m, groups, processes)
			}
		}
		q.exited(h, a.ID, instance.ExitReport{Group: "0", ProcessID: q.runs[a.ID+"/0"].ProcessID, Known: true, Code: 2})
		delete(q.runs, a.ID+"/0")
		expect("after a crash", "0", false, 0, 1, 1)
		q.work(h)
		expect("after its restart", "0", true, 0, 0, 0)

		// The next game server may be ready before the end of the former one is reported, as in a
		// cluster that has lost a node.
		former := q.runs[a.ID+"/1"]
		next := compute.Ref{FleetID: former.FleetID, ComputeName: former.ComputeName, ProcessID: "next"}
		q.Ready(next, &celltest.Link{}, 7777)
		q.exited(h, a.ID, instance.ExitReport{Group: "1", ProcessID: former.ProcessID, Cause: "its node was lost"})
		expect("after the end of the former one", "1", true, 0, 1, 1)
		q.exited(h, a.ID, instance.ExitReport{Group: "1", ProcessID: next.ProcessID, Cause: "its node was lost"})
		expect("after the end of both", "1", false, 0, 1, 1)

		// One that its host was told to end before it connected has not failed.
		for _, id := range []string{q.runs[a.ID+"/0"].ProcessID, "evicted"} {
			q.exited(h, a.ID, instance.ExitReport{Group: "0", ProcessID: id, Known: true, Code: 1, Reason: event.ServerProcessForceTerminated})
			expect("evicted", "0", false, 0, 0, 0)
		}
		q.exited(h, a.ID, instance.ExitReport{Group: "0", ProcessID: "by itself", Known: true, Code: 1})
		expect("a crash", "0", false, 1, 1, 1)
	})
}

// said returns the messages of the fleet's events.
func (q *quay) said() string {
	q.Helper()
	_, texts := q.told(q.fleet())
	return texts
}

// A group whose ports another program holds gets others of its host; instances made within ten
// minutes do without the taken one.
func TestGroups_PortTaken(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1()
		i := q.assigned(h)[0].ID
		at := func(group string) (first, last int) {
			one := q.Instances.Instance(q.Store.View(), i)
			all := one.Ports(one.Group(group))
			return all[0].Outside, all[len(all)-1].Outside
		}
		from, to := at("0")
		otherFrom, otherTo := at("1")
		report := func(taken ...int) {
			t.Helper()
			r := instance.GroupReport{Name: "0", Phase: instance.GroupFailed, Code: event.GenericEvent, Cause: "a port is held by another program", Taken: taken}
			q.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.Activating, Groups: []instance.GroupReport{r}})
			wait.Settle(0)
		}
		report(from, 1, 65000, otherFrom)
		moved, movedTo := at("0")
		if moved <= otherTo || movedTo-moved != to-from {
			t.Errorf("a group with the ports %d to %d gets %d to %d", from, to, moved, movedTo)
		}
		if now, _ := at("1"); now != otherFrom {
			t.Errorf("the other group moves from %d to %d", otherFrom, now)
		}
		report(from) // of the ports that it had
		if again, _ := at("0"); again != moved {
			t.Errorf("a late report moves it from %d to %d", moved, again)
		}
		report(moved)
		second, _ := at("0")
		if second <= moved {
			t.Errorf("the next time it gets %d after %d", second, moved)
		}
		ps := q.Instances.Host(q.Store.View(), h).Taken
		if len(ps) != 2 || ps[0].Port != from || ps[1].Port != moved {
			t.Errorf("of the host %+v are taken", ps)
		}
		if n := strings.Count(q.said(), "Another program on host"); n != 2 {
			t.Errorf("%d events of taken ports", n)
		}
		if len(q.Recorded(event.GameGroupCrashed)) != 0 || q.Instances.Instance(q.Store.View(), i).Group("0").Failures != 0 {
			t.Error("a taken port counts as a crash")
		}
		wait.Settle(11 * time.Minute)
		if ps := q.Instances.Host(q.Store.View(), h).Taken; len(ps) != 0 {
			t.Errorf("after a while %+v are taken", ps)
		}
		if now, _ := at("0"); now != second {
			t.Errorf("it moves back from %d to %d while it may run", second, now)
		}
	})
}

// If a host has no other ports, the event says so once.
func TestGroups_PortTakenOnSmallHost(t *testing.T) {
	inQuay(t, func(q *quay) {
		q.create(nil)
		h := q.dock(func(m *instance.HostInfo) { m.PortTo = m.PortFrom + 3 }) // as many as two groups need
		i := q.assigned(h)[0]
		first := i.Ports(i.Group("0"))[0].Outside
		for n := range 3 {
			r := instance.GroupReport{Name: "0", Phase: instance.GroupFailed, Cause: fmt.Sprint("attempt ", n), Taken: []int{first}}
			q.report(h, instance.InstanceReport{InstanceID: i.ID, Phase: instance.Activating, Groups: []instance.GroupReport{r}})
			wait.Settle(time.Minute)
		}
		if now := q.Instances.Instance(q.Store.View(), i.ID); now.Ports(now.Group("0"))[0].Outside != first {
			t.Error("the group gets ports that others have")
		}
		if n := strings.Count(q.said(), "Another program on host"); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

// A game server that its host, after coming back, no longer has leaves a group that is not
// ready.
func TestGroups_MissingAfterReconnect(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1()
		a := q.assigned(h)[0]
		wait.Settle(time.Minute)
		q.connected(h, docker)
		r := instance.InstanceReport{InstanceID: a.ID, Phase: instance.Activating}
		for _, g := range a.Groups {
			report := instance.GroupReport{Name: g.Name, Phase: instance.GroupStarting}
			if g.Name == "1" {
				report.Phase = instance.GroupRunning
				r.Processes = append(r.Processes, instance.ProcessReport{ID: q.runs[a.ID+"/1"].ProcessID, Group: "1"})
			}
			r.Groups = append(r.Groups, report)
		}
		q.Must(q.Instances.ReportHost.Do(q.Ctx, instance.HostReport{HostID: h, First: true, Instances: []instance.InstanceReport{r}}))
		i := q.Instances.Instance(q.Store.View(), a.ID)
		if i.Group("0").Ready || !i.Group("1").Ready || i.Group("0").Phase != instance.GroupStarting {
			t.Errorf("the groups are %+v", i.Groups)
		}
		if q.Computes.Lives(q.Store.View(), q.runs[a.ID+"/0"]) {
			t.Error("the missing game server counts as alive")
		}
	})
}

// deploy updates the fleet's game server group.
func (q *quay) deploy(version string, in fleet.DeploymentInput) {
	q.Helper()
	_, err := q.Fleets.UpdateContainer.Do(q.Ctx, fleet.ContainerUpdate{FleetID: q.fleetID, Game: &version, Deployment: in})
	q.Must(err)
	wait.Settle(0)
}

// group returns a group by instance and group.
func (q *quay) group(key string) *instance.Group {
	id, name, _ := strings.Cut(key, "/")
	return q.Instances.Instance(q.Store.View(), id).Group(name)
}

// versions returns the versions of the groups that are ready.
func (q *quay) versions() (all []int) {
	for i := range q.Instances.Instances(q.Store.View(), q.fleetID, "") {
		for _, g := range i.Groups {
			if g.Ready && g.Stop == instance.Keep {
				all = append(all, g.Of.Version)
			}
		}
	}
	return all
}

// A rollback does not wait for the protected game sessions of the version to which it returns:
// their groups stay.
func TestDeployment_RollbackKeepsGames(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1(func(in *fleet.ContainerInput) { in.Protection, in.Copies = fleet.FullProtection, 4 })
		var refs []compute.Ref
		for range 4 {
			refs = append(refs, q.game())
		}
		q.bad[2] = true
		thirty := 30
		q.deploy("game:2", fleet.DeploymentInput{MinHealthy: &thirty})
		q.works(h, 3, time.Second)
		var drains []compute.Ref
		for _, ref := range refs {
			if q.group(ref.ComputeName).Stop == instance.Drain {
				drains = append(drains, ref)
			}
		}
		if len(drains) != 3 {
			q.Fatalf("%d groups drain", len(drains))
		}
		q.over(drains[0]) // so that its group is replaced
		q.works(h, 20, time.Minute)
		if d := q.deployment(); d.Status != fleet.DeploymentRollbackDone {
			q.Errorf("the deployment is %s", d.Status)
		}
		for _, ref := range drains[1:] {
			if !q.Computes.Lives(q.Store.View(), ref) {
				q.Fatal("the rollback has ended a protected game session")
			}
			if p := q.Computes.Process(q.Store.View(), ref.Key()); p.Impaired || q.group(ref.ComputeName).Stop != instance.Keep {
				q.Errorf("the game server gets no other game session: %+v", p)
			}
		}
	})
}

// A group counts for the deployment when it has been ready for a while, or has hosted a game
// to its end: until then, no other group is replaced.
func TestDeployment_Bakes(t *testing.T) {
	for _, end := range []bool{false, true} {
		inQuay(t, func(q *quay) {
			h := q.host1()
			q.deploy("game:2", fleet.DeploymentInput{})
			until := func(version2 int) {
				q.works(h, 5, time.Second)
				found := 0
				for _, v := range q.versions() {
					if v == 2 {
						found++
					}
				}
				if d := q.deployment(); found != version2 || d.Status != fleet.DeploymentInProgress {
					q.Fatalf("%d groups are of the new version, want %d; the deployment is %s", found, version2, d.Status)
				}
			}
			until(1)
			until(1)
			if end {
				for key, ref := range q.runs {
					if p := q.Computes.Process(q.Store.View(), ref.Key()); q.group(key).Of.Version == 2 {
						q.Must(q.Computes.End(q.Ctx, p.Ref()))
						delete(q.runs, key)
					}
				}
			} else {
				wait.Settle(30 * time.Second)
			}
			until(2)
			wait.Settle(30 * time.Second)
			if d := q.deployment(); d.Status != fleet.DeploymentComplete {
				q.Errorf("after all groups have been ready for long enough, the deployment is %s", d.Status)
			}
		})
	}
}

// A version that crashes is rolled back, and so is one that becomes ready before it crashes.
func TestDeployment_BadVersionIsRolledBack(t *testing.T) {
	for _, frail := range []bool{false, true} {
		inQuay(t, func(q *quay) {
			h := q.host1()
			q.bad[2], q.frail[2] = !frail, frail
			q.deploy("game:2", fleet.DeploymentInput{})
			q.works(h, 20, time.Minute)
			if d := q.deployment(); d.Status != fleet.DeploymentRollbackDone || q.fleet().Containers.Game.Version != 1 {
				q.Errorf("frail %t: the deployment is %+v", frail, d)
			}
			if got := q.versions(); len(got) != 2 || got[0] != 1 || got[1] != 1 {
				q.Errorf("frail %t: versions %v", frail, got)
			}
			if said := q.said(); !strings.Contains(said, "no such map") {
				q.Errorf("frail %t: no event says why:\n%s", frail, said)
			}
		})
	}
}

func TestDeployment_OtherNumberOfGroups(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1()
		first := q.assigned(h)[0].ID
		three := 3
		_, err := q.Fleets.UpdateContainer.Do(q.Ctx, fleet.ContainerUpdate{FleetID: q.fleetID, Copies: &three})
		q.Must(err)
		wait.Settle(0)
		for range 10 {
			q.work(h)
			for _, a := range q.assigned(h) {
				if a.Stop != instance.Keep {
					q.report(h, instance.InstanceReport{InstanceID: a.ID, Phase: instance.PhaseGone})
				}
			}
			wait.Settle(time.Minute)
		}
		a := q.assigned(h)
		if len(a) != 1 || a[0].ID == first || a[0].Slots != 3 || q.deployment().Status != fleet.DeploymentComplete {
			q.Errorf("assigned %+v, the deployment is %s", a, q.deployment().Status)
		}
	})
}

// A thousand groups, two hundred of which host protected game sessions, are replaced without
// losing one, and never by more than a quarter at a time.
func TestDeployment_ThousandGroups(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.dock(func(m *instance.HostInfo) { m.CPUMillis, m.MemoryMiB = 1_000_000, 2_000_000 })
		q.create(func(in *fleet.ContainerInput) {
			in.Protection, in.InstanceType, in.Copies = fleet.FullProtection, "c5.2xlarge", 10
		})
		q.work(h) // which makes it ACTIVE
		q.scale(q.fleet(), 100)
		q.work(h)
		q.work(h)
		if n := len(q.versions()); n != 1000 {
			t.Fatalf("%d groups are ready", n)
		}
		hosting := map[compute.Ref]bool{}
		for range 200 {
			hosting[q.game()] = true
		}
		q.deploy("game:2", fleet.DeploymentInput{})
		if got := q.fleet().Status; got != fleet.Updating {
			t.Errorf("during a deployment the fleet is %s", got)
		}
		ended := 0 // game sessions in the last round, whose game servers start again
		for round := 0; q.deployment().Status == fleet.DeploymentInProgress; round++ {
			if round == 100 {
				t.Fatal("the deployment does not end")
			}
			if n := len(q.versions()); n < 750-ended {
				t.Fatalf("%d groups are ready", n)
			}
			ended = 0
			q.work(h)
			for ref := range hosting {
				if !q.Computes.Lives(q.Store.View(), ref) {
					t.Fatalf("%v has lost its game session", ref)
				}
			}
			if round > 5 { // game sessions end one by one
				for ref := range hosting {
					q.over(ref)
					delete(hosting, ref)
					ended++
					if len(hosting)%20 == 0 {
						break
					}
				}
			}
			wait.Settle(10 * time.Second)
		}
		for n, v := range q.versions() {
			if v != 2 {
				t.Fatalf("group %d is of version %d", n, v)
			}
		}
		if d := q.deployment(); d.Status != fleet.DeploymentComplete || q.fleet().Status != fleet.Active || len(hosting) > 0 {
			t.Errorf("the deployment is %s, the fleet %s, with %d of the game sessions", d.Status, q.fleet().Status, len(hosting))
		}
	})
}
