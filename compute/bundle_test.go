package compute_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

const (
	home  = "custom-home"
	away  = "custom-away"
	first = "compute-1"
)

// yard is a cell with a fleet in two locations and a compute in each.
type yard struct {
	*testing.T
	ctx      context.Context
	st       *store.Store
	events   *event.Log
	fleets   *fleet.Service
	computes *compute.Service
	fleet    *fleet.Fleet
	links    map[string]*link
	ended    []string // processes that OnEnded reported
	stopping []string
	freed    int
}

// in runs f in a yard with virtual time whose loop runs.
func in(t *testing.T, opts compute.Options, f func(*yard)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		y := open(t, store.NewMemory(), opts)
		defer y.close()
		y.furnish()
		f(y)
	})
}

func open(t *testing.T, driver store.Driver, opts compute.Options) *yard {
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	y := &yard{T: t, st: store.New(store.Options{Driver: driver}), links: map[string]*link{}}
	y.must(err)
	y.events = event.New(y.st)
	tags := tag.New(y.st)
	y.fleets = fleet.New(y.st, fleet.Deps{Events: y.events, Tags: tags}, fleet.Options{Home: arn.Home{Region: "us-east-1", Account: "000000000000"}})
	opts.Tokens = master
	y.computes = compute.New(y.st, compute.Deps{Events: y.events, Fleets: y.fleets, Tags: tags}, opts)
	y.computes.OnEnded(func(_ *store.Tx, p *compute.Process) { y.ended = append(y.ended, p.ID) })
	y.computes.OnStopping(func(_ *store.Tx, p *compute.Process) { y.stopping = append(y.stopping, p.ID) })
	y.computes.OnFree(func() { y.freed++ })
	y.must(y.st.Open(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	y.ctx = ctx
	done := make(chan struct{})
	go func() { defer close(done); y.computes.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return y
}

func (y *yard) furnish() {
	y.Helper()
	for _, l := range []string{home, away} {
		_, err := y.fleets.Locations.Create(y.ctx, l, nil)
		y.must(err)
	}
	var err error
	y.fleet, err = y.fleets.Create.Do(y.ctx, fleet.CreateInput{ComputeType: fleet.Anywhere, Locations: []string{home, away}})
	y.must(err)
	y.register(first, home)
	y.register("compute-2", away)
}

func (y *yard) register(name, location string) *compute.Compute {
	y.Helper()
	c, err := y.computes.Register(y.ctx, compute.RegisterInput{FleetID: y.fleet.ID, Name: name, Location: location, IPAddress: "192.0.2.1"})
	y.must(err)
	return c
}

func (y *yard) close() { y.must(y.st.Close()) }

func (y *yard) must(err error) {
	if err != nil {
		y.Helper()
		y.Fatal(err)
	}
}

// ref returns the Ref of a process on the first compute, or on the second: "compute-2/p".
func (y *yard) ref(id string) compute.Ref {
	r := compute.Ref{FleetID: y.fleet.ID, ComputeName: first, ProcessID: id}
	if n, err := fmt.Sscanf(id, "compute-2/%s", &r.ProcessID); n == 1 && err == nil {
		r.ComputeName = "compute-2"
	}
	return r
}

func (y *yard) connect(id string) {
	y.Helper()
	y.must(y.tryConnect(id))
}

func (y *yard) tryConnect(id string) error {
	if y.links[id] == nil {
		y.links[id] = &link{}
	}
	_, err := y.computes.Connect(y.ctx, compute.ConnectInput{Ref: y.ref(id)}, y.links[id])
	return err
}

// free connects a process and makes it ready for a game session.
func (y *yard) free(id string) {
	y.Helper()
	y.connect(id)
	y.must(y.computes.Ready(y.ctx, compute.ReadyInput{Ref: y.ref(id), Port: 1000}))
	y.must(y.computes.Hearing(y.ctx, y.ref(id)))
}

func (y *yard) process(id string) compute.Process {
	y.Helper()
	p := y.computes.Process(y.st.View(), y.ref(id).Key())
	if p == nil {
		y.Fatalf("process %s is not known", id)
	}
	return *p
}

// want fails the test unless a process has a status and a cause.
func (y *yard) want(id string, status compute.Status, why event.Code) {
	y.Helper()
	if p := y.process(id); p.Status != status || p.Why != why {
		y.Errorf("process %s is %s (%s), want %s (%s)", id, p.Status, p.Why, status, why)
	}
}

// take takes a free process for a game session.
func (y *yard) take(location, gameSessionID string) (string, error) {
	var id string
	err := y.st.Update(y.ctx, func(tx *store.Tx) error {
		p, _, err := y.computes.Take(tx, y.fleets.Get(tx, y.fleet.ID), location, gameSessionID, nil)
		if err == nil {
			id = p.ID
		}
		return err
	})
	return id, err
}

func (y *yard) update(f func(tx *store.Tx)) {
	y.Helper()
	y.must(y.st.Update(y.ctx, func(tx *store.Tx) error { f(tx); return nil }))
}

// refused fails the test unless do returns a kind of fault and changes nothing.
func (y *yard) refused(name string, kind fault.Kind, do func() error) {
	y.Helper()
	before := y.st.View().Digest()
	if err := do(); !fault.Is(err, kind) {
		y.Errorf("%s: got %v, want %s", name, err, kind)
	}
	if y.st.View().Digest() != before {
		y.Errorf("%s: the refusal changed the state", name)
	}
}

// count returns how often a code was recorded for a process.
func (y *yard) count(code event.Code, id string) int {
	y.Helper()
	entries, err := y.events.Read(y.ctx, event.Query{Limit: 1000})
	y.must(err)
	n := 0
	for _, e := range entries {
		if e.Value.Code == code && e.Value.ProcessID == y.ref(id).ProcessID {
			n++
		}
	}
	return n
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
