package flexmatch

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// cell is a cell with queues and matchmaking, and with simulated game servers.
type cell struct {
	*celltest.Cell
	places  *placement.Service
	matches *Service

	fleet   *fleet.Fleet
	servers []*server
}

const (
	home  = "custom-home"
	queue = "q"
)

// newCell returns an open cell on a driver. Loops do not run yet.
func newCell(t rapid.TB, driver store.Driver, opts Options) *cell {
	t.Helper()
	c := &cell{Cell: celltest.New(t, celltest.Options{Driver: driver})}
	c.places = placement.New(c.Store, placement.Deps{Events: c.Events, Tags: c.Tags, Fleets: c.Fleets, Computes: c.Computes, Sessions: c.Sessions}, placement.Options{})
	c.matches = New(c.Store, Deps{Home: celltest.Home, Events: c.Events, Tags: c.Tags, Sessions: c.Sessions, Placements: c.places}, opts)
	c.Open()
	return c
}

// inCell runs f in virtual time, in a cell with all loops running.
func inCell(t *testing.T, f func(*cell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCell(t, store.NewMemory(), Options{})
		c.Start(c.Computes.Run, c.Sessions.Run, c.places.Run, c.matches.Run)
		defer c.Close()
		f(c)
		synctest.Wait()
	})
}

// hosts creates a fleet with free game server processes and a queue for it.
func (c *cell) hosts(processes int, delay time.Duration) {
	c.Helper()
	if c.fleet == nil {
		c.fleet = c.Anywhere("f", home)
		c.Register(c.fleet, "host", home)
		_, err := c.places.Queues.Create.Do(c.Ctx, placement.QueueInput{Queue: placement.Queue{
			Name: queue, Timeout: 10 * time.Minute, Destinations: []string{c.Fleets.Home().Of("fleet", c.fleet.ID)},
		}})
		c.Must(err)
	}
	for range processes {
		s := &server{c: c, delay: delay, ref: compute.Ref{FleetID: c.fleet.ID, ComputeName: "host", ProcessID: fmt.Sprintf("p-%04d", len(c.servers))}}
		c.servers = append(c.servers, s)
		c.Ready(s.ref, s, 7000+len(c.servers))
	}
}

// configure creates a rule set and a configuration of the same name.
func (c *cell) configure(name, body string, conf Configuration) *Configuration {
	c.Helper()
	_, err := c.matches.RuleSets.Create(c.Ctx, RuleSetInput{Name: name, Body: body})
	c.Must(err)
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
	made, err := c.matches.Configurations.Create(c.Ctx, ConfigurationInput{Configuration: conf})
	c.Must(err)
	return made
}

// enter starts a ticket for players without attributes.
func (c *cell) enter(configuration, id string, players ...string) {
	c.Helper()
	in := StartInput{Configuration: configuration, TicketID: id}
	for _, p := range players {
		in.Players = append(in.Players, Player{ID: p})
	}
	_, _, err := c.matches.Start(c.Ctx, in)
	c.Must(err)
}

func (c *cell) ticket(id string) *Ticket {
	c.Helper()
	d, err := c.matches.Get(c.Ctx, id)
	c.Must(err)
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
	entries, err := c.Events.Read(c.Ctx, event.Query{Notices: true, Limit: 1000})
	c.Must(err)
	for _, e := range entries {
		if e.Value.Notice.DetailType != DetailType {
			continue
		}
		var d detail
		c.Must(json.Unmarshal(e.Value.Notice.Detail, &d))
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
	s.c.Go(func() {
		wait.Pass(s.delay)
		if err := s.c.Sessions.Activate(s.c.Ctx, s.ref, start.GameSessionID); err != nil && s.c.Sessions.Live(s.c.Store.View(), start.GameSessionID).Status == session.Activating {
			s.c.Errorf("activate: %v", err)
		}
	})
}

// hosted returns the game session as the process knows it.
func (s *server) hosted() compute.Start {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
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
	s.c.Must(json.Unmarshal([]byte(s.hosted().MatchmakerData), &d))
	return d
}
