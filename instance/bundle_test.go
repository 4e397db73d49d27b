package instance_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

const (
	region = "us-east-1"
	home   = "custom-home"
	away   = "custom-away"
	moment = time.Millisecond
)

// yard is a cell in two locations besides the home region. A test acts as the agents
// of its hosts.
type yard struct {
	*celltest.Cell
	links map[string]*celltest.Link // by process
	freed int
}

// in runs f in a yard with virtual time whose loops run.
func in(t *testing.T, opts instance.Options, f func(*yard)) {
	t.Helper()
	inCell(t, celltest.Options{Instances: opts}, f)
}

// inCell is in with options of more than the instances.
func inCell(t *testing.T, o celltest.Options, f func(*yard)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		y := &yard{Cell: celltest.New(t, o), links: map[string]*celltest.Link{}}
		y.Computes.OnFree(func() { y.freed++ })
		y.Open()
		y.Start(y.Computes.Run, y.Sessions.Run, y.Instances.Run)
		y.Locate(home, away)
		f(y)
		y.Close()
	})
}

// machine is what each host of the tests offers: room for two instances of c5.large.
var machine = instance.HostInfo{
	Name: "machine", IPAddress: "192.0.2.9", OS: "linux", Arch: "amd64", CPUMillis: 4000, MemoryMiB: 8192, PortFrom: 20000, PortTo: 29999,
}

// managed creates a managed fleet with one process per instance, in locations besides the home
// region.
func (y *yard) managed(p fleet.Protection, locations ...string) *fleet.Fleet {
	y.Helper()
	f := y.Managed(1, func(in *fleet.CreateInput) { in.Protection, in.Locations = p, locations })
	wait.Settle(0)
	return f
}

// host joins a machine to the home region and connects it.
func (y *yard) host() string {
	y.Helper()
	_, h := y.joined(region)
	return h
}

// joined joins a machine to a location and connects it, and returns its secret too.
func (y *yard) joined(location string) (secret, host string) {
	y.Helper()
	j := y.Join(location, machine)
	_, err := y.Instances.AuthenticateHost(j.HostID, j.Secret)
	y.Must(err)
	wait.Settle(0)
	return j.Secret, j.HostID
}

// connected connects the agent of a host, with what f changes about the machine.
func (y *yard) connected(host string, f ...func(*instance.HostInfo)) {
	y.Helper()
	m := machine
	for _, change := range f {
		change(&m)
	}
	y.Must(y.Instances.HostConnected.Do(y.Ctx, instance.HostPresence{HostID: host, Info: m}))
	wait.Settle(0)
}

// scale sets how many instances a fleet desires in its home region, and may have.
func (y *yard) scale(f *fleet.Fleet, n int) {
	y.Helper()
	most := max(n, y.Fleets.Get(y.Store.View(), f.ID).Place(region).Capacity.Max)
	_, err := y.Fleets.Capacities.Update.Do(y.Ctx, fleet.CapacityInput{FleetID: f.ID, Desired: &n, Max: &most})
	y.Must(err)
	wait.Settle(0)
}

func (y *yard) assigned(host string) []instance.Assignment {
	return y.Instances.Assignments(y.Store.View(), host)
}

func (y *yard) report(host string, r ...instance.InstanceReport) {
	y.Helper()
	y.Must(y.Instances.ReportHost.Do(y.Ctx, instance.HostReport{HostID: host, Instances: r}))
	wait.Settle(0)
}

// run brings one instance to the point where a process is ready, as a host does.
func (y *yard) run(host, id, process string) compute.Ref {
	y.Helper()
	for _, phase := range []instance.Phase{instance.Downloading, instance.Validating, instance.Building, instance.Activating} {
		y.report(host, instance.InstanceReport{InstanceID: id, Phase: phase})
	}
	ref := compute.Ref{FleetID: y.Instances.Instance(y.Store.View(), id).FleetID, ComputeName: id, ProcessID: process}
	y.report(host, instance.InstanceReport{InstanceID: id, Phase: instance.Activating, Processes: []instance.ProcessReport{{ID: process, Started: time.Now()}}})
	y.links[process] = &celltest.Link{}
	y.Ready(ref, y.links[process], 20000)
	wait.Settle(0)
	return ref
}

func (y *yard) status(f *fleet.Fleet) fleet.Status {
	return y.Fleets.Get(y.Store.View(), f.ID).Status
}

// told returns the published events of a fleet, oldest first.
func (y *yard) told(f *fleet.Fleet) (codes []event.Code, texts string) {
	y.Helper()
	found, err := y.Events.Read(y.Ctx, event.Query{FleetID: f.ID, Limit: 1000})
	y.Must(err)
	slices.SortFunc(found, func(a, b event.Entry) int { return int(a.Seq) - int(b.Seq) })
	for _, e := range found {
		codes = append(codes, e.Value.Code)
		texts += e.Value.Message + "\n"
	}
	return codes, texts
}

// takeOf takes a free process of a managed fleet for a game session.
func (y *yard) takeOf(f *fleet.Fleet) (p *compute.Process, err error) {
	err = y.Store.Update(y.Ctx, func(tx *store.Tx) (err error) {
		p, _, err = y.Computes.Take(tx, y.Fleets.Get(tx, f.ID), region, "session-"+tx.ID(""), nil)
		return err
	})
	return p, err
}
