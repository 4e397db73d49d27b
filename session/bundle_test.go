package session_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/session"
)

const (
	home    = "custom-home"
	machine = "compute-1"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// arena is a cell with one fleet and one compute, in virtual time.
type arena struct {
	tester
	ctx      context.Context
	st       *store.Store
	events   *event.Log
	fleets   *fleet.Service
	computes *compute.Service
	sessions *session.Service
	host     *host
	fleet    *fleet.Fleet
	links    map[string]*link
	freed    atomic.Int64 // number of notifications that a process may be free
	stop     func()
}

// in runs f in an arena.
func in(t *testing.T, f func(*arena)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := open(t, store.NewMemory())
		defer a.close()
		a.furnish()
		f(a)
	})
}

func open(t tester, driver store.Driver) *arena {
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	a := &arena{tester: t, ctx: context.Background(), st: store.New(store.Options{Driver: driver}), links: map[string]*link{}, host: &host{}}
	a.must(err)
	a.events = event.New(a.st)
	tags := tag.New(a.st)
	a.fleets = fleet.New(a.st, fleet.Deps{Events: a.events, Tags: tags}, fleet.Options{Home: arn.Home{Region: "us-east-1", Account: "000000000000"}})
	a.computes = compute.New(a.st, compute.Deps{Events: a.events, Fleets: a.fleets, Tags: tags}, compute.Options{Tokens: master})
	a.computes.OnFree(func() { a.freed.Add(1) })
	a.sessions = session.New(a.st, session.Deps{Events: a.events, Fleets: a.fleets, Computes: a.computes}, session.Options{})
	instance.New(a.st, instance.Deps{Events: a.events, Tags: tags, Fleets: a.fleets, Computes: a.computes, Sessions: a.sessions}, instance.Options{}).AddLauncher(a.host)
	a.must(a.st.Open(a.ctx))
	ctx, cancel := context.WithCancel(a.ctx)
	done := make(chan struct{})
	go func() { a.computes.Run(ctx); done <- struct{}{} }()
	go func() { a.sessions.Run(ctx); done <- struct{}{} }()
	a.stop = func() { cancel(); <-done; <-done }
	return a
}

func (a *arena) furnish() {
	a.Helper()
	_, err := a.fleets.Locations.Create(a.ctx, home, nil)
	a.must(err)
	a.fleet, err = a.fleets.Create.Do(a.ctx, fleet.CreateInput{ComputeType: fleet.Anywhere, Locations: []string{home}})
	a.must(err)
	_, err = a.computes.Register(a.ctx, compute.RegisterInput{FleetID: a.fleet.ID, Name: machine, Location: home, IPAddress: "192.0.2.1", DNSName: "host.test"})
	a.must(err)
}

func (a *arena) close() {
	a.stop()
	a.must(a.st.Close())
}

func (a *arena) must(err error) {
	if err != nil {
		a.Helper()
		a.Fatal(err)
	}
}

func (a *arena) ref(id string) compute.Ref {
	return compute.Ref{FleetID: a.fleet.ID, ComputeName: machine, ProcessID: id}
}

// free creates processes that can host a game session.
func (a *arena) free(ids ...string) {
	a.Helper()
	for _, id := range ids {
		a.links[id] = &link{}
		_, err := a.computes.Connect(a.ctx, compute.ConnectInput{Ref: a.ref(id)}, a.links[id])
		a.must(err)
		a.must(a.computes.Ready(a.ctx, compute.ReadyInput{Ref: a.ref(id), Port: 7000}))
		a.must(a.computes.Hearing(a.ctx, a.ref(id)))
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
	g, err := a.sessions.Create(a.ctx, a.input())
	a.must(err)
	return g.ID
}

// active creates an ACTIVE game session on a new process.
func (a *arena) active(process string) string {
	a.Helper()
	a.free(process)
	id := a.create()
	a.must(a.sessions.Activate(a.ctx, a.ref(process), id))
	return id
}

func (a *arena) game(id string) *session.GameSession {
	a.Helper()
	g, err := a.sessions.Get(a.ctx, id)
	a.must(err)
	return g
}

// reserve reserves slots and returns the player sessions' ids.
func (a *arena) reserve(id string, players ...string) []string {
	a.Helper()
	in := session.ReserveInput{GameSessionID: id}
	for _, p := range players {
		in.Players = append(in.Players, session.Joining{PlayerID: p})
	}
	made, err := a.sessions.Players.Reserve(a.ctx, in)
	a.must(err)
	var ids []string
	for _, p := range made {
		ids = append(ids, p.ID)
	}
	return ids
}

func (a *arena) player(id string) *session.PlayerSession {
	a.Helper()
	page, _, err := a.sessions.Players.List(a.ctx, session.PlayerQuery{PlayerSessionID: id, Limit: 1})
	a.must(err)
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

// refused checks that do fails with a kind of fault and changes nothing.
func (a *arena) refused(name string, kind fault.Kind, do func() error) {
	a.Helper()
	before := a.st.View().Digest()
	if err := do(); !fault.Is(err, kind) {
		a.Errorf("%s: got %v, want %s", name, err, kind)
	}
	if a.st.View().Digest() != before {
		a.Errorf("%s: the refusal changed the state", name)
	}
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
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
