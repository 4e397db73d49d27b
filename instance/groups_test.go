package instance_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
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
	dead    map[string]bool        // by instance and group: its game server ended, and was not started again
	bad     map[int]bool           // versions whose game servers crash
	frail   map[int]bool           // versions whose game servers crash soon after they are ready
	n       int
}

func inQuay(t *testing.T, f func(*quay)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		y := &yard{Cell: celltest.New(t, celltest.Options{Definitions: definition}), links: map[string]*link{}}
		y.Open()
		y.Start(y.Computes.Run, y.Sessions.Run, y.Instances.Run)
		y.Locate(home, away)
		q := &quay{yard: y, runs: map[string]compute.Ref{}, dead: map[string]bool{}, bad: map[int]bool{}, frail: map[int]bool{}}
		f(q)
		y.Close()
	})
}

// dock joins a machine with an engine.
func (q *quay) dock() string {
	q.Helper()
	h := q.host()
	m := machine
	m.Engine = "docker 28"
	q.Must(q.Instances.HostConnected.Do(q.Ctx, instance.HostPresence{HostID: h, Info: m}))
	celltest.Pass(0)
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
	celltest.Pass(0)
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
		q.links[ref.ProcessID] = &link{}
		_, err := q.Computes.Connect(q.Ctx, compute.ConnectInput{Ref: ref}, q.links[ref.ProcessID])
		q.Must(err)
		q.Must(q.Computes.Ready(q.Ctx, compute.ReadyInput{Ref: ref, Port: 7777}))
		q.Must(q.Computes.Hearing(q.Ctx, ref))
		if q.frail[g.Of.Version] {
			celltest.Pass(time.Second)
			q.crash(host, a, g, ref)
		}
	}
	for key, ref := range q.runs { // as game servers do that are told to end
		if p := q.Computes.Process(q.Store.View(), ref.Key()); p != nil && p.Status == compute.Terminating {
			q.Must(q.Computes.End(q.Ctx, ref))
			delete(q.runs, key)
		}
	}
	celltest.Pass(0)
}

// crash ends a game server with an error.
func (q *quay) crash(host string, a instance.Assignment, g *instance.Group, ref compute.Ref) {
	q.Helper()
	delete(q.runs, a.ID+"/"+g.Name)
	_, err := q.Instances.ProcessExited.Do(q.Ctx, instance.ExitReport{
		HostID: host, InstanceID: a.ID, Group: g.Name, ProcessID: ref.ProcessID, Known: true, Code: 1, Tail: []string{"no such map"},
	})
	q.Must(err)
}

func (q *quay) host1(t *testing.T) string {
	t.Helper()
	q.create(nil)
	h := q.dock()
	q.work(h)
	q.work(h)
	return h
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
			celltest.Pass(time.Minute)
			q.work(h)
			for _, a := range q.assigned(h) {
				q.report(h, instance.InstanceReport{InstanceID: a.ID, Phase: instance.PhaseGone})
			}
		}
		celltest.Pass(time.Minute)
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
		_, err := q.Computes.Connect(q.Ctx, compute.ConnectInput{Ref: ref}, &link{})
		q.Must(err)
		q.Must(q.Computes.Ready(q.Ctx, compute.ReadyInput{Ref: ref, Port: 9000})) // of another container
		celltest.Pass(0)
		if p := q.Computes.Process(q.Store.View(), ref.Key()); p.Status != compute.Terminating || p.Why != event.ServerProcessWrongPort {
			q.Errorf("the process is %+v", p)
		}
		if q.recorded(event.ServerProcessWrongPort) != 1 {
			q.Error("no event names the port")
		}
	})
}

func TestGroups_CrashIsCountedAndReported(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1(t)
		a := q.assigned(h)[0]
		ref := q.runs[a.ID+"/0"]
		_, err := q.Instances.ProcessExited.Do(q.Ctx, instance.ExitReport{HostID: h, InstanceID: a.ID, Group: "0", ProcessID: ref.ProcessID, Known: true, Code: 2})
		q.Must(err)
		delete(q.runs, a.ID+"/0")
		celltest.Pass(0)
		i := q.Instances.Instance(q.Store.View(), a.ID)
		if g := i.Group("0"); g.Ready || g.Failures != 0 {
			q.Errorf("after a crash the group is %+v", *g)
		}
		if q.recorded(event.GameGroupCrashed) != 1 || q.recorded(event.ServerProcessCrashed) != 1 {
			q.Errorf("%d events of groups, %d of processes", q.recorded(event.GameGroupCrashed), q.recorded(event.ServerProcessCrashed))
		}
		q.work(h)
		if g := q.Instances.Instance(q.Store.View(), a.ID).Group("0"); !g.Ready {
			q.Errorf("after its restart the group is %+v", *g)
		}
	})
}

