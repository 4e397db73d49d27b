package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// TestCreate checks that the process is told about the session as created.
func TestCreate(t *testing.T) {
	in(t, func(a *arena) {
		a.free("p")
		id := a.create()
		g := a.game(id)
		if g.Port != 7000 || g.IPAddress != "192.0.2.1" || g.DNSName != "host.test" || g.JoinPolicy != session.AcceptAll || g.Protection != fleet.NoProtection {
			t.Errorf("made %+v", g)
		}
		want := []compute.Start{{
			GameSessionID: id, Name: "n", Data: "d", MaxPlayers: 3, IPAddress: "192.0.2.1", DNSName: "host.test",
			Port: 7000, Properties: map[string]string{"map": "winter"},
		}}
		if diff := cmp.Diff(want, a.links["p"].starts); diff != "" {
			t.Errorf("the process was told (-want +got):\n%s", diff)
		}
	})
}

func TestCreate_Refusals(t *testing.T) {
	in(t, func(a *arena) {
		create := func(change func(*session.CreateInput)) func() error {
			in := a.input()
			change(&in)
			return func() error { _, err := a.Sessions.Create(a.Ctx, in); return err }
		}
		a.Refused("no free process", fault.FleetCapacityExceeded, create(func(*session.CreateInput) {}))
		a.free("p")
		a.Refused("unknown fleet", fault.NotFound, create(func(in *session.CreateInput) { in.FleetID = "fleet-x" }))
		a.Refused("no location", fault.InvalidRequest, create(func(in *session.CreateInput) { in.Location = "" }))
		a.Refused("foreign location", fault.InvalidRequest, create(func(in *session.CreateInput) { in.Location = "custom-x" }))
		a.Must(a.Fleets.Delete.Do(a.Ctx, a.fleet.ID))
		wait.Settle(0)
		a.Refused("fleet is going", fault.InvalidFleetStatus, create(func(*session.CreateInput) {}))
	})
}

// A token creates only one game session, even after that has ended and is archived.
func TestCreate_Idempotency(t *testing.T) {
	in(t, func(a *arena) {
		a.free("p", "q")
		in := a.input()
		in.Token = "token-1"
		first, err := a.Sessions.Create(a.Ctx, in)
		a.Must(err)
		same := func(when string, status session.Status) {
			t.Helper()
			before := a.Store.View().Digest()
			again, err := a.Sessions.Create(a.Ctx, in)
			if err != nil || again.ID != first.ID || again.Status != status {
				t.Errorf("%s: got %+v, %v", when, again, err)
			}
			if a.Store.View().Digest() != before {
				t.Errorf("%s: the repetition changed the state", when)
			}
		}
		other := in
		other.MaxPlayers = 4
		mismatch := func() error { _, err := a.Sessions.Create(a.Ctx, other); return err }
		same("at once", session.Activating)
		a.Refused("other parameters", fault.IdempotentParameterMismatch, mismatch)
		a.Must(a.Computes.End(a.Ctx, a.ref("p")))
		same("ended", session.Terminated)
		wait.Settle(6 * time.Minute)
		if a.Sessions.Live(a.Store.View(), first.ID) != nil {
			t.Fatal("the session is still in memory")
		}
		same("archived", session.Terminated)
		a.Refused("other parameters, archived", fault.IdempotentParameterMismatch, mismatch)
	})
}

// A creator's sessions count for the policy's period from their creation, running or not.
func TestCreate_CreatorLimit(t *testing.T) {
	in(t, func(a *arena) {
		_, err := a.Fleets.Update.Do(a.Ctx, fleet.UpdateInput{FleetID: a.fleet.ID, CreationLimit: &fleet.CreationLimit{Sessions: 2, Period: time.Hour}})
		a.Must(err)
		a.free("p", "q", "r", "s")
		create := func(creator string) error {
			in := a.input()
			in.CreatorID = creator
			_, err := a.Sessions.Create(a.Ctx, in)
			return err
		}
		a.Refused("no creator", fault.InvalidRequest, func() error { return create("") })
		a.Must(create("ann"))
		a.Must(a.Computes.End(a.Ctx, a.ref("p")))
		wait.Settle(30 * time.Minute)
		a.Must(create("ann"))
		a.Refused("third within the hour", fault.LimitExceeded, func() error { return create("ann") })
		a.Must(create("bob"))
		wait.Settle(30*time.Minute - moment)
		a.Refused("a millisecond before the hour", fault.LimitExceeded, func() error { return create("ann") })
		wait.Settle(2 * moment)
		a.Must(create("ann"))
	})
}

