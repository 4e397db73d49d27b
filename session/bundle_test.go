package session_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

const (
	home    = "custom-home"
	away    = "custom-away"
	machine = "compute-1"
)

// arena is a cell with one fleet and one compute, in virtual time.
type arena struct {
	*celltest.Cell
	host  *host
	fleet *fleet.Fleet
	links map[string]*link
	freed atomic.Int64 // number of notifications that a process may be free
}

// in runs f in an arena.
func in(t *testing.T, f func(*arena)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := open(t, store.NewMemory())
		defer a.Close()
		a.furnish()
		f(a)
	})
}

func open(t rapid.TB, driver store.Driver) *arena {
	return openWith(t, celltest.Options{Driver: driver})
}

func openWith(t rapid.TB, o celltest.Options) *arena {
	a := &arena{Cell: celltest.New(t, o), links: map[string]*link{}, host: &host{}}
	a.Computes.OnFree(func() { a.freed.Add(1) })
	a.Instances.AddLauncher(a.host)
	a.Open()
	a.Start(a.Computes.Run, a.Sessions.Run)
	return a
}

func (a *arena) furnish() {
	a.fleet = a.Anywhere("", home)
	_, err := a.Computes.Register(a.Ctx, compute.RegisterInput{FleetID: a.fleet.ID, Name: machine, Location: home, IPAddress: "192.0.2.1", DNSName: "host.test"})
	a.Must(err)
}

// ref returns the identity of a process: its id, after the name of its compute and a slash
// unless that is machine.
func (a *arena) ref(id string) compute.Ref {
	r := compute.Ref{FleetID: a.fleet.ID, ComputeName: machine, ProcessID: id}
	if at, id, ok := strings.Cut(id, "/"); ok {
		r.ComputeName, r.ProcessID = at, id
	}
	return r
}

// free creates processes that can host a game session.
func (a *arena) free(ids ...string) {
	a.Helper()
	for _, id := range ids {
		a.links[id] = &link{}
		a.Ready(a.ref(id), a.links[id], 7000)
	}
}

// input returns a valid request for a game session.
func (a *arena) input() session.CreateInput {
	return session.CreateInput{
		FleetID: a.fleet.ID, Location: home, Name: "n", Data: "d", MaxPlayers: 3,
		Properties: []session.Property{{Key: "map", Value: "winter"}},
	}
}

func (a *arena) create() string {
	a.Helper()
	g, err := a.Sessions.Create(a.Ctx, a.input())
	a.Must(err)
	return g.ID
}

// active creates an ACTIVE game session on a new process.
func (a *arena) active(process string) string {
	a.Helper()
	a.free(process)
	id := a.create()
	a.Must(a.Sessions.Activate(a.Ctx, a.ref(process), id))
	return id
}

func (a *arena) game(id string) *session.GameSession {
	a.Helper()
	g, err := a.Sessions.Get(a.Ctx, id)
	a.Must(err)
	return g
}

// reserve reserves slots and returns the player sessions' ids.
func (a *arena) reserve(id string, players ...string) []string {
	a.Helper()
	in := session.ReserveInput{GameSessionID: id}
	for _, p := range players {
		in.Players = append(in.Players, session.Joining{PlayerID: p})
	}
	made, err := a.Sessions.Players.Reserve(a.Ctx, in)
	a.Must(err)
	var ids []string
	for _, p := range made {
		ids = append(ids, p.ID)
	}
	return ids
}

func (a *arena) player(id string) *session.PlayerSession {
	a.Helper()
	page, _, err := a.Sessions.Players.List(a.Ctx, session.PlayerQuery{PlayerSessionID: id, Limit: 1})
	a.Must(err)
	if len(page) != 1 {
		a.Fatalf("player session %s is not known", id)
	}
	return page[0]
}

// want checks the status of a game session.
func (a *arena) want(id string, status session.Status) {
	a.Helper()
	if got := a.game(id).Status; got != status {
		a.Errorf("game session is %s, want %s", got, status)
	}
}

func (a *arena) wantPlayer(id string, status session.PlayerStatus) {
	a.Helper()
	if got := a.player(id).Status; got != status {
		a.Errorf("player session is %s, want %s", got, status)
	}
}

func pointer[T any](v T) *T { return &v }

// host runs the processes whose ids are in owns.
type host struct{ owns map[string]bool }

func (h *host) Owns(r compute.Ref) bool       { return h.owns[r.ProcessID] }
func (h *host) Ended(compute.Ref, event.Code) {}

// link records what a process is told.
type link struct {
	starts     []compute.Start
	terminates int
	dropped    int
}

func (l *link) StartGameSession(s compute.Start) { l.starts = append(l.starts, s) }
func (l *link) UpdateGameSession(compute.Update) {}
func (l *link) Terminate(time.Time)              { l.terminates++ }
func (l *link) Drop()                            { l.dropped++ }
