package session_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wait"
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
		_, err := a.Sessions.Terminate(a.Ctx, id, session.Trigger)
		a.Must(err)
	}}
	unhealthy := way{"unhealthy", func(a *arena, _ string) { a.Must(a.Computes.Unhealthy(a.Ctx, a.ref("p"), "")) }}
	deleted := way{"fleet is deleted", func(a *arena, _ string) { a.Must(a.Fleets.Delete.Do(a.Ctx, a.fleet.ID)); wait.Settle(0) }}
	ended := way{"ProcessEnding", func(a *arena, _ string) { a.Must(a.Computes.End(a.Ctx, a.ref("p"))) }}
	exited := way{"exit", func(a *arena, _ string) { a.Must(a.Computes.Exited(a.Ctx, a.ref("p"), "exit 1")) }}
	lost := way{"connection lost", func(a *arena, _ string) {
		a.Must(a.Computes.Disconnect(a.Ctx, a.ref("p")))
		wait.Settle(240 * time.Second)
	}}
	deregistered := way{"compute deregistered", func(a *arena, _ string) { a.Must(a.Computes.Deregister(a.Ctx, a.fleet.ID, machine)) }}
	forced := way{"force", func(a *arena, id string) {
		a.host.owns = map[string]bool{"p": true}
		g, err := a.Sessions.Terminate(a.Ctx, id, session.Force)
		a.Must(err)
		if g.Status != session.Terminating || g.Reason != session.ReasonForced {
			a.Errorf("the answer shows %s, %s", g.Status, g.Reason)
		}
	}}
	finished := way{"TerminateGameSession by the process", func(a *arena, id string) { a.Must(a.Sessions.Finish(a.Ctx, a.ref("p"), id)) }}
	return map[[2]session.Status][]way{
		{"", session.Activating}:                  {{"CreateGameSession", func(*arena, string) {}}},
		{session.Activating, session.Active}:      {{"ActivateGameSession", func(a *arena, id string) { a.Must(a.Sessions.Activate(a.Ctx, a.ref("p"), id)) }}},
		{session.Activating, session.Terminating}: {terminate, unhealthy, deleted},
		{session.Activating, session.Terminated}:  {{"activation timeout", func(*arena, string) { wait.Settle(300 * time.Second) }}, ended, exited, lost, deregistered, forced, finished},
		{session.Active, session.Terminating}:     {terminate, unhealthy, deleted},
		{session.Active, session.Terminated}:      {ended, exited, lost, deregistered, forced, finished},
		{session.Terminating, session.Terminated}: {ended, exited, deregistered, forced, finished, {"grace passed", func(*arena, string) { wait.Settle(5 * time.Minute) }}},
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

// TestCause has the cause of each way in which an ACTIVE game session ends: none if its process
// ended it, or ended because it was told to.
func TestCause(t *testing.T) {
	want := map[string]event.Code{
		"ProcessEnding": "", "TerminateGameSession by the process": "", "exit": event.ServerProcessCrashed, "connection lost": event.ServerProcessCrashed,
		"compute deregistered": event.ComputeDeregistered, "force": event.ServerProcessForceTerminated,
	}
	for _, way := range ways()[[2]session.Status{session.Active, session.Terminated}] {
		cause, known := want[way.name]
		if !known {
			t.Errorf("no cause is known for %s", way.name)
		}
		in(t, func(a *arena) {
			id := a.lead(session.Active)
			way.do(a, id)
			if g := a.game(id); g.Cause != cause || (g.How != "") != (cause != "") {
				t.Errorf("%s: the cause is %q, %q; want %q", way.name, g.Cause, g.How, cause)
			}
		})
	}
	in(t, func(a *arena) {
		id := a.lead(session.Active)
		a.Must(a.Computes.Exited(a.Ctx, a.ref("p"), strings.Repeat("ä", 1000)))
		if how := a.game(id).How; len(how) > 512 || !utf8.ValidString(how) || !strings.HasSuffix(how, "ä…") {
			t.Errorf("a long text is kept in %d bytes as %q", len(how), how)
		}
	})
	in(t, func(a *arena) {
		_, err := a.Fleets.UpdateRuntime.Do(a.Ctx, fleet.RuntimeInput{FleetID: a.fleet.ID, Runtime: fleet.Runtime{ActivationTimeout: 10 * time.Second}})
		a.Must(err)
		id := a.lead(session.Activating)
		wait.Settle(10*time.Second - moment)
		a.want(id, session.Activating)
		wait.Settle(moment)
		if a.links["p"].terminates != 1 {
			t.Error("the process of a game session that was not activated was not told to end")
		}
		if g := a.game(id); g.Cause != event.GameSessionActivationTimeout || g.How == "" {
			t.Errorf("not activated: the cause is %q, %q", g.Cause, g.How)
		}
	})
}

// A process that hosts a game session is not retired as an idle one; once it does not, it is.
func TestRetireIdle(t *testing.T) {
	in(t, func(a *arena) {
		retire := func() { a.Must(a.Computes.RetireIdle(a.Ctx, a.ref("p"), "its program has changed")) }
		id := a.lead(session.Active)
		retire()
		wait.Settle(0)
		if a.want(id, session.Active); a.links["p"].terminates != 0 {
			t.Error("a process with a game session was told to end")
		}
		a.Must(a.Sessions.Finish(a.Ctx, a.ref("p"), id))
		retire()
		wait.Settle(0)
		if a.links["p"].terminates != 1 {
			t.Errorf("an idle process was told to end %d times", a.links["p"].terminates)
		}
		retire()
		wait.Settle(0)
		if a.links["p"].terminates != 1 {
			t.Errorf("a process that ends was told to end again")
		}
	})
}

// lead moves a game session on process p to a status.
func (a *arena) lead(to session.Status) string {
	a.Helper()
	a.free("p")
	id := a.create()
	if to == session.Active || to == session.Terminating {
		a.Must(a.Sessions.Activate(a.Ctx, a.ref("p"), id))
	}
	if to == session.Terminating {
		_, err := a.Sessions.Terminate(a.Ctx, id, session.Trigger)
		a.Must(err)
	}
	return id
}

// TestPlayerMoves makes each move of a player session.
func TestPlayerMoves(t *testing.T) {
	accept := func(a *arena, game, player string) {
		_, err := a.Sessions.Players.Accept(a.Ctx, a.ref("p"), game, player)
		a.Must(err)
	}
	remove := func(a *arena, game, player string) {
		a.Must(a.Sessions.Players.Remove(a.Ctx, a.ref("p"), game, player))
	}
	end := func(a *arena, _, _ string) { a.Must(a.Computes.End(a.Ctx, a.ref("p"))) }
	minute := func(a *arena, _, player string) {
		wait.Settle(time.Minute - moment)
		a.wantPlayer(player, session.Reserved)
		wait.Settle(moment)
	}
	inTime := func(a *arena, game, player string) {
		wait.Settle(time.Minute - moment)
		accept(a, game, player)
		wait.Settle(time.Hour)
	}
	type way func(a *arena, game, player string)
	all := map[[2]session.PlayerStatus][]way{
		{"", session.Reserved}:                {func(*arena, string, string) {}},
		{session.Reserved, session.Playing}:   {accept, inTime},
		{session.Reserved, session.TimedOut}:  {minute, end},
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
				if got := a.Sessions.Players.Count(a.Store.View(), game); got != used {
					t.Errorf("%v: %d slots in use, want %d", move, got, used)
				}
				if used == 0 && a.game(game).Status == session.Active {
					a.reserve(game, "ann", "bob", "cid") // all slots, hers too
				}
			})
		}
	}
}
