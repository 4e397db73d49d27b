package session_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/histories"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// TestHistories runs random histories of processes, sessions, players, lost sockets,
// restarts and time, and checks the invariants after each step.
func TestHistories(t *testing.T) {
	histories.Check(t, history)
}

// saga is one history.
type saga struct {
	*arena
	t         *rapid.T
	driver    store.Driver
	processes []string
	games     []string
	players   map[string][]string // by game session
}

func history(t *rapid.T) {
	s := &saga{t: t, driver: store.NewMemory(), players: map[string][]string{}}
	s.arena = open(t, s.driver)
	defer func() { s.arena.Close() }()
	s.furnish()
	s.fleet = s.Anywhere("", home, away)
	for name, location := range map[string]string{machine: home, "compute-2": away} {
		s.Register(s.fleet, name, location)
	}
	limit := rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "activation limit")
	_, err := s.Fleets.UpdateRuntime.Do(s.Ctx, fleet.RuntimeInput{FleetID: s.fleet.ID, Runtime: fleet.Runtime{MaxActivations: limit}})
	s.Must(err)
	steps := s.steps()
	names := slices.Sorted(maps.Keys(steps))
	for range rapid.IntRange(1, 100).Draw(t, "steps") {
		steps[rapid.SampledFrom(names).Draw(t, "step")]()
		s.check(t)
	}
}

// steps returns what can happen. Many steps are refused, which is fine.
func (s *saga) steps() map[string]func() {
	return map[string]func(){
		"new process":    s.newProcess,
		"another":        s.newProcess,
		"reconnect":      s.onProcess(s.reconnect),
		"disconnect":     s.onProcess(func(r compute.Ref) { s.Computes.Disconnect(s.Ctx, r) }),
		"end":            s.onProcess(func(r compute.Ref) { s.Computes.End(s.Ctx, r) }),
		"exit":           s.onProcess(func(r compute.Ref) { s.Computes.Exited(s.Ctx, r, "") }),
		"unhealthy":      s.onProcess(func(r compute.Ref) { s.Computes.Unhealthy(s.Ctx, r, "") }),
		"finish":         s.onProcess(func(r compute.Ref) { s.Sessions.Finish(s.Ctx, r, "") }),
		"ready again":    s.onProcess(s.readyAgain),
		"create":         s.makeGame,
		"create another": s.makeGame,
		"activate":       s.onGame(s.activate),
		"activate other": s.onGame(s.activate),
		"reserve":        s.onGame(s.take),
		"reserve more":   s.onGame(s.take),
		"accept":         s.onGame(s.accept),
		"remove":         s.onGame(s.leave),
		"resize":         s.onGame(s.resize),
		"terminate":      s.onGame(func(id string) { s.Sessions.Terminate(s.Ctx, id, session.Trigger) }),
		"seconds":        func() { wait.Settle(time.Duration(rapid.IntRange(1, 40).Draw(s.t, "seconds")) * time.Second) },
		"minutes":        func() { wait.Settle(time.Duration(rapid.IntRange(1, 7).Draw(s.t, "minutes")) * time.Minute) },
		"move":           s.move,
		"new node":       s.restart,
	}
}

func (s *saga) newProcess() {
	id := fmt.Sprint(rapid.SampledFrom([]string{machine, "compute-2"}).Draw(s.t, "compute"), "/p", len(s.processes))
	s.free(id)
	s.processes = append(s.processes, id)
}

func (s *saga) onProcess(do func(compute.Ref)) func() {
	return func() {
		if len(s.processes) > 0 {
			do(s.ref(rapid.SampledFrom(s.processes).Draw(s.t, "process")))
		}
	}
}

func (s *saga) onGame(do func(id string)) func() {
	return func() {
		if len(s.games) > 0 {
			do(rapid.SampledFrom(s.games).Draw(s.t, "game session"))
		}
	}
}

func (s *saga) reconnect(r compute.Ref) {
	s.Computes.Connect(s.Ctx, compute.ConnectInput{Ref: r}, &link{})
}

func (s *saga) readyAgain(r compute.Ref) {
	if s.Computes.Ready(s.Ctx, compute.ReadyInput{Ref: r, Port: 1}) == nil {
		s.Computes.Hearing(s.Ctx, r)
	}
}

func (s *saga) makeGame() {
	in := s.input()
	in.Location = rapid.SampledFrom([]string{home, away}).Draw(s.t, "location")
	in.MaxPlayers = rapid.IntRange(0, 4).Draw(s.t, "slots")
	g, err := s.Sessions.Create(s.Ctx, in)
	if err != nil {
		return
	}
	if slices.Contains(s.games, g.ID) {
		s.t.Fatalf("id %s was given twice", g.ID)
	}
	s.games = append(s.games, g.ID)
}