func TestReserve_Refusals(t *testing.T) {
	in(t, func(a *arena) {
		a.free("q")
		activating := a.create()
		id := a.active("p")
		held := a.reserve(id, "ann", "bob")
		reserve := func(game string, players ...string) func() error {
			in := session.ReserveInput{GameSessionID: game}
			for _, p := range players {
				in.Players = append(in.Players, session.Joining{PlayerID: p})
			}
			return func() error { _, err := a.Sessions.Players.Reserve(a.Ctx, in); return err }
		}
		a.Refused("unknown session", fault.NotFound, reserve("arn:none", "x"))
		a.Refused("session that is not ACTIVE", fault.InvalidGameSessionStatus, reserve(activating, "x"))
		a.Refused("too many players: none gets in", fault.GameSessionFull, reserve(id, "x", "y"))
		ann := a.reserve(id, "ann")[0] // her reservation, requested again
		a.Refused("a reservation with other data", fault.InvalidRequest, func() error {
			_, err := a.Sessions.Players.Reserve(a.Ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "ann", Data: "red"}}})
			return err
		})
		if _, err := a.Sessions.Players.Accept(a.Ctx, a.ref("p"), id, ann); err != nil {
			a.Fatal(err)
		}
		a.Refused("player who is in", fault.InvalidRequest, reserve(id, "ann"))
		cid := a.reserve(id, "cid")[0]
		a.Refused("full session", fault.GameSessionFull, reserve(id, "x"))
		again := a.reserve(id, "bob", "cid") // needs no slot
		if ann != held[0] || again[0] != held[1] || again[1] != cid {
			a.Errorf("asked again, the reservations are %v, %v and %v", ann, again[0], again[1])
		}
		id = a.active("r")
		a.Refused("the same player twice", fault.InvalidRequest, reserve(id, "x", "x"))
		a.Must(a.Sessions.SetJoinPolicy(a.Ctx, a.ref("r"), id, session.DenyAll))
		a.Refused("closed session", fault.InvalidGameSessionStatus, reserve(id, "x"))
		a.Must(a.Computes.End(a.Ctx, a.ref("r")))
		a.Refused("ended session", fault.InvalidGameSessionStatus, reserve(id, "x"))
		wait.Settle(6 * time.Minute)
		a.Refused("archived session", fault.InvalidGameSessionStatus, reserve(id, "x"))
	})
}

