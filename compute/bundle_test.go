package compute_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
)

const (
	home  = "custom-home"
	away  = "custom-away"
	first = "compute-1"
)

// yard is a cell with a fleet in two locations and a compute in each.
type yard struct {
	*celltest.Cell
	fleet    *fleet.Fleet
	links    map[string]*celltest.Link
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
	return openWith(t, celltest.Options{Driver: driver, Computes: opts})
}

func openWith(t *testing.T, o celltest.Options) *yard {
	y := assemble(t, o)
	y.Start(y.Computes.Run)
	return y
}

// assemble opens a yard in which no deadline takes effect until Run is started.
func assemble(t *testing.T, o celltest.Options) *yard {
	y := &yard{Cell: celltest.New(t, o), links: map[string]*celltest.Link{}}
	y.Computes.OnEnded(func(_ *store.Tx, p *compute.Process, _ string) { y.ended = append(y.ended, p.ID) })
	y.Computes.OnStopping(func(_ *store.Tx, p *compute.Process) { y.stopping = append(y.stopping, p.ID) })
	y.Computes.OnFree(func() { y.freed++ })
	y.Open()
	t.Cleanup(y.Stop)
	return y
}

func (y *yard) furnish() {
	y.fleet = y.Anywhere("", home, away)
	y.register(first, home)
	y.register("compute-2", away)
}

func (y *yard) register(name, location string) *compute.Compute {
	return y.Register(y.fleet, name, location)
}

func (y *yard) close() { y.Must(y.Store.Close()) }

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
	y.Must(y.tryConnect(id))
}

func (y *yard) tryConnect(id string) error {
	if y.links[id] == nil {
		y.links[id] = &celltest.Link{}
	}
	_, err := y.Computes.Connect(y.Ctx, compute.ConnectInput{Ref: y.ref(id)}, y.links[id])
	return err
}

// free connects a process and makes it ready for a game session.
func (y *yard) free(id string) {
	y.Helper()
	y.connect(id)
	y.Must(y.Computes.Ready(y.Ctx, compute.ReadyInput{Ref: y.ref(id), Port: 1000}))
	y.Must(y.Computes.Hearing(y.Ctx, y.ref(id)))
}

func (y *yard) process(id string) compute.Process {
	y.Helper()
	p := y.Computes.Process(y.Store.View(), y.ref(id).Key())
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
	err := y.Store.Update(y.Ctx, func(tx *store.Tx) error {
		p, _, err := y.Computes.Take(tx, y.Fleets.Get(tx, y.fleet.ID), location, gameSessionID, nil)
		if err == nil {
			id = p.ID
		}
		return err
	})
	return id, err
}

// count returns how often a code was recorded for a process.
func (y *yard) count(code event.Code, id string) int {
	y.Helper()
	n := 0
	for _, e := range y.Recorded(code) {
		if e.ProcessID == y.ref(id).ProcessID {
			n++
		}
	}
	return n
}
