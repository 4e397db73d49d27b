package scaling_test

import (
	"context"
	"fmt"
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
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/scaling"
	"github.com/musterhq/muster/session"
)

const (
	region      = "us-east-1"
	perInstance = 4                // processes
	boot        = 20 * time.Second // from an assignment to ready processes
)

// cell is the real services on one store in virtual time, with machines whose agents and
// game servers the test simulates.
type cell struct {
	*testing.T
	ctx       context.Context
	st        *store.Store
	events    *event.Log
	fleets    *fleet.Service
	computes  *compute.Service
	instances *instance.Service
	sessions  *session.Service
	places    *placement.Service
	scaling   *scaling.Service
	fleet     *fleet.Fleet
	wg        sync.WaitGroup

	mu    sync.Mutex
	known map[string]bool // instances known to machines
	runs  int             // processes so far
}

// in runs f in a cell with a number of machines, each with room for 4 instances.
func in(t *testing.T, machines int, f func(*cell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := open(t)
		ctx, stop := context.WithCancel(context.Background())
		c.ctx = ctx
		for _, run := range []func(context.Context){c.computes.Run, c.instances.Run, c.sessions.Run, c.places.Run, c.scaling.Run} {
			c.wg.Go(func() { run(ctx) })
		}
		for range machines {
			c.join()
		}
		c.make()
		f(c)
		stop()
		c.wg.Wait()
		c.must(c.st.Close())
	})
}

func open(t *testing.T) *cell {
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	c := &cell{T: t, ctx: t.Context(), st: store.New(store.Options{Driver: store.NewMemory()}), known: map[string]bool{}}
	c.must(err)
	c.events = event.New(c.st)
	tags := tag.New(c.st)
	c.fleets = fleet.New(c.st, fleet.Deps{Events: c.events, Tags: tags}, fleet.Options{
		Home: arn.Home{Region: region, Account: "000000000000"},
		Builds: func(_ store.Reader, id string) (fleet.Build, error) {
			return fleet.Build{ID: id, Status: "READY", Ready: true, OS: "AMAZON_LINUX_2023", SHA256: "ab", Format: "zip", Bytes: 1}, nil
		},
	})
	c.computes = compute.New(c.st, compute.Deps{Events: c.events, Fleets: c.fleets, Tags: tags}, compute.Options{Tokens: master})
	c.sessions = session.New(c.st, session.Deps{Events: c.events, Fleets: c.fleets, Computes: c.computes}, session.Options{})
	c.instances = instance.New(c.st, instance.Deps{
		Events: c.events, Tags: tags, Fleets: c.fleets, Computes: c.computes, Sessions: c.sessions,
	}, instance.Options{})
	c.places = placement.New(c.st, placement.Deps{
		Events: c.events, Tags: tags, Fleets: c.fleets, Computes: c.computes, Sessions: c.sessions,
	}, placement.Options{})
	c.scaling = scaling.New(c.st, scaling.Deps{
		Events: c.events, Fleets: c.fleets, Computes: c.computes, Sessions: c.sessions, Instances: c.instances,
		Placements: c.places,
	})
	c.instances.OnAssign(func(host string) { c.wg.Go(func() { c.obey(host) }) })
	c.must(c.st.Open(t.Context()))
	return c
}

func (c *cell) must(err error) {
	if err != nil {
		c.Helper()
		c.Fatal(err)
	}
}

func (c *cell) join() {
	info := instance.HostInfo{Name: "m", IPAddress: "192.0.2.9", OS: "linux", Arch: "amd64", CPUMillis: 8000, MemoryMiB: 16384, PortFrom: 20000, PortTo: 29999}
	token, _, err := c.instances.CreateJoinToken(c.ctx, instance.JoinTokenInput{Location: region})
	c.must(err)
	j, err := c.instances.Join(c.ctx, instance.JoinInput{Token: token, HostInfo: info})
	c.must(err)
	c.must(c.instances.HostConnected(c.ctx, j.HostID, info))
}