// move registers a compute with another address.
func (s *saga) move() {
	name := rapid.SampledFrom([]string{machine, "compute-2"}).Draw(s.t, "compute")
	in := compute.RegisterInput{
		FleetID: s.fleet.ID, Name: name, Location: s.Computes.Get(s.Store.View(), s.fleet.ID, name).Location,
		IPAddress: rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}).Draw(s.t, "address"),
		DNSName:   rapid.SampledFrom([]string{"", "host.test"}).Draw(s.t, "name"),
	}
	_, err := s.Computes.Register(s.Ctx, in)
	s.Must(err)
}

func (s *saga) activate(id string) {
	s.Sessions.Activate(s.Ctx, compute.ParseRef(s.game(id).ProcessKey), id)
}

func (s *saga) take(id string) {
	in := session.ReserveInput{GameSessionID: id}
	for i := range rapid.IntRange(1, 3).Draw(s.t, "players") {
		in.Players = append(in.Players, session.Joining{PlayerID: fmt.Sprint(len(s.players[id]), "-", i)})
	}
	made, err := s.Sessions.Players.Reserve(s.Ctx, in)
	if err != nil && len(made) > 0 {
		s.t.Fatalf("a refused reservation made %d player sessions", len(made))
	}
	for _, p := range made {
		s.players[id] = append(s.players[id], p.ID)
	}
}

func (s *saga) accept(id string) {
	if p, ok := s.anyPlayer(id); ok {
		s.Sessions.Players.Accept(s.Ctx, compute.ParseRef(s.game(id).ProcessKey), id, p)
	}
}

func (s *saga) leave(id string) {
	if p, ok := s.anyPlayer(id); ok {
		s.Sessions.Players.Remove(s.Ctx, compute.ParseRef(s.game(id).ProcessKey), id, p)
	}
}

func (s *saga) anyPlayer(id string) (string, bool) {
	if len(s.players[id]) == 0 {
		return "", false
	}
	return rapid.SampledFrom(s.players[id]).Draw(s.t, "player session"), true
}

func (s *saga) resize(id string) {
	n := rapid.IntRange(0, 4).Draw(s.t, "slots")
	s.Sessions.Update(s.Ctx, session.UpdateInput{GameSessionID: id, MaxPlayers: &n})
}

// restart starts another node on the stored state.
func (s *saga) restart() {
	before := s.Store.View().Digest()
	s.arena.Close()
	links, fleet := s.links, s.fleet
	s.arena = open(s.t, s.driver)
	s.links, s.fleet = links, fleet
	if s.Store.View().Digest() != before {
		s.t.Fatal("the state after the start is not what it was before")
	}
	_, err := s.Computes.Restart(s.Ctx)
	s.Must(err)
}

// check checks the invariants.
func (s *saga) check(t *rapid.T) {
	synctest.Wait()
	view := s.Store.View()
	hosted := map[string]string{} // game session by process
	for _, id := range s.games {
		g := s.game(id)
		used := s.Sessions.Players.Count(view, id)
		if used > g.MaxPlayers {
			t.Fatalf("%d slots are used of %d", used, g.MaxPlayers)
		}
		if g.Status.Ended() {
			if used > 0 {
				t.Fatalf("an ended game session still has %d slots in use", used)
			}
			continue
		}
		if other := hosted[g.ProcessKey]; other != "" {
			t.Fatalf("%s hosts %s and %s", g.ProcessKey, other, id)
		}
		hosted[g.ProcessKey] = id
		p := s.Computes.Process(view, g.ProcessKey)
		if p == nil || p.Status == compute.Terminated || p.GameSessionID != id {
			t.Fatalf("game session %s is %s on process %+v", id, g.Status, p)
		}
		at := s.Computes.Get(view, p.FleetID, p.ComputeName).Address.Shown()
		if g.Address != at {
			t.Fatalf("game session is reached at %+v, its compute at %+v", g.Address, at)
		}
		for _, id := range s.players[id] {
			if p := s.player(id); p.Status.HoldsSlot() && (p.Address != at || p.Port != g.Port) {
				t.Fatalf("player session is reached at %+v:%d, the compute at %+v:%d", p.Address, p.Port, at, g.Port)
			} else if p.Address == (compute.Address{}) || p.Port == 0 {
				t.Fatalf("player session has no address: %+v", p)
			}
		}
		if (p.Status == compute.Terminating) != (g.Status == session.Terminating) {
			t.Fatalf("game session is %s on a process that is %s", g.Status, p.Status)
		}
		if g.Status == session.Activating && !time.Now().Before(g.ActivateBy) {
			t.Fatalf("game session should have been given up at %s", g.ActivateBy)
		}
	}
	for _, location := range []string{"", home, away} {
		s.checkUse(t, view, location)
		s.checkList(t, location)
	}
	s.checkProcesses(t, view, hosted)
	s.checkPlayers(t)
}