// The next game server of a group may be ready before the end of the former one is reported, as
// in a cluster that has lost a node: the group stays ready. It is not once both have ended.
func TestGroups_NextIsReadyFirst(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1(t)
		a := q.assigned(h)[0]
		former := q.runs[a.ID+"/0"]
		next := compute.Ref{FleetID: former.FleetID, ComputeName: former.ComputeName, ProcessID: "next"}
		_, err := q.Computes.Connect(q.Ctx, compute.ConnectInput{Ref: next}, &link{})
		q.Must(err)
		q.Must(q.Computes.Ready(q.Ctx, compute.ReadyInput{Ref: next, Port: 7777}))
		for n, run := range []struct {
			ref   compute.Ref
			ready bool // afterwards
		}{{former, true}, {next, false}} {
			_, err := q.Instances.ProcessExited.Do(q.Ctx, instance.ExitReport{HostID: h, InstanceID: a.ID, Group: "0", ProcessID: run.ref.ProcessID, Cause: "its node was lost"})
			q.Must(err)
			celltest.Pass(0)
			if g := q.Instances.Instance(q.Store.View(), a.ID).Group("0"); g.Ready != run.ready || q.recorded(event.GameGroupCrashed) != n+1 {
				q.Errorf("after the end of %s the group is %+v, and there are %d events", run.ref.ProcessID, *g, q.recorded(event.GameGroupCrashed))
			}
		}
	})
}

