package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/session"
)

// cell is the real services on one store, with processes that behave as a test says.
type cell struct {
	rapid.TB
	ctx      context.Context
	st       *store.Store
	events   *event.Log
	fleets   *fleet.Service
	computes *compute.Service
	sessions *session.Service
	places   *Service
	registry *prometheus.Registry

	links map[string]*link // by process key
	made  int              // processes so far
	stop  context.CancelFunc
	done  []chan struct{}
}

// newCell returns an open cell on a driver. Loops do not run yet.
func newCell(t rapid.TB, driver store.Driver, opts Options) *cell {
	t.Helper()
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	c := &cell{TB: t, ctx: context.Background(), st: store.New(store.Options{Driver: driver}), links: map[string]*link{}, registry: prometheus.NewRegistry()}
	c.must(err)
	c.events = event.New(c.st)
	tags := tag.New(c.st)
	c.fleets = fleet.New(c.st, fleet.Deps{Events: c.events, Tags: tags}, fleet.Options{Home: arn.Home{Region: "us-east-1", Account: "000000000000"}})
	c.computes = compute.New(c.st, compute.Deps{Events: c.events, Fleets: c.fleets, Tags: tags}, compute.Options{Tokens: master})
	c.sessions = session.New(c.st, session.Deps{Events: c.events, Fleets: c.fleets, Computes: c.computes}, session.Options{})
	opts.Registerer = c.registry
	c.places = New(c.st, Deps{Events: c.events, Tags: tags, Fleets: c.fleets, Computes: c.computes, Sessions: c.sessions}, opts)
	c.must(c.st.Open(c.ctx))
	return c
}

// run starts the loops.
func (c *cell) run() {
	ctx, stop := context.WithCancel(c.ctx)
	c.stop = stop
	for _, loop := range []func(context.Context){c.computes.Run, c.sessions.Run, c.places.Run} {
		done := make(chan struct{})
		c.done = append(c.done, done)
		go func() { defer close(done); loop(ctx) }()
	}
}

// halt stops the loops and closes the store.
func (c *cell) halt() {
	if c.stop != nil {
		c.stop()
		for _, done := range c.done {
			<-done
		}
	}
	c.must(c.st.Close())
}

// inCell runs f in virtual time, in a cell with running loops.
func inCell(t *testing.T, opts Options, f func(*cell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCell(t, store.NewMemory(), opts)
		c.run()
		defer c.halt()
		f(c)
		synctest.Wait()
		c.check()
	})
}

func (c *cell) must(err error) {
	if err != nil {
		c.Helper()
		c.Fatal(err)
	}
}

// settle lets time pass until everything due by then has happened.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// fleet creates a fleet, and its locations if they do not exist.
func (c *cell) fleet(in fleet.CreateInput) *fleet.Fleet {
	c.Helper()
	for _, l := range in.Locations {
		if !slices.ContainsFunc(slices.Collect(c.fleets.Locations.All(c.st.View(), "")), func(have *fleet.Location) bool { return have.Name == l }) {
			_, err := c.fleets.Locations.Create(c.ctx, l, nil)
			c.must(err)
		}
	}
	in.ComputeType = fleet.Anywhere
	f, err := c.fleets.Create.Do(c.ctx, in)
	c.must(err)
	for _, l := range in.Locations {
		_, err := c.computes.Register(c.ctx, compute.RegisterInput{FleetID: f.ID, Name: "at-" + l, Location: l, IPAddress: "192.0.2.1"})
		c.must(err)
	}
	return f
}

func (c *cell) fleetARN(f *fleet.Fleet) string { return c.fleets.Home().Of("fleet", f.ID) }

// process creates a free process. acts says what it does with a game session.
func (c *cell) process(fleetID, location string, acts behaviour) *link {
	c.Helper()
	c.made++
	l := &link{c: c, ref: compute.Ref{FleetID: fleetID, ComputeName: "at-" + location, ProcessID: fmt.Sprintf("p-%06d", c.made)}, acts: acts}
	c.links[l.ref.Key()] = l
	_, err := c.computes.Connect(c.ctx, compute.ConnectInput{Ref: l.ref}, l)
	c.must(err)
	c.must(c.computes.Ready(c.ctx, compute.ReadyInput{Ref: l.ref, Port: 7000 + c.made%1000}))
	c.must(c.computes.Hearing(c.ctx, l.ref))
	return l
}

func (c *cell) start(queue string, r Request) (*Placement, error) {
	if r.MaxPlayers == 0 {
		r.MaxPlayers = 8
	}
	return c.places.Start(c.ctx, StartInput{Queue: queue, Request: r})
}

func (c *cell) get(id string) *Placement {
	c.Helper()
	p, _, err := c.places.Get(c.ctx, id)
	c.must(err)
	return p
}

// eventsOf returns every event of a code, oldest first.
func (c *cell) eventsOf(code event.Code) (all []event.Event) {
	for after := uint64(0); ; {
		entries, err := c.events.Read(c.ctx, event.Query{After: after, Limit: 1000})
		c.must(err)
		for _, e := range entries {
			if after = e.Seq; e.Value.Code == code {
				all = append(all, *e.Value)
			}
		}
		if len(entries) < 1000 {
			return all
		}
	}
}

// check checks the invariants of placements, sessions and processes.
func (c *cell) check() {
	c.Helper()
	view := c.st.View()
	hosts := map[string]string{}
	for p := range c.places.t.placements.All(view) {
		switch {
		case p.Status == Fulfilled:
			if len(p.Rounds) == 0 || p.Ended.IsZero() {
				c.Errorf("%s is FULFILLED without an end or a round", p.ID)
			}
		case p.Trying():
			g := c.sessions.Live(view, p.GameSessionID)
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
	if err := l.c.sessions.Activate(l.c.ctx, l.ref, id); err != nil && !strings.Contains(err.Error(), "hosts no game session") {
		l.c.Errorf("activate: %v", err)
	}
}

func (l *link) end() {
	if err := l.c.computes.Exited(l.c.ctx, l.ref, "crashed"); err != nil {
		l.c.Errorf("exit: %v", err)
	}
}

// hostOf returns the process that hosts a placement's game session.
func (c *cell) hostOf(id string) *link {
	c.Helper()
	g := c.sessions.Live(c.st.View(), c.get(id).GameSessionID)
	if g == nil {
		c.Fatalf("%s has no game session", id)
	}
	return c.links[g.ProcessKey]
}
