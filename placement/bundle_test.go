package placement

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
)

// cell is a cell with queues, and with processes that behave as a test says.
type cell struct {
	*celltest.Cell
	places   *Service
	registry *prometheus.Registry

	links map[string]*link // by process key
	made  int              // processes so far
}

// newCell returns an open cell on a driver. Loops do not run yet.
func newCell(t rapid.TB, driver store.Driver, opts Options) *cell {
	t.Helper()
	c := &cell{Cell: celltest.New(t, celltest.Options{Driver: driver}), links: map[string]*link{}, registry: prometheus.NewRegistry()}
	opts.Registerer = c.registry
	c.places = New(c.Store, Deps{Events: c.Events, Tags: c.Tags, Fleets: c.Fleets, Computes: c.Computes, Sessions: c.Sessions}, opts)
	c.Open()
	return c
}

// run starts the loops.
func (c *cell) run() { c.Start(c.Computes.Run, c.Sessions.Run, c.places.Run) }

// inCell runs f in virtual time, in a cell with running loops.
func inCell(t *testing.T, opts Options, f func(*cell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCell(t, store.NewMemory(), opts)
		c.run()
		defer c.Close()
		f(c)
		synctest.Wait()
		c.check()
	})
}

// fleet creates a fleet, and its locations if they do not exist.
func (c *cell) fleet(in fleet.CreateInput) *fleet.Fleet {
	c.Helper()
	c.Locate(in.Locations...)
	in.ComputeType = fleet.Anywhere
	f, err := c.Fleets.Create.Do(c.Ctx, in)
	c.Must(err)
	for _, l := range in.Locations {
		c.Register(f, "at-"+l, l)
	}
	return f
}

func (c *cell) fleetARN(f *fleet.Fleet) string { return c.Fleets.Home().Of("fleet", f.ID) }

func (c *cell) create(q Queue) {
	c.Helper()
	_, err := c.places.Queues.Create.Do(c.Ctx, QueueInput{Queue: q, Elsewhere: c.places.Queues.Elsewhere(c.Ctx, q.Destinations)})
	c.Must(err)
}

// process creates a free process. acts says what it does with a game session.
func (c *cell) process(fleetID, location string, acts behaviour) *link {
	c.Helper()
	c.made++
	l := &link{c: c, ref: compute.Ref{FleetID: fleetID, ComputeName: "at-" + location, ProcessID: fmt.Sprintf("p-%06d", c.made)}, acts: acts}
	c.links[l.ref.Key()] = l
	c.Ready(l.ref, l, 7000+c.made%1000)
	return l
}

func (c *cell) start(queue string, r Request) (*Placement, error) {
	if r.MaxPlayers == 0 {
		r.MaxPlayers = 8
	}
	return c.places.Start(c.Ctx, StartInput{Queue: queue, Request: r})
}

// place starts a placement.
func (c *cell) place(queue string, r Request) {
	c.Helper()
	_, err := c.start(queue, r)
	c.Must(err)
}

func (c *cell) get(id string) *Placement {
	c.Helper()
	p, _, err := c.places.Get(c.Ctx, id)
	c.Must(err)
	return p
}

// check checks the invariants of placements, sessions and processes.
func (c *cell) check() {
	c.Helper()
	view := c.Store.View()
	hosts := map[string]string{}
	for p := range c.places.t.placements.All(view) {
		switch {
		case p.Status == Fulfilled:
			if len(p.Rounds) == 0 || p.Ended.IsZero() {
				c.Errorf("%s is FULFILLED without an end or a round", p.ID)
			}
		case p.Trying():
			g := c.Sessions.Live(view, p.GameSessionID)
			if g == nil || g.Status.Ended() {
				c.Errorf("%s waits for game session %s, which is not there", p.ID, p.GameSessionID)
			}
		}
		if p.GameSessionID == "" {
			continue
		}
		if other := hosts[p.GameSessionID]; other != "" {
			c.Errorf("%s and %s have the same game session", p.ID, other)
		}
		hosts[p.GameSessionID] = p.ID
	}
	for key, l := range c.links {
		if n := l.given(); n > 1 {
			c.Errorf("process %s was given %d game sessions", key, n)
		}
	}
}

// behaviour is what a process does with its game session.
type behaviour string

const (
	activates behaviour = "activates" // activates immediately
	silent    behaviour = "silent"    // does nothing
	crashes   behaviour = "crashes"   // ends
)

// link is a process as Muster sees it.
type link struct {
	c    *cell
	ref  compute.Ref
	acts behaviour

	mu     sync.Mutex // the journal calls the process while the test reads it
	starts []string
}

// given returns how many game sessions the process was given.
func (l *link) given() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.starts)
}

func (l *link) StartGameSession(s compute.Start) {
	l.mu.Lock()
	l.starts = append(l.starts, s.GameSessionID)
	l.mu.Unlock()
	switch l.acts { // not in this goroutine: a link must not block
	case activates:
		go l.activate(s.GameSessionID)
	case crashes:
		go l.end()
	}
}

func (l *link) UpdateGameSession(compute.Update) {}
func (l *link) Terminate(time.Time)              {}
func (l *link) Drop()                            {}

func (l *link) activate(id string) {
	if err := l.c.Sessions.Activate(l.c.Ctx, l.ref, id); err != nil && !strings.Contains(err.Error(), "hosts no game session") {
		l.c.Errorf("activate: %v", err)
	}
}

func (l *link) end() {
	if err := l.c.Computes.Exited(l.c.Ctx, l.ref, "crashed"); err != nil {
		l.c.Errorf("exit: %v", err)
	}
}

// hostOf returns the process that hosts a placement's game session.
func (c *cell) hostOf(id string) *link {
	c.Helper()
	g := c.Sessions.Live(c.Store.View(), c.get(id).GameSessionID)
	if g == nil {
		c.Fatalf("%s has no game session", id)
	}
	return c.links[g.ProcessKey]
}
