package serversdk_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/serversdk"
	"github.com/musterhq/muster/session"
)

const (
	location    = "custom-home"
	computeName = "compute-1"
)

// house is a cell with one Anywhere fleet, one compute, and the door under test.
type house struct {
	t         *testing.T
	ctx       context.Context
	st        *store.Store
	events    *event.Log
	fleets    *fleet.Service
	computes  *compute.Service
	instances *instance.Service
	sessions  *session.Service
	matches   *flexmatch.Service
	server    *serversdk.Server
	wire      *wire
	fleet     *fleet.Fleet
	token     string
}

// config changes how a house is built.
type config struct {
	server   serversdk.Options
	computes compute.Options
	driver   store.Driver
	pending  int  // commands that may wait for durability; 0 is the store's default
	rejoin   bool // the driver already contains a house
}

// in runs f in a house with virtual time.
func in(t *testing.T, c config, f func(*testing.T, *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, c)
		defer h.close()
		f(t, h)
	})
}

func newHouse(t testing.TB, c config) *house {
	if c.driver == nil {
		c.driver = store.NewMemory()
	}
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	must(t, err)
	h := &house{ctx: context.Background(), st: store.New(store.Options{Driver: c.driver, MaxPending: c.pending})}
	h.t, _ = t.(*testing.T)
	h.events = event.New(h.st)
	tags := tag.New(h.st)
	h.fleets = fleet.New(h.st, fleet.Deps{Events: h.events, Tags: tags}, fleet.Options{Home: arn.Home{Region: "us-east-1", Account: "000000000000"}})
	c.computes.Tokens = master
	h.computes = compute.New(h.st, compute.Deps{Events: h.events, Fleets: h.fleets, Tags: tags}, c.computes)
	h.sessions = session.New(h.st, session.Deps{Events: h.events, Fleets: h.fleets, Computes: h.computes}, session.Options{})
	h.instances = instance.New(h.st, instance.Deps{Events: h.events, Tags: tags, Fleets: h.fleets, Computes: h.computes, Sessions: h.sessions}, instance.Options{})
	h.match(tags)
	must(t, h.st.Open(h.ctx))
	c.server.Store, c.server.Computes, c.server.Sessions, c.server.Matches = h.st, h.computes, h.sessions, h.matches
	if t != nil && testing.Verbose() {
		c.server.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	h.server = serversdk.New(c.server)
	if c.rejoin {
		_, err := h.computes.Restart(h.ctx)
		must(t, err)
		for f := range h.fleets.All(h.st.View(), "") {
			h.fleet = f
		}
	} else {
		h.furnish(t)
	}
	h.issue(t)
	h.wire = newWire(h.server)
	ctx, cancel := context.WithCancel(h.ctx)
	h.ctx = ctx
	h.wire.stop = cancel
	for _, run := range []func(context.Context){h.computes.Run, h.sessions.Run, h.server.Run} {
		h.wire.running.Go(func() { run(ctx) })
	}
	return h
}

// match adds queues and matchmaking to the house.
func (h *house) match(tags *tag.Service) {
	places := placement.New(h.st, placement.Deps{
		Events: h.events, Tags: tags, Fleets: h.fleets, Computes: h.computes, Sessions: h.sessions,
	}, placement.Options{})
	h.matches = flexmatch.New(h.st, flexmatch.Deps{
		Home: h.fleets.Home(), Events: h.events, Tags: tags, Sessions: h.sessions, Placements: places,
	}, flexmatch.Options{})
}

func (h *house) furnish(t testing.TB) {
	_, err := h.fleets.Locations.Create(h.ctx, location, nil)
	must(t, err)
	h.settle(t)
}

// furnishAgain switches to a second fleet.
func (h *house) furnishAgain(t testing.TB) {
	h.settle(t)
	h.issue(t)
}

// settle creates a fleet with one compute.
func (h *house) settle(t testing.TB) {
	var err error
	h.fleet, err = h.fleets.Create.Do(h.ctx, fleet.CreateInput{Name: "f", ComputeType: fleet.Anywhere, Locations: []string{location}})
	must(t, err)
	_, err = h.computes.Register(h.ctx, compute.RegisterInput{
		FleetID: h.fleet.ID, Name: computeName, Location: location,
		IPAddress: "192.0.2.7", CertificatePath: "/certs/c.pem",
	})
	must(t, err)
}

func (h *house) issue(t testing.TB) {
	at, err := h.computes.Find(h.st.View(), h.fleet.ID, computeName)
	must(t, err)
	h.token, _ = h.computes.IssueToken(at, time.Now())
}

// close stops everything, the door first.
func (h *house) close() {
	if err := h.server.Stop(context.Background()); err != nil {
		h.t.Error("stop:", err)
	}
	h.wire.close()
	if err := h.st.Close(); err != nil {
		h.t.Error("close:", err)
	}
}

func (h *house) ref(id string) compute.Ref {
	return compute.Ref{FleetID: h.fleet.ID, ComputeName: computeName, ProcessID: id}
}

// process returns the row of a process.
func (h *house) process(id string) *compute.Process {
	h.t.Helper()
	p := h.computes.Process(h.st.View(), h.ref(id).Key())
	if p == nil {
		h.t.Fatalf("process %s is not known", id)
	}
	return p
}

// create creates a game session for three players.
func (h *house) create() *session.GameSession {
	h.t.Helper()
	g, err := h.sessions.Create(h.ctx, session.CreateInput{
		FleetID: h.fleet.ID, Location: location, Name: "game", Data: "data", MaxPlayers: 3,
		Properties: []session.Property{{Key: "map", Value: "winter"}},
	})
	must(h.t, err)
	return g
}

func (h *house) game(id string) *session.GameSession {
	h.t.Helper()
	g, err := h.sessions.Get(h.ctx, id)
	must(h.t, err)
	return g
}

// reserve takes a slot for each player and returns the player sessions' ids.
func (h *house) reserve(gameSessionID string, players ...string) []string {
	h.t.Helper()
	in := session.ReserveInput{GameSessionID: gameSessionID}
	for _, p := range players {
		in.Players = append(in.Players, session.Joining{PlayerID: p, Data: "of " + p})
	}
	made, err := h.sessions.Players.Reserve(h.ctx, in)
	must(h.t, err)
	var ids []string
	for _, p := range made {
		ids = append(ids, p.ID)
	}
	return ids
}

// entries returns all events, oldest first.
func (h *house) entries() []*event.Event {
	h.t.Helper()
	entries, err := h.events.Read(h.ctx, event.Query{Limit: 1000})
	must(h.t, err)
	var all []*event.Event
	for _, e := range entries {
		all = append(all, e.Value)
	}
	return all
}

// update sends the process new matchmaker data, as a match would.
func (h *house) update(gameSessionID string) error { return h.updateTo(gameSessionID, "{}") }

func (h *house) updateTo(gameSessionID, matchmakerData string) error {
	g := h.game(gameSessionID)
	return h.st.Update(h.ctx, func(tx *store.Tx) error {
		h.computes.Tell(tx, g.ProcessKey, compute.Update{
			Session: compute.Start{GameSessionID: g.ID, Name: g.Name, Port: g.Port, MatchmakerData: matchmakerData},
			FleetID: g.FleetID, Location: g.Location, Status: string(g.Status), Reason: "MATCHMAKING_DATA_UPDATED",
		})
		return nil
	})
}

func must(t testing.TB, err error) {
	if err != nil {
		if t != nil {
			t.Helper()
			t.Fatal(err)
		}
		panic(fmt.Sprint("set-up: ", err))
	}
}

// wire carries HTTP over pipes, so that a house can use virtual time.
type wire struct {
	conns   chan net.Conn
	done    chan struct{}
	http    *http.Server
	running waiter
	stop    context.CancelFunc
}

func newWire(h http.Handler) *wire {
	w := &wire{conns: make(chan net.Conn), done: make(chan struct{})}
	w.http = &http.Server{Handler: h}
	w.running.Go(func() { w.http.Serve(w) })
	return w
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	select {
	case <-w.done:
	default:
		close(w.done)
	}
	return nil
}

func (w *wire) Addr() net.Addr { return address("pipe:1") }

func (w *wire) close() {
	w.stop()
	w.http.Close()
	w.running.Wait()
}

// dial opens a connection that appears to come from a host.
func (w *wire) dial(ctx context.Context, from string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case w.conns <- hosted{server, address(from + ":1")}:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) dialer(from string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return w.dial(ctx, from) }
}

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }

type hosted struct {
	net.Conn
	remote net.Addr
}

func (h hosted) RemoteAddr() net.Addr { return h.remote }
