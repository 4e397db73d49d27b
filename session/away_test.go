package session_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// While a game server is known to be disconnected, no player is sent there.
func TestAway_NotOffered(t *testing.T) {
	in(t, func(a *arena) {
		id := a.active("p")
		a.reserve(id, "ana")
		offered := func() int {
			page, _ := a.Sessions.Search(session.Search{FleetID: a.fleet.ID, Limit: 10})
			return len(page)
		}
		join := func() error {
			_, err := a.Sessions.Players.Reserve(a.Ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "ben"}}})
			return err
		}
		a.Must(a.Computes.Disconnect(a.Ctx, a.ref("p")))
		if n := offered(); n != 0 {
			a.Errorf("%d game sessions are offered whose server is away", n)
		}
		a.Refused("join", fault.InvalidGameSessionStatus, join)
		a.want(id, session.Active)

		_, err := a.Computes.Connect(a.Ctx, compute.ConnectInput{Ref: a.ref("p")}, a.links["p"])
		a.Must(err)
		if n := offered(); n != 1 {
			a.Errorf("%d game sessions are offered after the server came back", n)
		}
		_, err = a.Computes.Restart(a.Ctx) // the end of its socket was not observed
		a.Must(err)
		if n := offered(); n != 1 {
			a.Errorf("%d game sessions are offered after a restart", n)
		}
		a.Must(join())
	})
}

// wrapped returns an ACTIVE game session on a process p whose program has no SDK, and how that
// became ready.
func (a *arena) wrapped() (id string, ready compute.ReadyInput) {
	a.Helper()
	a.links["p"] = &link{}
	_, err := a.Computes.Connect(a.Ctx, compute.ConnectInput{Ref: a.ref("p")}, a.links["p"])
	a.Must(err)
	ready = compute.ReadyInput{Ref: a.ref("p"), Port: 7000, SDK: compute.SDK{ToolName: compute.WrapTool}}
	a.Must(a.Computes.Ready(a.Ctx, ready))
	a.Must(a.Computes.Hearing(a.Ctx, a.ref("p")))
	id = a.create()
	a.Must(a.Sessions.Activate(a.Ctx, a.ref("p"), id))
	return id, ready
}

// The players of a program without an SDK are ACTIVE immediately, until the game session
// ends.
func TestWrapped_KeepsItsPlayers(t *testing.T) {
	in(t, func(a *arena) {
		id, _ := a.wrapped()
		ana := a.reserve(id, "ana")[0]
		a.wantPlayer(ana, session.Playing)
		wait.Settle(time.Hour)
		a.wantPlayer(ana, session.Playing)
		if n := a.Sessions.Players.Count(a.Store.View(), id); n != 1 {
			a.Errorf("%d slots are used, want 1", n)
		}
		a.Refused("ana again", fault.InvalidRequest, func() error {
			_, err := a.Sessions.Players.Reserve(a.Ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "ana"}}})
			return err
		})
		a.Must(a.Computes.End(a.Ctx, a.ref("p")))
		a.wantPlayer(ana, session.Completed)
	})
}

// A wrapped program that calls ready manages itself: players who are reserved from then on
// are accepted by it, or time out; those before stay.
func TestWrapped_ManagesItself(t *testing.T) {
	in(t, func(a *arena) {
		id, ready := a.wrapped()
		early := a.reserve(id, "early")[0]
		a.Must(a.Computes.Ready(a.Ctx, ready)) // repeated, it changes nothing
		ready.SDK.ToolName = "MusterHTTP"
		a.Must(a.Computes.Ready(a.Ctx, ready))
		late := a.reserve(id, "late")[0]
		a.wantPlayer(early, session.Playing)
		a.wantPlayer(late, session.Reserved)
		wait.Settle(time.Hour)
		a.wantPlayer(early, session.Playing)
		a.wantPlayer(late, session.TimedOut)
		ready.SDK.ToolName = compute.WrapTool // a wrapper's repeated request comes late
		a.Must(a.Computes.Ready(a.Ctx, ready))
		if a.Computes.Process(a.Store.View(), a.ref("p").Key()).Wrapped() {
			a.Error("the process is a wrapper again")
		}
	})
}
