package session_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/session"
)

const moment = time.Millisecond

// way is one cause of a move, on process p that hosts game session id.
type way struct {
	name string
	do   func(a *arena, id string)
}

func ways() map[[2]session.Status][]way {
	terminate := way{"TerminateGameSession", func(a *arena, id string) {
		_, err := a.sessions.Terminate(a.ctx, id, session.Trigger)
		a.must(err)
	}}
	unhealthy := way{"unhealthy", func(a *arena, _ string) { a.must(a.computes.Unhealthy(a.ctx, a.ref("p"), "")) }}
	deleted := way{"fleet is deleted", func(a *arena, _ string) { a.must(a.fleets.Delete.Do(a.ctx, a.fleet.ID)); pass(0) }}
	ended := way{"ProcessEnding", func(a *arena, _ string) { a.must(a.computes.End(a.ctx, a.ref("p"))) }}
	exited := way{"exit", func(a *arena, _ string) { a.must(a.computes.Exited(a.ctx, a.ref("p"), "exit 1")) }}
	lost := way{"connection lost", func(a *arena, _ string) { a.must(a.computes.Disconnect(a.ctx, a.ref("p"))); pass(240 * time.Second) }}
	deregistered := way{"compute deregistered", func(a *arena, _ string) { a.must(a.computes.Deregister(a.ctx, a.fleet.ID, machine)) }}
	forced := way{"force", func(a *arena, id string) {
		a.host.owns = map[string]bool{"p": true}
		g, err := a.sessions.Terminate(a.ctx, id, session.Force)
		a.must(err)
		if g.Status != session.Terminating || g.Reason != session.ReasonForced {
			a.Errorf("the answer shows %s, %s", g.Status, g.Reason)
		}
	}}
	return map[[2]session.Status][]way{
		{"", session.Activating}:                  {{"CreateGameSession", func(*arena, string) {}}},
		{session.Activating, session.Active}:      {{"ActivateGameSession", func(a *arena, id string) { a.must(a.sessions.Activate(a.ctx, a.ref("p"), id)) }}},
		{session.Activating, session.Terminating}: {terminate, unhealthy, deleted},
		{session.Activating, session.Terminated}:  {{"activation timeout", func(*arena, string) { pass(300 * time.Second) }}, ended, exited, lost, deregistered, forced},
		{session.Active, session.Terminating}:     {terminate, unhealthy, deleted},
		{session.Active, session.Terminated}:      {ended, exited, lost, deregistered, forced},
		{session.Terminating, session.Terminated}: {ended, exited, deregistered, forced, {"grace passed", func(*arena, string) { pass(5 * time.Minute) }}},
	}
}

// TestMoves makes each move of the table in each way that causes it.
func TestMoves(t *testing.T) {
	all := ways()
	for move := range session.Moves {
		if len(all[move]) == 0 {
			t.Errorf("no test goes from %q to %s", move[0], move[1])
		}
		for _, way := range all[move] {
			t.Run(string(move[0])+" to "+string(move[1])+", "+way.name, func(t *testing.T) {
				in(t, func(a *arena) {
					id := a.lead(move[0])
					way.do(a, id)
					a.want(id, move[1])
				})
			})
		}
	}
	for move := range all {
		if _, ok := session.Moves[move]; !ok {
			t.Errorf("%v is tested but not allowed", move)
		}
	}
}

// lead moves a game session on process p to a status.
func (a *arena) lead(to session.Status) string {
	a.Helper()
	a.free("p")
	id := a.create()
	if to == session.Active || to == session.Terminating {
		a.must(a.sessions.Activate(a.ctx, a.ref("p"), id))
	}
	if to == session.Terminating {
		_, err := a.sessions.Terminate(a.ctx, id, session.Trigger)
		a.must(err)
	}
	return id
}

// TestPlayerMoves makes each move of a player session.
func TestPlayerMoves(t *testing.T) {
	accept := func(a *arena, game, player string) {
		_, err := a.sessions.Players.Accept(a.ctx, a.ref("p"), game, player)
		a.must(err)
	}
	remove := func(a *arena, game, player string) {
		a.must(a.sessions.Players.Remove(a.ctx, a.ref("p"), game, player))
	}
	end := func(a *arena, _, _ string) { a.must(a.computes.End(a.ctx, a.ref("p"))) }
	type way func(a *arena, game, player string)
	all := map[[2]session.PlayerStatus][]way{
		{"", session.Reserved}:                {func(*arena, string, string) {}},
		{session.Reserved, session.Playing}:   {accept},
		{session.Reserved, session.TimedOut}:  {func(*arena, string, string) { pass(time.Minute) }, end},
		{session.Reserved, session.Completed}: {remove},
		{session.Playing, session.Completed}:  {remove, end},
	}
	for move := range session.PlayerMoves {
		if len(all[move]) == 0 {
			t.Errorf("no test goes from %q to %s", move[0], move[1])
		}
		for _, do := range all[move] {
			in(t, func(a *arena) {
				game := a.active("p")
				player := a.reserve(game, "ann")[0]
				if move[0] == session.Playing {
					accept(a, game, player)
				}
				do(a, game, player)
				a.wantPlayer(player, move[1])
				used := 0
				if move[1].HoldsSlot() {
					used = 1
				}
				if got := a.sessions.Players.Count(a.st.View(), game); got != used {
					t.Errorf("%v: %d slots in use, want %d", move, got, used)
				}
			})
		}
	}
}

// A session that is not activated in time ends, and its process is told to end.
func TestActivationTimeout(t *testing.T) {
	in(t, func(a *arena) {
		_, err := a.fleets.UpdateRuntime(a.ctx, a.fleet.ID, fleet.Runtime{ActivationTimeout: 10 * time.Second})
		a.must(err)
		a.free("p")
		id := a.create()
		pass(10*time.Second - moment)
		a.want(id, session.Activating)
		pass(moment)
		a.want(id, session.Terminated)
		if a.links["p"].terminates != 1 {
			t.Error("the process was not told to end")
		}
	})
}

// A reservation lasts a minute; then the slot is free again.
func TestReservationTimeout(t *testing.T) {
	in(t, func(a *arena) {
		id := a.active("p")
		players := a.reserve(id, "ann", "bob", "cid")
		pass(time.Minute - moment)
		_, err := a.sessions.Players.Accept(a.ctx, a.ref("p"), id, players[0])
		a.must(err)
		pass(moment)
		a.wantPlayer(players[0], session.Playing)
		a.wantPlayer(players[1], session.TimedOut)
		a.reserve(id, "bob", "dan")
		if n := a.sessions.Players.Count(a.st.View(), id); n != 3 {
			t.Errorf("%d slots in use, want 3", n)
		}
		pass(time.Hour)
		a.wantPlayer(players[0], session.Playing)
	})
}