// A game server whose host was told to end it before it connected has not failed.
func TestGroups_EndedBeforeItConnected(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1(t)
		a := q.assigned(h)[0]
		ref := q.runs[a.ID+"/0"]
		exited := func(id string, reason event.Code) {
			t.Helper()
			_, err := q.Instances.ProcessExited.Do(q.Ctx, instance.ExitReport{HostID: h, InstanceID: a.ID, Group: "0", ProcessID: id, Known: true, Code: 1, Reason: reason})
			q.Must(err)
			celltest.Pass(0)
		}
		exited(ref.ProcessID, event.ServerProcessForceTerminated)
		exited("evicted", event.ServerProcessForceTerminated)
		if g := q.Instances.Instance(q.Store.View(), a.ID).Group("0"); g.Failures != 0 || q.recorded(event.GameGroupCrashed) != 0 || q.recorded(event.ServerProcessCrashed) != 0 {
			q.Errorf("evicted groups count as crashed: %+v", *g)
		}
		exited("by itself", "")
		if g := q.Instances.Instance(q.Store.View(), a.ID).Group("0"); g.Failures != 1 || q.recorded(event.GameGroupCrashed) != 1 || q.recorded(event.ServerProcessCrashed) != 1 {
			q.Errorf("a crash is not counted: %+v", *g)
		}
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
		h := q.host1(t)
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
			celltest.Pass(0)
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
		if q.recorded(event.GameGroupCrashed) != 0 || q.Instances.Instance(q.Store.View(), i).Group("0").Failures != 0 {
			t.Error("a taken port counts as a crash")
		}
		celltest.Pass(11 * time.Minute)
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
		h := q.host()
		m := machine
		m.Engine, m.PortTo = "docker 28", m.PortFrom+3 // as many as two groups need
		q.Must(q.Instances.HostConnected.Do(q.Ctx, instance.HostPresence{HostID: h, Info: m}))
		celltest.Pass(0)
		i := q.assigned(h)[0]
		first := i.Ports(i.Group("0"))[0].Outside
		for n := range 3 {
			r := instance.GroupReport{Name: "0", Phase: instance.GroupFailed, Cause: fmt.Sprint("attempt ", n), Taken: []int{first}}
			q.report(h, instance.InstanceReport{InstanceID: i.ID, Phase: instance.Activating, Groups: []instance.GroupReport{r}})
			celltest.Pass(time.Minute)
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
		h := q.host1(t)
		a := q.assigned(h)[0]
		celltest.Pass(time.Minute)
		m := machine
		m.Engine = "docker 28"
		q.Must(q.Instances.HostConnected.Do(q.Ctx, instance.HostPresence{HostID: h, Info: m}))
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
	celltest.Pass(0)
}

// versions returns the versions of the groups that are ready.
// group returns a group by instance and group.
func (q *quay) group(key string) *instance.Group {
	id, name, _ := strings.Cut(key, "/")
	return q.Instances.Instance(q.Store.View(), id).Group(name)
}

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

func TestDeployment_KeepsProtectedGameSessions(t *testing.T) {
	inQuay(t, func(q *quay) {
		q.create(func(in *fleet.ContainerInput) { in.Protection = fleet.FullProtection })
		h := q.dock()
		q.work(h)
		q.work(h)
		g, err := q.Sessions.Create(q.Ctx, session.CreateInput{FleetID: q.fleetID, MaxPlayers: 2, Location: region})
		q.Must(err)
		ref := compute.ParseRef(q.Sessions.Live(q.Store.View(), g.ID).ProcessKey)
		q.Must(q.Sessions.Activate(q.Ctx, ref, g.ID))
		q.deploy("game:2", fleet.DeploymentInput{})
		if got := q.fleet().Status; got != fleet.Updating {
			q.Errorf("during a deployment the fleet is %s", got)
		}
		for range 10 {
			q.work(h)
			celltest.Pass(time.Minute)
		}
		if !q.Computes.Lives(q.Store.View(), ref) {
			q.Fatal("the deployment has ended a protected game session")
		}
		if d := q.deployment(); d.Status != fleet.DeploymentInProgress {
			q.Errorf("while it waits, the deployment is %s", d.Status)
		}
		q.Must(q.Computes.End(q.Ctx, ref)) // as the game server does after its game session
		delete(q.runs, ref.ComputeName)
		for range 5 {
			celltest.Pass(time.Minute)
			q.work(h)
		}
		if d := q.deployment(); d.Status != fleet.DeploymentComplete || q.fleet().Status != fleet.Active {
			q.Errorf("the deployment is %s, the fleet %s", d.Status, q.fleet().Status)
		}
		if got := q.versions(); len(got) != 2 || got[0] != 2 || got[1] != 2 {
			q.Errorf("versions %v", got)
		}
	})
}

func TestDeployment_BadVersionIsRolledBack(t *testing.T) {
	testRollback(t, func(q *quay) { q.bad[2] = true })
}

// A rollback does not wait for the protected game sessions of the version to which it returns:
// their groups stay.
func TestDeployment_RollbackKeepsGames(t *testing.T) {
	inQuay(t, func(q *quay) {
		q.create(func(in *fleet.ContainerInput) { in.Protection, in.Copies = fleet.FullProtection, 4 })
		h := q.dock()
		q.work(h)
		q.work(h)
		var refs []compute.Ref
		for range 4 {
			g, err := q.Sessions.Create(q.Ctx, session.CreateInput{FleetID: q.fleetID, MaxPlayers: 2, Location: region})
			q.Must(err)
			ref := compute.ParseRef(q.Sessions.Live(q.Store.View(), g.ID).ProcessKey)
			q.Must(q.Sessions.Activate(q.Ctx, ref, g.ID))
			refs = append(refs, ref)
		}
		q.bad[2] = true
		thirty := 30
		q.deploy("game:2", fleet.DeploymentInput{MinHealthy: &thirty})
		for range 3 {
			q.work(h)
			celltest.Pass(time.Second)
		}
		var drains []compute.Ref
		for _, ref := range refs {
			if q.group(ref.ComputeName).Stop == instance.Drain {
				drains = append(drains, ref)
			}
		}
		if len(drains) != 3 {
			q.Fatalf("%d groups drain", len(drains))
		}
		q.Must(q.Computes.End(q.Ctx, drains[0])) // so that its group is replaced
		delete(q.runs, drains[0].ComputeName)
		for range 20 {
			q.work(h)
			celltest.Pass(time.Minute)
		}
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

// A version that becomes ready and then crashes is a bad one too.
func TestDeployment_FrailVersionIsRolledBack(t *testing.T) {
	testRollback(t, func(q *quay) { q.frail[2] = true })
}

// A group counts for the deployment when it has been ready for a while, or has hosted a game
// to its end: until then, no other group is replaced.
func TestDeployment_Bakes(t *testing.T) {
	for _, end := range []bool{false, true} {
		inQuay(t, func(q *quay) {
			h := q.host1(t)
			q.deploy("game:2", fleet.DeploymentInput{})
			until := func(version2 int) {
				for range 5 {
					q.work(h)
					celltest.Pass(time.Second)
				}
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
				celltest.Pass(30 * time.Second)
			}
			until(2)
			celltest.Pass(30 * time.Second)
			if d := q.deployment(); d.Status != fleet.DeploymentComplete {
				q.Errorf("after all groups have been ready for long enough, the deployment is %s", d.Status)
			}
		})
	}
}

func testRollback(t *testing.T, change func(*quay)) {
	t.Helper()
	inQuay(t, func(q *quay) {
		h := q.host1(t)
		change(q)
		q.deploy("game:2", fleet.DeploymentInput{})
		for range 20 {
			q.work(h)
			celltest.Pass(time.Minute)
		}
		if d := q.deployment(); d.Status != fleet.DeploymentRollbackDone || q.fleet().Containers.Game.Version != 1 {
			q.Errorf("the deployment is %+v", d)
		}
		if got := q.versions(); len(got) != 2 || got[0] != 1 || got[1] != 1 {
			q.Errorf("versions %v", got)
		}
		if _, texts := q.told(q.fleet()); !strings.Contains(texts, "no such map") {
			q.Errorf("no event says why:\n%s", texts)
		}
	})
}

func TestDeployment_OtherNumberOfGroups(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.host1(t)
		first := q.assigned(h)[0].ID
		three := 3
		_, err := q.Fleets.UpdateContainer.Do(q.Ctx, fleet.ContainerUpdate{FleetID: q.fleetID, Copies: &three})
		q.Must(err)
		celltest.Pass(0)
		for range 10 {
			q.work(h)
			for _, a := range q.assigned(h) {
				if a.Stop != instance.Keep {
					q.report(h, instance.InstanceReport{InstanceID: a.ID, Phase: instance.PhaseGone})
				}
			}
			celltest.Pass(time.Minute)
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
		machine := machine
		machine.Engine, machine.CPUMillis, machine.MemoryMiB = "docker 28", 1_000_000, 2_000_000
		h := q.host()
		q.Must(q.Instances.HostConnected.Do(q.Ctx, instance.HostPresence{HostID: h, Info: machine}))
		q.create(func(in *fleet.ContainerInput) {
			in.Protection, in.InstanceType, in.Copies = fleet.FullProtection, "c5.2xlarge", 10
		})
		hundred := 100
		_, err := q.Fleets.Capacities.Update.Do(q.Ctx, fleet.CapacityInput{FleetID: q.fleetID, Max: &hundred, Desired: &hundred})
		if err != nil { // until it is ACTIVE
			q.work(h)
			_, err = q.Fleets.Capacities.Update.Do(q.Ctx, fleet.CapacityInput{FleetID: q.fleetID, Max: &hundred, Desired: &hundred})
		}
		q.Must(err)
		celltest.Pass(time.Second)
		q.work(h)
		q.work(h)
		if n := len(q.versions()); n != 1000 {
			t.Fatalf("%d groups are ready", n)
		}
		hosting := map[compute.Ref]bool{}
		for range 200 {
			g, err := q.Sessions.Create(q.Ctx, session.CreateInput{FleetID: q.fleetID, MaxPlayers: 2, Location: region})
			q.Must(err)
			ref := compute.ParseRef(q.Sessions.Live(q.Store.View(), g.ID).ProcessKey)
			q.Must(q.Sessions.Activate(q.Ctx, ref, g.ID))
			hosting[ref] = true
		}
		q.deploy("game:2", fleet.DeploymentInput{})
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
					q.Must(q.Computes.End(q.Ctx, ref))
					delete(hosting, ref)
					delete(q.runs, ref.ComputeName)
					ended++
					if len(hosting)%20 == 0 {
						break
					}
				}
			}
			celltest.Pass(10 * time.Second)
		}
		for n, v := range q.versions() {
			if v != 2 {
				t.Fatalf("group %d is of version %d", n, v)
			}
		}
		if d := q.deployment(); d.Status != fleet.DeploymentComplete {
			t.Errorf("the deployment is %s", d.Status)
		}
	})
}
