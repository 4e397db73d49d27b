package flexmatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// cell is the real services on one store, with simulated game servers.
type cell struct {
	rapid.TB
	ctx      context.Context
	st       *store.Store
	events   *event.Log
	fleets   *fleet.Service
	computes *compute.Service
	sessions *session.Service
	places   *placement.Service
	matches  *Service

	fleet   *fleet.Fleet
	servers []*server
	stop    context.CancelFunc
	running sync.WaitGroup
}

const (
	home  = "custom-home"
	queue = "q"
)

// newCell returns an open cell on a driver. Loops do not run yet.
func newCell(t rapid.TB, driver store.Driver, opts Options) *cell {
	t.Helper()
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	c := &cell{TB: t, ctx: context.Background(), st: store.New(store.Options{Driver: driver})}
	c.must(err)
	c.events = event.New(c.st)
	tags := tag.New(c.st)
	at := arn.Home{Region: "us-east-1", Account: "000000000000"}
	c.fleets = fleet.New(c.st, fleet.Deps{Events: c.events, Tags: tags}, fleet.Options{Home: at})
	c.computes = compute.New(c.st, compute.Deps{Events: c.events, Fleets: c.fleets, Tags: tags}, compute.Options{Tokens: master})
	c.sessions = session.New(c.st, session.Deps{Events: c.events, Fleets: c.fleets, Computes: c.computes}, session.Options{})
	c.places = placement.New(c.st, placement.Deps{Events: c.events, Tags: tags, Fleets: c.fleets, Computes: c.computes, Sessions: c.sessions}, placement.Options{})
	c.matches = New(c.st, Deps{Home: at, Events: c.events, Tags: tags, Sessions: c.sessions, Placements: c.places}, opts)
	c.must(c.st.Open(c.ctx))
	return c
}

// run starts loops.
func (c *cell) run(loops ...func(context.Context)) {
	ctx, stop := context.WithCancel(c.ctx)
	c.stop = stop
	for _, loop := range loops {
		c.running.Go(func() { loop(ctx) })
	}
}

// halt stops the loops and closes the store.
func (c *cell) halt() {
	if c.stop != nil {
		c.stop()
		c.running.Wait()
	}
	c.must(c.st.Close())
}

// inCell runs f in virtual time, in a cell with all loops running.
func inCell(t *testing.T, f func(*cell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCell(t, store.NewMemory(), Options{})
		c.run(c.computes.Run, c.sessions.Run, c.places.Run, c.matches.Run)
		defer c.halt()
		f(c)
		synctest.Wait()
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

// hosts creates a fleet with free game server processes and a queue for it.
func (c *cell) hosts(processes int, delay time.Duration) {
	c.Helper()
	if c.fleet == nil {
		_, err := c.fleets.Locations.Create(c.ctx, home, nil)
		c.must(err)
		c.fleet, err = c.fleets.Create.Do(c.ctx, fleet.CreateInput{Name: "f", ComputeType: fleet.Anywhere, Locations: []string{home}})
		c.must(err)
		_, err = c.computes.Register(c.ctx, compute.RegisterInput{FleetID: c.fleet.ID, Name: "host", Location: home, IPAddress: "192.0.2.1"})
		c.must(err)
		_, err = c.places.Queues.Create.Do(c.ctx, placement.QueueInput{Queue: placement.Queue{
			Name: queue, Timeout: 10 * time.Minute, Destinations: []string{c.fleets.Home().Of("fleet", c.fleet.ID)},
		}})
		c.must(err)
	}
	for range processes {
		s := &server{c: c, delay: delay, ref: compute.Ref{FleetID: c.fleet.ID, ComputeName: "host", ProcessID: fmt.Sprintf("p-%04d", len(c.servers))}}
		c.servers = append(c.servers, s)
		_, err := c.computes.Connect(c.ctx, compute.ConnectInput{Ref: s.ref}, s)
		c.must(err)
		c.must(c.computes.Ready(c.ctx, compute.ReadyInput{Ref: s.ref, Port: 7000 + len(c.servers)}))
		c.must(c.computes.Hearing(c.ctx, s.ref))
	}
}

// configure creates a rule set and a configuration of the same name.
func (c *cell) configure(name, body string, conf Configuration) *Configuration {
	c.Helper()
	_, err := c.matches.RuleSets.Create(c.ctx, RuleSetInput{Name: name, Body: body})
	c.must(err)
	conf.Name, conf.RuleSet = name, name
	if conf.RequestTimeout == 0 {
		conf.RequestTimeout = time.Hour
	}
	if conf.Mode == "" {
		conf.Mode = WithQueue
	}
	if conf.Mode == WithQueue {
		conf.Queues = []string{c.places.Queues.ARN(queue)}
	}
	made, err := c.matches.Configurations.Create(c.ctx, ConfigurationInput{Configuration: conf})
	c.must(err)
	return made
}

// enter starts a ticket for players without attributes.
func (c *cell) enter(configuration, id string, players ...string) {
	c.Helper()
	in := StartInput{Configuration: configuration, TicketID: id}
	for _, p := range players {
		in.Players = append(in.Players, Player{ID: p})
	}
	_, _, err := c.matches.Start(c.ctx, in)
	c.must(err)
}

func (c *cell) ticket(id string) *Ticket {
	c.Helper()
	d, err := c.matches.Get(c.ctx, id)
	c.must(err)
	if d == nil {
		c.Fatalf("ticket %s is not there", id)
	}
	return d.Ticket
}

// want checks the status of tickets.
func (c *cell) want(status Status, ids ...string) {
	c.Helper()
	for _, id := range ids {
		if t := c.ticket(id); t.Status != status {
			c.Errorf("ticket %s is %s (%s), want %s", id, t.Status, t.Message, status)
		}
	}
}

// published returns the matchmaking events so far, oldest first.
func (c *cell) published() (all []detail) {
	c.Helper()
	entries, err := c.events.Read(c.ctx, event.Query{Notices: true, Limit: 1000})
	c.must(err)
	for _, e := range entries {
		if e.Value.Notice.DetailType != DetailType {
			continue
		}
		var d detail
		c.must(json.Unmarshal(e.Value.Notice.Detail, &d))
		all = append(all, d)
	}
	return all
}

// server is a game server process as Muster sees it.
type server struct {
	c     *cell
	ref   compute.Ref
	delay time.Duration // until it activates its game session

	mu      sync.Mutex
	session compute.Start
	updates []compute.Update
}

func (s *server) StartGameSession(start compute.Start) {
	s.mu.Lock()
	s.session = start
	s.mu.Unlock()
	s.c.running.Go(func() {
		time.Sleep(s.delay)
		if err := s.c.sessions.Activate(s.c.ctx, s.ref, start.GameSessionID); err != nil && s.c.sessions.Live(s.c.st.View(), start.GameSessionID).Status == session.Activating {
			s.c.Errorf("activate: %v", err)
		}
	})
}

func (s *server) UpdateGameSession(u compute.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = u.Session
	s.updates = append(s.updates, u)
}

func (s *server) Terminate(time.Time) {}
func (s *server) Drop()               {}

// told returns the reasons for which the process was notified about its game session,
// each with its ticket.
func (s *server) told() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.updates {
		out = append(out, u.Reason+" "+u.BackfillTicketID)
	}
	return out
}

func (s *server) data() (d matchmakerData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.must(json.Unmarshal([]byte(s.session.MatchmakerData), &d))
	return d
}
