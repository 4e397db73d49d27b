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

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
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
	*celltest.Cell
	t       *testing.T
	matches *flexmatch.Service
	server  *serversdk.Server
	wire    *wire
	fleet   *fleet.Fleet
	token   string
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
	h := &house{Cell: celltest.New(t, celltest.Options{Driver: c.driver, Pending: c.pending, Computes: c.computes})}
	h.t, _ = t.(*testing.T)
	places := placement.New(h.Store, placement.Deps{
		Events: h.Events, Tags: h.Tags, Fleets: h.Fleets, Computes: h.Computes, Sessions: h.Sessions,
	}, placement.Options{})
	h.matches = flexmatch.New(h.Store, flexmatch.Deps{
		Home: celltest.Home, Events: h.Events, Tags: h.Tags, Sessions: h.Sessions, Placements: places,
	}, flexmatch.Options{})
	h.Open()
	c.server.Store, c.server.Computes, c.server.Sessions, c.server.Matches = h.Store, h.Computes, h.Sessions, h.matches
	if t != nil && testing.Verbose() {
		c.server.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	h.server = serversdk.New(c.server)
	if c.rejoin {
		_, err := h.Computes.Restart(h.Ctx)
		h.Must(err)
		for f := range h.Fleets.All(h.Store.View(), "") {
			h.fleet = f
		}
	} else {
		h.settle()
	}
	h.issue()
	h.wire = newWire(h.server)
	h.Start(h.Computes.Run, h.Sessions.Run, h.server.Run)
	return h
}

// furnishAgain switches to a second fleet.
func (h *house) furnishAgain() {
	h.settle()
	h.issue()
}

// settle creates a fleet with one compute.
func (h *house) settle() {
	h.fleet = h.Anywhere("f", location)
	_, err := h.Computes.Register(h.Ctx, compute.RegisterInput{
		FleetID: h.fleet.ID, Name: computeName, Location: location,
		IPAddress: "192.0.2.7", CertificatePath: "/certs/c.pem",
	})
	h.Must(err)
}

func (h *house) issue() {
	at, err := h.Computes.Find(h.Store.View(), h.fleet.ID, computeName)
	h.Must(err)
	h.token, _ = h.Computes.IssueToken(at, time.Now())
}

// close stops everything, the door first.
func (h *house) close() {
	if err := h.server.Stop(context.Background()); err != nil {
		h.t.Error("stop:", err)
	}
	h.wire.close()
	h.Close()
}

func (h *house) ref(id string) compute.Ref {
	return compute.Ref{FleetID: h.fleet.ID, ComputeName: computeName, ProcessID: id}
}

// process returns the row of a process.
func (h *house) process(id string) *compute.Process {
	h.t.Helper()
	p := h.Computes.Process(h.Store.View(), h.ref(id).Key())
	if p == nil {
		h.t.Fatalf("process %s is not known", id)
	}
	return p
}

// create creates a game session for three players.
func (h *house) create() *session.GameSession {
	h.t.Helper()
	g, err := h.Sessions.Create(h.Ctx, session.CreateInput{
		FleetID: h.fleet.ID, Location: location, Name: "game", Data: "data", MaxPlayers: 3,
		Properties: []session.Property{{Key: "map", Value: "winter"}},
	})
	h.Must(err)
	return g
}

func (h *house) game(id string) *session.GameSession {
	h.t.Helper()
	g, err := h.Sessions.Get(h.Ctx, id)
	h.Must(err)
	return g
}

// reserve takes a slot for each player and returns the player sessions' ids.
func (h *house) reserve(gameSessionID string, players ...string) []string {
	h.t.Helper()
	in := session.ReserveInput{GameSessionID: gameSessionID}
	for _, p := range players {
		in.Players = append(in.Players, session.Joining{PlayerID: p, Data: "of " + p})
	}
	made, err := h.Sessions.Players.Reserve(h.Ctx, in)
	h.Must(err)
	var ids []string
	for _, p := range made {
		ids = append(ids, p.ID)
	}
	return ids
}

// entries returns all events, oldest first.
func (h *house) entries() []*event.Event {
	h.t.Helper()
	entries, err := h.Events.Read(h.Ctx, event.Query{Limit: 1000})
	h.Must(err)
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
	return h.Store.Update(h.Ctx, func(tx *store.Tx) error {
		h.Computes.Tell(tx, g.ProcessKey, compute.Update{
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
