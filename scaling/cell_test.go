package scaling_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/scaling"
	"github.com/musterhq/muster/session"
)

const (
	region      = "us-east-1"
	perInstance = 4                // processes
	boot        = 20 * time.Second // from an assignment to ready processes
)

// cell is a cell in virtual time with queues and scaling, and with machines whose agents
// and game servers the test simulates.
type cell struct {
	*celltest.Cell
	places  *placement.Service
	scaling *scaling.Service
	fleet   *fleet.Fleet

	mu    sync.Mutex
	known map[string]bool // instances known to machines
	runs  int             // processes so far
}

// in runs f in a cell with a number of machines, each with room for 4 instances.
func in(t *testing.T, machines int, f func(*cell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := open(t)
		c.Start(c.Computes.Run, c.Instances.Run, c.Sessions.Run, c.places.Run, c.scaling.Run)
		for range machines {
			c.join()
		}
		c.make()
		f(c)
		c.Close()
	})
}

func open(t *testing.T) *cell {
	c := &cell{Cell: celltest.New(t, celltest.Options{}), known: map[string]bool{}}
	c.places = placement.New(c.Store, placement.Deps{
		Events: c.Events, Tags: c.Tags, Fleets: c.Fleets, Computes: c.Computes, Sessions: c.Sessions,
	}, placement.Options{})
	c.scaling = scaling.New(c.Store, scaling.Deps{
		Events: c.Events, Fleets: c.Fleets, Computes: c.Computes, Sessions: c.Sessions, Instances: c.Instances,
		Placements: c.places,
	})
	c.Instances.OnAssign(func(host string) { c.Go(func() { c.obey(host) }) })
	c.Open()
	return c
}

func (c *cell) join() {
	info := instance.HostInfo{Name: "m", IPAddress: "192.0.2.9", OS: "linux", Arch: "amd64", CPUMillis: 8000, MemoryMiB: 16384, PortFrom: 20000, PortTo: 29999}
	c.Join(region, info)
}

// make creates a fleet of instances with 4 processes each and waits until it is ACTIVE.
func (c *cell) make() {
	c.fleet = c.Managed(perInstance, func(in *fleet.CreateInput) { in.Protection = fleet.FullProtection })
	wait.Settle(boot + time.Second)
	if f := c.now(); f.Status != fleet.Active {
		c.Fatalf("the fleet is %s", f.Status)
	}
}

func (c *cell) now() *fleet.Fleet { return c.Fleets.Get(c.Store.View(), c.fleet.ID) }

func (c *cell) capacity() fleet.Capacity { return c.now().Place("").Capacity }

func (c *cell) limit(in fleet.CapacityInput) {
	c.Helper()
	in.FleetID = c.fleet.ID
	_, err := c.Fleets.Capacities.Update.Do(c.Ctx, in)
	c.Must(err)
}

// obey executes a host's assignments: new instances boot, draining ones without processes
// end.
func (c *cell) obey(host string) {
	for _, a := range c.Instances.Assignments(c.Store.View(), host) {
		c.mu.Lock()
		heard := c.known[a.ID]
		c.known[a.ID] = true
		c.mu.Unlock()
		switch {
		case !heard && a.Stop == instance.Keep:
			c.start(host, a)
		case a.Stop != instance.Keep:
			c.leave(host, a.ID)
		}
	}
}

func (c *cell) start(host string, a instance.Assignment) {
	wait.Pass(boot)
	for _, phase := range []instance.Phase{instance.Downloading, instance.Validating, instance.Building, instance.Activating} {
		c.report(host, instance.InstanceReport{InstanceID: a.ID, Phase: phase})
	}
	for range perInstance {
		c.launch(host, a.FleetID, a.ID)
	}
}

// launch starts a game server. When it ends, another one starts, unless its instance is
// draining.
func (c *cell) launch(host, fleetID, id string) {
	c.mu.Lock()
	c.runs++
	ref := compute.Ref{FleetID: fleetID, ComputeName: id, ProcessID: fmt.Sprint("p-", c.runs)}
	c.mu.Unlock()
	g := &game{cell: c, ref: ref, host: host}
	if _, err := c.Computes.Connect(c.Ctx, compute.ConnectInput{Ref: ref}, g); err != nil {
		return // the instance is draining
	}
	c.Must(c.Computes.Ready(c.Ctx, compute.ReadyInput{Ref: ref, Port: 20000}))
	c.Must(c.Computes.Hearing(c.Ctx, ref))
}

func (c *cell) leave(host, id string) {
	for p := range c.Computes.Processes(c.Store.View(), c.fleet.ID, "") {
		if p.ComputeName == id {
			return
		}
	}
	c.report(host, instance.InstanceReport{InstanceID: id, Phase: instance.PhaseGone})
}

func (c *cell) report(host string, r instance.InstanceReport) {
	if err := c.Instances.ReportHost.Do(c.Ctx, instance.HostReport{HostID: host, Instances: []instance.InstanceReport{r}}); err != nil {
		c.Errorf("report: %v", err)
	}
}

// game is a game server.
type game struct {
	*cell
	ref  compute.Ref
	host string
}

func (g *game) StartGameSession(s compute.Start) {
	g.Go(func() {
		if err := g.Sessions.Activate(g.Ctx, g.ref, s.GameSessionID); err != nil {
			g.Errorf("activate: %v", err)
		}
	})
}

func (g *game) UpdateGameSession(compute.Update) {}
func (g *game) Drop()                            {}
func (g *game) Terminate(time.Time)              { g.Go(g.end) }

// end calls ProcessEnding. The agent then starts the next process, or reports that the
// instance is gone.
func (g *game) end() {
	if g.Computes.End(g.Ctx, g.ref) != nil {
		return
	}
	if i := g.Instances.Instance(g.Store.View(), g.ref.ComputeName); i == nil || i.Stop != instance.Keep {
		g.leave(g.host, g.ref.ComputeName)
		return
	}
	g.launch(g.host, g.ref.FleetID, g.ref.ComputeName)
}

// play creates a game session, and returns whether there was a process for it.
func (c *cell) play() (id string, ok bool) {
	s, err := c.Sessions.Create(c.Ctx, session.CreateInput{FleetID: c.fleet.ID, MaxPlayers: 2})
	if err != nil {
		return "", false
	}
	return s.ID, true
}

// over ends a game session as its game server does.
func (c *cell) over(id string) {
	c.Helper()
	s := c.Sessions.Live(c.Store.View(), id)
	if s == nil || s.Status.Ended() {
		c.Errorf("game session %s was ended by somebody else", id)
		return
	}
	ref := compute.ParseRef(s.ProcessKey)
	i := c.Instances.Instance(c.Store.View(), ref.ComputeName)
	(&game{cell: c, ref: ref, host: i.HostID}).end()
}
