package session_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// While a game server is known to be disconnected, no player is sent there.
func TestAway_NotOffered(t *testing.T) {
	in(t, func(a *arena) {
		id := a.active("p")
		a.reserve(id, "ana")
		offered := func() int {
			page, _ := a.sessions.Search(session.Search{FleetID: a.fleet.ID, Limit: 10})
			return len(page)
		}
		join := func() error {
			_, err := a.sessions.Players.Reserve(a.ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "ben"}}})
			return err
		}
		a.must(a.computes.Disconnect(a.ctx, a.ref("p")))
		if n := offered(); n != 0 {
			a.Errorf("%d game sessions are offered whose server is away", n)
		}
		a.refused("join", fault.InvalidGameSessionStatus, join)
		a.want(id, session.Active)

		_, err := a.computes.Connect(a.ctx, compute.ConnectInput{Ref: a.ref("p")}, a.links["p"])
		a.must(err)
		if n := offered(); n != 1 {
			a.Errorf("%d game sessions are offered after the server came back", n)
		}
		_, err = a.computes.Restart(a.ctx) // the end of its socket was not observed
		a.must(err)
		if n := offered(); n != 1 {
			a.Errorf("%d game sessions are offered after a restart", n)
		}
		a.must(join())
	})
}

// The players of a program without an SDK are ACTIVE immediately, until the game session
// ends.
func TestWrapped_KeepsItsPlayers(t *testing.T) {
	in(t, func(a *arena) {
		a.links["p"] = &link{}
		_, err := a.computes.Connect(a.ctx, compute.ConnectInput{Ref: a.ref("p")}, a.links["p"])
		a.must(err)
		a.must(a.computes.Ready(a.ctx, compute.ReadyInput{Ref: a.ref("p"), Port: 7000, SDK: compute.SDK{ToolName: compute.WrapTool}}))
		a.must(a.computes.Hearing(a.ctx, a.ref("p")))
		id := a.create()
		a.must(a.sessions.Activate(a.ctx, a.ref("p"), id))
		ana := a.reserve(id, "ana")[0]
		a.wantPlayer(ana, session.Playing)
		pass(time.Hour)
		a.wantPlayer(ana, session.Playing)
		if n := a.sessions.Players.Count(a.st.View(), id); n != 1 {
			a.Errorf("%d slots are used, want 1", n)
		}
		a.refused("ana again", fault.InvalidRequest, func() error {
			_, err := a.sessions.Players.Reserve(a.ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "ana"}}})
			return err
		})
		a.must(a.computes.End(a.ctx, a.ref("p")))
		a.wantPlayer(ana, session.Completed)
	})
}