// A process can affect only its own game session and its players.
func TestProcessRequests_Refusals(t *testing.T) {
	in(t, func(a *arena) {
		mine, other := a.active("p"), a.active("q")
		ann, bob := a.reserve(mine, "ann")[0], a.reserve(other, "bob")[0]
		accept := func(process, game, player string) func() error {
			return func() error { _, err := a.Sessions.Players.Accept(a.Ctx, a.ref(process), game, player); return err }
		}
		remove := func(process, game, player string) func() error {
			return func() error { return a.Sessions.Players.Remove(a.Ctx, a.ref(process), game, player) }
		}
		a.Refused("accept for another's session", fault.NotFound, accept("q", mine, ann))
		a.Refused("accept a player of another session", fault.InvalidRequest, accept("p", mine, bob))
		a.Refused("accept an unknown player session", fault.NotFound, accept("p", mine, "psess-x"))
		a.Must(accept("p", mine, ann)())
		a.Refused("accept twice", fault.InvalidRequest, accept("p", mine, ann))
		a.Must(remove("p", mine, ann)())
		a.Refused("remove twice", fault.InvalidRequest, remove("p", mine, ann))
		a.Refused("accept one who left", fault.InvalidRequest, accept("p", mine, ann))
		a.Refused("remove from another's session", fault.NotFound, remove("p", other, bob))
		a.Refused("activate another's session", fault.NotFound, func() error { return a.Sessions.Activate(a.Ctx, a.ref("p"), other) })
		a.Refused("unknown policy", fault.InvalidRequest, func() error { return a.Sessions.SetJoinPolicy(a.Ctx, a.ref("p"), mine, "NOT_SET") })
		a.Refused("policy of another's session", fault.NotFound, func() error { return a.Sessions.SetJoinPolicy(a.Ctx, a.ref("p"), other, session.DenyAll) })
		before := a.Store.View().Digest()
		a.Must(a.Sessions.Activate(a.Ctx, a.ref("p"), mine))
		if a.Store.View().Digest() != before {
			t.Error("activating twice changed the state")
		}
		_, err := a.Sessions.Terminate(a.Ctx, mine, session.Trigger)
		a.Must(err)
		a.Refused("activate while terminating", fault.Conflict, func() error { return a.Sessions.Activate(a.Ctx, a.ref("p"), mine) })
	})
}

func TestUpdate(t *testing.T) {
	in(t, func(a *arena) {
		id := a.active("p")
		a.reserve(id, "ann", "bob")
		update := func(in session.UpdateInput) func() error {
			in.GameSessionID = id
			return func() error { _, err := a.Sessions.Update(a.Ctx, in); return err }
		}
		a.Must(update(session.UpdateInput{Name: pointer("new"), MaxPlayers: pointer(2), JoinPolicy: pointer(session.DenyAll),
			Properties: []session.Property{{Key: "map", Value: "summer"}, {Key: "mode", Value: "ctf"}}})())
		g := a.game(id)
		want := []session.Property{{Key: "map", Value: "summer"}, {Key: "mode", Value: "ctf"}}
		if diff := cmp.Diff(want, g.Properties); diff != "" || g.Name != "new" || g.MaxPlayers != 2 || g.JoinPolicy != session.DenyAll {
			t.Errorf("game session %+v\n%s", g, diff)
		}
		a.Refused("fewer slots than players", fault.InvalidRequest, update(session.UpdateInput{MaxPlayers: pointer(1)}))
		var many []session.Property
		for i := range session.MaxProperties {
			many = append(many, session.Property{Key: fmt.Sprint(i), Value: "v"})
		}
		a.Refused("too many properties", fault.InvalidRequest, update(session.UpdateInput{Properties: many}))
		a.Must(a.Computes.End(a.Ctx, a.ref("p")))
		a.Refused("ended session", fault.InvalidGameSessionStatus, update(session.UpdateInput{Name: pointer("x")}))
		wait.Settle(6 * time.Minute)
		a.Refused("archived session", fault.InvalidGameSessionStatus, update(session.UpdateInput{Name: pointer("x")}))
		id = "arn:none"
		a.Refused("unknown session", fault.NotFound, update(session.UpdateInput{Name: pointer("x")}))
	})
}

func TestTerminate_Refusals(t *testing.T) {
	in(t, func(a *arena) {
		id := a.active("p")
		terminate := func(id string, mode session.Mode) func() error {
			return func() error { _, err := a.Sessions.Terminate(a.Ctx, id, mode); return err }
		}
		a.Refused("unknown session", fault.NotFound, terminate("arn:none", session.Trigger))
		a.Refused("force without a host that can kill", fault.InvalidRequest, terminate(id, session.Force))
		a.Must(terminate(id, session.Trigger)())
		a.Refused("twice", fault.InvalidGameSessionStatus, terminate(id, session.Trigger))
		a.Must(a.Computes.End(a.Ctx, a.ref("p")))
		a.Refused("ended session", fault.InvalidGameSessionStatus, terminate(id, session.Trigger))
		if got := a.game(id).Reason; got != session.ReasonTriggered {
			t.Errorf("reason %q", got)
		}
	})
}
