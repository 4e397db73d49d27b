package instance_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/session"
)

const (
	region = "us-east-1"
	home   = "custom-home"
	away   = "custom-away"
	moment = time.Millisecond
)

// yard is a cell whose builds are all READY. A test stands for the agents of its hosts.
type yard struct {
	*testing.T
	ctx       context.Context
	st        *store.Store
	events    *event.Log
	fleets    *fleet.Service
	computes  *compute.Service
	sessions  *session.Service
	instances *instance.Service
	links     map[string]*link // by process
	freed     int
}

// in runs f in a yard with virtual time whose loops run.
func in(t *testing.T, opts instance.Options, f func(*yard)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
		y := &yard{T: t, st: store.New(store.Options{Driver: store.NewMemory()}), links: map[string]*link{}}
		y.must(err)
		y.events = event.New(y.st)
		tags := tag.New(y.st)
		y.fleets = fleet.New(y.st, fleet.Deps{Events: y.events, Tags: tags}, fleet.Options{
			Home: arn.Home{Region: region, Account: "000000000000"},
			Builds: func(_ store.Reader, id string) (fleet.Build, error) {
				return fleet.Build{ID: id, Status: "READY", Ready: true, OS: "AMAZON_LINUX_2023", SHA256: "ab", Format: "zip", Bytes: 1}, nil
			},
		})
		y.computes = compute.New(y.st, compute.Deps{Events: y.events, Fleets: y.fleets, Tags: tags}, compute.Options{Tokens: master})
		y.sessions = session.New(y.st, session.Deps{Events: y.events, Fleets: y.fleets, Computes: y.computes}, session.Options{})
		y.instances = instance.New(y.st, instance.Deps{
			Events: y.events, Tags: tags, Fleets: y.fleets, Computes: y.computes, Sessions: y.sessions,
		}, opts)
		y.computes.OnFree(func() { y.freed++ })
		y.must(y.st.Open(t.Context()))
		ctx, stop := context.WithCancel(context.Background())
		y.ctx = ctx
		var loops sync.WaitGroup
		for _, run := range []func(context.Context){y.computes.Run, y.sessions.Run, y.instances.Run} {
			loops.Go(func() { run(ctx) })
		}
		for _, l := range []string{home, away} {
			_, err := y.fleets.Locations.Create(ctx, l, nil)
			y.must(err)
		}
		f(y)
		stop()
		loops.Wait()
		y.must(y.st.Close())
	})
}

// machine is what each host of the tests offers: room for two instances of c5.large.
var machine = instance.HostInfo{
	Name: "machine", IPAddress: "192.0.2.9", OS: "linux", Arch: "amd64", CPUMillis: 4000, MemoryMiB: 8192, PortFrom: 20000, PortTo: 29999,
}

// managed creates a managed fleet with one process per instance.
func (y *yard) managed(p fleet.Protection) *fleet.Fleet {
	y.Helper()
	f, err := y.fleets.Create.Do(y.ctx, fleet.CreateInput{
		Name: "managed", ComputeType: fleet.EC2, Protection: p,
		Managed: &fleet.Managed{BuildID: "build-1", InstanceType: "c5.large"},
		Runtime: fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/arena", Concurrent: 1}}},
	})
	y.must(err)
	pass(0)
	return f
}

// host joins a machine to the home region and connects it.
func (y *yard) host() string {
	y.Helper()
	return y.hostAt(region)
}

// hostAt joins a machine to a location.
func (y *yard) hostAt(location string) string {
	y.Helper()
	token, _, err := y.instances.CreateJoinToken(y.ctx, instance.JoinTokenInput{Location: location})
	y.must(err)
	j, err := y.instances.Join(y.ctx, instance.JoinInput{Token: token, HostInfo: machine})
	y.must(err)
	_, err = y.instances.AuthenticateHost(j.HostID, j.Secret)
	y.must(err)
	y.must(y.instances.HostConnected(y.ctx, j.HostID, machine))
	pass(0)
	return j.HostID
}