func (s *saga) checkProcesses(t *rapid.T, view *store.Snapshot, hosted map[string]string) {
	activating, now := map[string]int{}, time.Now()
	for p := range s.Computes.Processes(view, s.fleet.ID, "") {
		if p.Status == compute.Active && p.GameSessionID != hosted[p.Key] {
			t.Fatalf("process is ACTIVE with game session %q, which does not run on it", p.GameSessionID)
		}
		if g := s.Sessions.Live(view, p.GameSessionID); g != nil && g.Status == session.Activating {
			activating[p.ComputeName]++
		}
		for name, by := range map[string]time.Time{"ready": p.ReadyBy, "reconnect": p.ReconnectBy, "stop": p.StopBy} {
			if !by.IsZero() && !now.Before(by) {
				t.Fatalf("the deadline to %s passed at %s: %+v", name, by, p)
			}
		}
		if p.Connected != p.ReconnectBy.IsZero() {
			t.Fatalf("connected: %v, to come back by %s", p.Connected, p.ReconnectBy)
		}
	}
	f := s.Fleets.Get(view, s.fleet.ID)
	for name, n := range activating {
		if limit := f.Runtime.MaxActivationsOrDefault(); n > limit {
			t.Fatalf("%d game sessions activate on %s; the limit is %d", n, name, limit)
		}
	}
}

// checkUse compares the maintained counts of a location with those of an iteration.
func (s *saga) checkUse(t *rapid.T, view *store.Snapshot, location string) {
	var want session.Use
	for _, id := range s.games {
		g := s.game(id)
		if location != "" && g.Location != location {
			continue
		}
		switch g.Status {
		case session.Active:
			want.GameSessions++
			want.MaxPlayers += g.MaxPlayers
		case session.Activating:
			want.Activating++
		}
		want.Players += s.Sessions.Players.Count(view, id)
	}
	var tally compute.Tally
	for p := range s.Computes.Processes(view, s.fleet.ID, location) {
		switch {
		case p.Status != compute.Active:
			continue
		case p.GameSessionID != "":
			tally.Hosting++
		case p.Free():
			tally.Free++
		case !p.Connected:
			tally.Unavailable++
		}
		tally.Active++
	}
	want.Processes = tally.Active
	if got := s.Sessions.Use(view, s.fleet.ID, location); got != want {
		t.Fatalf("in use at %q: counted %+v, there are %+v", location, got, want)
	}
	if got := s.Computes.Tally(view, s.fleet.ID, location); got != tally {
		t.Fatalf("processes at %q: counted %+v, there are %+v", location, got, tally)
	}
}

// checkList compares the game sessions listed of a location, by status and all, and those that are
// offered there, with those that there are.
func (s *saga) checkList(t *rapid.T, location string) {
	var all []*session.GameSession
	for _, id := range s.games {
		all = append(all, s.game(id))
	}
	slices.SortFunc(all, func(a, b *session.GameSession) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	for _, status := range []session.Status{"", session.Activating, session.Active, session.Terminating, session.Terminated} {
		var want, got []string
		for _, g := range all {
			if (location == "" || g.Location == location) && (status == "" || g.Status == status) {
				want = append(want, g.ID)
			}
		}
		q := session.Query{FleetID: s.fleet.ID, Location: location, Status: status, Limit: 3}
		for more := true; more; {
			page, follows, err := s.Sessions.List(s.Ctx, q)
			s.Must(err)
			for _, g := range page {
				got = append(got, g.ID)
				q.After = session.Cursor{Created: g.Created, ID: g.ID}
			}
			more = follows
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s at %q: listed %q, there are %q", status, location, got, want)
		}
	}
	var want, got []string
	view := s.Store.View()
	for _, g := range all {
		if (location == "" || g.Location == location) && g.Status == session.Active && !s.Computes.Process(view, g.ProcessKey).Unreachable() {
			want = append(want, g.ID)
		}
	}
	for g := range s.Sessions.Offered(view, s.fleet.ID, location) {
		got = append(got, g.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("at %q: offered are %q, want %q", location, got, want)
	}
}

func (s *saga) checkPlayers(t *rapid.T) {
	for id, players := range s.players {
		over := s.game(id).Status.Ended()
		for _, player := range players {
			p := s.player(player)
			if over && p.Status.HoldsSlot() {
				t.Fatalf("player session is %s in an ended game session", p.Status)
			}
			if p.Status == session.Reserved && !time.Now().Before(p.ReservedUntil) {
				t.Fatalf("reservation should have ended at %s", p.ReservedUntil)
			}
		}
	}
}
