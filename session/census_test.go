package session_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// report says how many players the program on p has.
func (a *arena) report(id string, players int) {
	a.Helper()
	a.Must(a.Sessions.ReportPlayers(a.Ctx, a.ref("p"), id, players))
}

// used fails the test if another number of slots is in use, in the game session or in its fleet.
func (a *arena) used(id string, want int) {
	a.Helper()
	view := a.Store.View()
	if n := a.Sessions.Players.Count(view, id); n != want {
		a.Errorf("%d slots are used, want %d", n, want)
	}
	if n := a.Sessions.Use(view, a.fleet.ID, home).Players; n != want {
		a.Errorf("%d players are counted in the fleet, want %d", n, want)
	}
}

// While a reservation is fresh, its slot stays; afterwards the slots in use are as many as the
// program has players, and players who have left make room.
func TestReportPlayers(t *testing.T) {
	in(t, func(a *arena) {
		id, _ := a.wrapped() // for 3
		ana := a.reserve(id, "ana")[0]
		wait.Settle(time.Second)
		ben := a.reserve(id, "ben")[0]
		a.report(id, 0) // they are on the way
		a.used(id, 2)
		wait.Settle(2 * time.Minute)
		a.report(id, 2)
		a.used(id, 2)
		a.report(id, 1) // it is not known who has left
		a.used(id, 1)
		a.wantPlayer(ana, session.Completed)
		a.wantPlayer(ben, session.Playing)
		a.report(id, 3) // two came by another way
		a.used(id, 3)
		a.Refused("a fourth player", fault.GameSessionFull, func() error {
			_, err := a.Sessions.Players.Reserve(a.Ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "cleo"}}})
			return err
		})
		a.report(id, 9) // as many as there are slots
		a.used(id, 3)
		a.report(id, 1)
		a.used(id, 1)
		a.report(id, 2)
		a.Must(a.Computes.End(a.Ctx, a.ref("p")))
		a.used(id, 0)
		a.wantPlayer(ben, session.Completed)
	})
}

// Only the process of a game session that does not accept its players may report their number.
func TestReportPlayers_Refused(t *testing.T) {
	in(t, func(a *arena) {
		id, ready := a.wrapped()
		other := a.active("q")
		report := func(process, id string, n int) func() error {
			return func() error { return a.Sessions.ReportPlayers(a.Ctx, a.ref(process), id, n) }
		}
		a.Refused("another's", fault.NotFound, report("p", other, 1))
		a.Refused("a negative number", fault.InvalidRequest, report("p", id, -1))
		a.Refused("a process with an SDK", fault.Conflict, report("q", other, 1))
		ready.SDK.ToolName = "MusterHTTP"
		a.Must(a.Computes.Ready(a.Ctx, ready))
		a.Refused("a program that accepts its players", fault.Conflict, report("p", id, 1))
	})
}

// Whatever comes in whatever order: no player session ends whose reservation is fresh, at least as
// many slots are used as there are players, and once all reservations are settled exactly as many.
func TestReportPlayers_Property(t *testing.T) {
	in(t, func(a *arena) {
		id, _ := a.wrapped()
		a.Must(updated(a, id, 20))
		n := 0
		rapid.Check(t, func(t *rapid.T) {
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				if rapid.Bool().Draw(t, "reserve") && a.Sessions.Players.Count(a.Store.View(), id) < 20 {
					n++
					a.reserve(id, fmt.Sprint("player", n))
				}
				wait.Settle(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
				there := rapid.IntRange(0, 22).Draw(t, "players")
				before := ofGame(a, id)
				a.report(id, there)
				fresh := 0
				for _, p := range before {
					if time.Now().Before(p.ReservedUntil) {
						fresh++
						a.wantPlayer(p.ID, session.Playing)
					}
				}
				there = min(there, 20)
				used := a.Sessions.Players.Count(a.Store.View(), id)
				if used < there || used > there+fresh {
					t.Fatalf("%d players, %d on the way: %d slots are used", there, fresh, used)
				}
				a.used(id, used)
			}
		})
	})
}

func updated(a *arena, id string, players int) error {
	_, err := a.Sessions.Update(a.Ctx, session.UpdateInput{GameSessionID: id, MaxPlayers: &players})
	return err
}

// ofGame returns the player sessions of a game session that hold a slot.
func ofGame(a *arena, id string) (all []*session.PlayerSession) {
	for p := range a.Sessions.Players.Holding(a.Store.View(), id) {
		all = append(all, p)
	}
	return all
}