func (y *yard) assigned(host string) []instance.Assignment {
	return y.instances.Assignments(y.st.View(), host)
}

func (y *yard) report(host string, r ...instance.InstanceReport) {
	y.Helper()
	y.must(y.instances.ReportHost(y.ctx, instance.HostReport{HostID: host, Instances: r}))
	pass(0)
}

// run brings one instance to the point where a process is ready, as a host does.
func (y *yard) run(host, id, process string) compute.Ref {
	y.Helper()
	for _, phase := range []instance.Phase{instance.Downloading, instance.Validating, instance.Building, instance.Activating} {
		y.report(host, instance.InstanceReport{InstanceID: id, Phase: phase})
	}
	ref := compute.Ref{FleetID: y.instances.Instance(y.st.View(), id).FleetID, ComputeName: id, ProcessID: process}
	y.report(host, instance.InstanceReport{InstanceID: id, Phase: instance.Activating, Processes: []instance.ProcessReport{{ID: process, Started: time.Now()}}})
	y.links[process] = &link{}
	_, err := y.computes.Connect(y.ctx, compute.ConnectInput{Ref: ref}, y.links[process])
	y.must(err)
	y.must(y.computes.Ready(y.ctx, compute.ReadyInput{Ref: ref, Port: 20000}))
	y.must(y.computes.Hearing(y.ctx, ref))
	pass(0)
	return ref
}

func (y *yard) status(f *fleet.Fleet) fleet.Status {
	return y.fleets.Get(y.st.View(), f.ID).Status
}

// told returns the published events of a fleet, oldest first.
func (y *yard) told(f *fleet.Fleet) (codes []event.Code, texts string) {
	y.Helper()
	found, err := y.events.Read(y.ctx, event.Query{FleetID: f.ID, Limit: 1000})
	y.must(err)
	slices.SortFunc(found, func(a, b event.Entry) int { return int(a.Seq) - int(b.Seq) })
	for _, e := range found {
		codes = append(codes, e.Value.Code)
		texts += e.Value.Message + "\n"
	}
	return codes, texts
}

// takeOf takes a free process of a managed fleet for a game session.
func (y *yard) takeOf(f *fleet.Fleet) (p *compute.Process, err error) {
	err = y.st.Update(y.ctx, func(tx *store.Tx) (err error) {
		p, _, err = y.computes.Take(tx, y.fleets.Get(tx, f.ID), region, "session-"+tx.ID(""), nil)
		return err
	})
	return p, err
}

// recorded returns the number of events with a code.
func (y *yard) recorded(code event.Code) int {
	y.Helper()
	entries, err := y.events.Read(y.ctx, event.Query{Limit: 1000})
	y.must(err)
	n := 0
	for _, e := range entries {
		if e.Value.Code == code {
			n++
		}
	}
	return n
}

func (y *yard) must(err error) {
	if err != nil {
		y.Helper()
		y.Fatal(err)
	}
}

func (y *yard) update(f func(tx *store.Tx)) {
	y.Helper()
	y.must(y.st.Update(y.ctx, func(tx *store.Tx) error { f(tx); return nil }))
}

// refused fails the test unless do returns a kind of fault and changes nothing.
func (y *yard) refused(name string, kind fault.Kind, do func() error) {
	y.Helper()
	synctest.Wait() // until the loops have done what is due
	before := y.st.View().Digest()
	if err := do(); !fault.Is(err, kind) {
		y.Errorf("%s: got %v, want %s", name, err, kind)
	}
	if y.st.View().Digest() != before {
		y.Errorf("%s: the refusal changed the state", name)
	}
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// link records what a process is sent.
type link struct {
	starts     []compute.Start
	updates    []compute.Update
	terminates []time.Time
	dropped    int
}

func (l *link) StartGameSession(s compute.Start)   { l.starts = append(l.starts, s) }
func (l *link) UpdateGameSession(u compute.Update) { l.updates = append(l.updates, u) }
func (l *link) Terminate(by time.Time)             { l.terminates = append(l.terminates, by) }
func (l *link) Drop()                              { l.dropped++ }