// make creates a fleet of instances with 4 processes each and waits until it is ACTIVE.
func (c *cell) make() {
	var err error
	c.fleet, err = c.fleets.Create.Do(c.ctx, fleet.CreateInput{
		Name: "scaled", ComputeType: fleet.EC2, Protection: fleet.FullProtection,
		Managed: &fleet.Managed{BuildID: "build-1", InstanceType: "c5.large"},
		Runtime: fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/x", Concurrent: perInstance}}},
	})
	c.must(err)
	c.pass(boot + time.Second)
	if f := c.now(); f.Status != fleet.Active {
		c.Fatalf("the fleet is %s", f.Status)
	}
}

func (c *cell) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *cell) now() *fleet.Fleet { return c.fleets.Get(c.st.View(), c.fleet.ID) }

func (c *cell) capacity() fleet.Capacity { return c.now().Place("").Capacity }

func (c *cell) limit(in fleet.CapacityInput) {
	c.Helper()
	in.FleetID = c.fleet.ID
	_, err := c.fleets.Capacities.Update.Do(c.ctx, in)
	c.must(err)
}

// obey executes a host's assignments: new instances boot, draining ones without processes
// end.
func (c *cell) obey(host string) {
	for _, a := range c.instances.Assignments(c.st.View(), host) {
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
	time.Sleep(boot)
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
	if _, err := c.computes.Connect(c.ctx, compute.ConnectInput{Ref: ref}, g); err != nil {
		return // the instance is draining
	}
	c.must(c.computes.Ready(c.ctx, compute.ReadyInput{Ref: ref, Port: 20000}))
	c.must(c.computes.Hearing(c.ctx, ref))
}

func (c *cell) leave(host, id string) {
	for p := range c.computes.Processes(c.st.View(), c.fleet.ID, "") {
		if p.ComputeName == id {
			return
		}
	}
	c.report(host, instance.InstanceReport{InstanceID: id, Phase: instance.PhaseGone})
}

func (c *cell) report(host string, r instance.InstanceReport) {
	if err := c.instances.ReportHost.Do(c.ctx, instance.HostReport{HostID: host, Instances: []instance.InstanceReport{r}}); err != nil && c.ctx.Err() == nil {
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
	g.wg.Go(func() {
		if err := g.sessions.Activate(g.ctx, g.ref, s.GameSessionID); err != nil && g.ctx.Err() == nil {
			g.Errorf("activate: %v", err)
		}
	})
}

func (g *game) UpdateGameSession(compute.Update) {}
func (g *game) Drop()                            {}
func (g *game) Terminate(time.Time)              { g.wg.Go(g.end) }

// end calls ProcessEnding. The agent then starts the next process, or reports that the
// instance is gone.
func (g *game) end() {
	if g.computes.End(g.ctx, g.ref) != nil {
		return
	}
	if i := g.instances.Instance(g.st.View(), g.ref.ComputeName); i == nil || i.Stop != instance.Keep {
		g.leave(g.host, g.ref.ComputeName)
		return
	}
	g.launch(g.host, g.ref.FleetID, g.ref.ComputeName)
}

// play creates a game session, and returns whether there was a process for it.
func (c *cell) play() (id string, ok bool) {
	s, err := c.sessions.Create(c.ctx, session.CreateInput{FleetID: c.fleet.ID, MaxPlayers: 2})
	if err != nil {
		return "", false
	}
	return s.ID, true
}

// over ends a game session as its game server does.
func (c *cell) over(id string) {
	c.Helper()
	s := c.sessions.Live(c.st.View(), id)
	if s == nil || s.Status.Ended() {
		c.Errorf("game session %s was ended by somebody else", id)
		return
	}
	ref := compute.ParseRef(s.ProcessKey)
	i := c.instances.Instance(c.st.View(), ref.ComputeName)
	(&game{cell: c, ref: ref, host: i.HostID}).end()
}
