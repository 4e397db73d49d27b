package compute_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

const (
	ready  = 5 * time.Minute
	stop   = 5 * time.Minute
	ill    = 30 * time.Second
	back   = 240 * time.Second
	again  = 300 * time.Second
	moment = time.Millisecond
)

// moves holds the ways to take a process from one status to the next, for each row
// of the table of allowed moves.
var moves = map[[2]compute.Status][]struct {
	name string
	do   func(*yard)
	why  event.Code
}{
	{"", compute.Initialized}: {{"connect", func(y *yard) {}, ""}},
	{compute.Initialized, compute.Active}: {
		{"ready", func(y *yard) { y.must(y.computes.Ready(y.ctx, compute.ReadyInput{Ref: y.ref("p"), Port: 1})) }, ""},
	},
	{compute.Initialized, compute.Terminating}: {
		{"not ready in time", func(y *yard) { pass(ready) }, event.ServerProcessReadyTimeout},
		{"fleet is deleted", func(y *yard) { y.must(y.fleets.Delete.Do(y.ctx, y.fleet.ID)); pass(0) }, event.FleetDeleting},
	},
	{compute.Initialized, compute.Terminated}: {
		{"ends", func(y *yard) { y.must(y.computes.End(y.ctx, y.ref("p"))) }, event.ProcessEnded},
		{"exits", func(y *yard) { y.must(y.computes.Exited(y.ctx, y.ref("p"), "exit 1")) }, event.ServerProcessCrashed},
		{"lost", func(y *yard) { y.must(y.computes.Disconnect(y.ctx, y.ref("p"))); pass(back) }, event.ServerProcessCrashed},
	},
	{compute.Active, compute.Terminating}: {
		{"unhealthy", func(y *yard) { y.must(y.computes.Unhealthy(y.ctx, y.ref("p"), "")) }, event.ServerProcessUnhealthy},
		{"told to", func(y *yard) {
			y.update(func(tx *store.Tx) { y.computes.Terminate(tx, y.ref("p").Key(), event.GameSessionTerminating, "") })
		}, event.GameSessionTerminating},
		{"location is removed", func(y *yard) {
			_, err := y.fleets.RemoveLocations(y.ctx, y.fleet.ID, []string{home})
			y.must(err)
			pass(0)
		}, event.FleetDeleting},
	},
	{compute.Active, compute.Terminated}: {
		{"ends", func(y *yard) { y.must(y.computes.End(y.ctx, y.ref("p"))) }, event.ProcessEnded},
		{"exits", func(y *yard) { y.must(y.computes.Exited(y.ctx, y.ref("p"), "exit 1")) }, event.ServerProcessCrashed},
		{"lost", func(y *yard) { y.must(y.computes.Disconnect(y.ctx, y.ref("p"))); pass(back) }, event.ServerProcessCrashed},
		{"deregistered", func(y *yard) { y.must(y.computes.Deregister(y.ctx, y.fleet.ID, first)) }, event.ComputeDeregistered},
		{"killed", func(y *yard) {
			y.update(func(tx *store.Tx) {
				y.computes.Kill(tx, y.ref("p").Key(), event.ServerProcessForceTerminated, "")
			})
		}, event.ServerProcessForceTerminated},
	},
	{compute.Terminating, compute.Terminated}: {
		{"ends", func(y *yard) { y.must(y.computes.End(y.ctx, y.ref("p"))) }, event.ServerProcessUnhealthy},
		{"exits", func(y *yard) { y.must(y.computes.Exited(y.ctx, y.ref("p"), "exit 0")) }, event.ServerProcessUnhealthy},
		{"grace", func(y *yard) { pass(ill) }, event.ServerProcessUnhealthy},
	},
}

// TestMoves makes each move of the table in each way that causes it.
func TestMoves(t *testing.T) {
	for move := range compute.Moves {
		if len(moves[move]) == 0 {
			t.Errorf("no test goes from %q to %s", move[0], move[1])
		}
		for _, way := range moves[move] {
			t.Run(string(move[0])+" to "+string(move[1])+", "+way.name, func(t *testing.T) {
				in(t, compute.Options{}, func(y *yard) {
					y.lead(move[0])
					way.do(y)
					y.want("p", move[1], way.why)
					if told := len(y.ended) == 1; told != (move[1] == compute.Terminated) {
						y.Errorf("packages above were told of ends: %v", y.ended)
					}
				})
			})
		}
	}
	for move := range moves {
		if _, ok := compute.Moves[move]; !ok {
			t.Errorf("%v is tested but not allowed", move)
		}
	}
}

// lead brings process p to a status.
func (y *yard) lead(to compute.Status) {
	y.Helper()
	y.connect("p")
	if to == compute.Active || to == compute.Terminating {
		y.must(y.computes.Ready(y.ctx, compute.ReadyInput{Ref: y.ref("p"), Port: 1}))
	}
	if to == compute.Terminating {
		y.must(y.computes.Unhealthy(y.ctx, y.ref("p"), "ill"))
	}
}

func TestRefusals(t *testing.T) {
	in(t, compute.Options{ComputesAFleet: 3}, func(y *yard) {
		y.free("p")
		y.free("over")
		y.must(y.computes.End(y.ctx, y.ref("over")))
		end := func(id string) func() error { return func() error { return y.computes.End(y.ctx, y.ref(id)) } }
		ready := func(id string, port int) func() error {
			return func() error {
				return y.computes.Ready(y.ctx, compute.ReadyInput{Ref: y.ref(id), Port: port})
			}
		}
		register := func(in compute.RegisterInput) func() error {
			return func() error { _, err := y.computes.Register(y.ctx, in); return err }
		}
		good := compute.RegisterInput{FleetID: y.fleet.ID, Name: "new", Location: home, IPAddress: "192.0.2.2"}
		with := func(change func(*compute.RegisterInput)) func() error {
			in := good
			change(&in)
			return register(in)
		}
		y.refused("end of an unknown process", fault.NotFound, end("none"))
		y.refused("second end", fault.NotFound, end("over"))
		y.refused("ready of an unknown process", fault.NotFound, ready("none", 1))
		y.refused("ready with another port", fault.Conflict, ready("p", 2))
		y.refused("connection of an ended process", fault.Unauthorized, func() error { return y.tryConnect("over") })
		y.refused("register: unknown fleet", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.FleetID = "fleet-x" }))
		y.refused("register: no location", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.Location = "" }))
		y.refused("register: foreign location", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.Location = "custom-x" }))
		y.refused("register: no address", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.IPAddress = "" }))
		y.refused("register: name taken", fault.Conflict, with(func(in *compute.RegisterInput) { in.Name = first }))
		y.refused("deregister: unknown", fault.NotFound, func() error { return y.computes.Deregister(y.ctx, y.fleet.ID, "none") })
		y.register("third", home)
		y.refused("register: quota", fault.LimitExceeded, register(good))
		y.must(y.fleets.Delete.Do(y.ctx, y.fleet.ID))
		pass(0)
		y.refused("register: fleet is going", fault.NotReady, register(good))
		y.refused("connection: fleet is going", fault.Unauthorized, func() error { return y.tryConnect("late") })
	})
}

// A request that a client repeats because it was not answered changes nothing the second time.
func TestRepeats(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		same := func(name string, do func() error) {
			y.Helper()
			before := y.st.View().Digest()
			y.must(do())
			if y.st.View().Digest() != before {
				y.Errorf("%s: the repetition changed the state", name)
			}
		}
		same("connect", func() error { return y.tryConnect("p") })
		same("ready", func() error { return y.computes.Ready(y.ctx, compute.ReadyInput{Ref: y.ref("p"), Port: 1000}) })
		same("hearing", func() error { return y.computes.Hearing(y.ctx, y.ref("p")) })
		y.must(y.computes.Disconnect(y.ctx, y.ref("p")))
		pass(time.Second)
		same("disconnect", func() error { return y.computes.Disconnect(y.ctx, y.ref("p")) })
		y.must(y.computes.Unhealthy(y.ctx, y.ref("p"), ""))
		pass(time.Second)
		same("unhealthy", func() error { return y.computes.Unhealthy(y.ctx, y.ref("p"), "") })
		y.must(y.computes.Exited(y.ctx, y.ref("p"), ""))
		same("exited", func() error { return y.computes.Exited(y.ctx, y.ref("p"), "") })
		same("disconnect after the end", func() error { return y.computes.Disconnect(y.ctx, y.ref("p")) })
	})
}

// A process ends once: one event of each kind, one call of the packages above, and
// its sockets are dropped unless it closes them itself.
func TestEnd_HappensOnce(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		y.free("q")
		y.must(y.computes.Unhealthy(y.ctx, y.ref("p"), "ill"))
		pass(10 * time.Minute)
		y.must(y.computes.Exited(y.ctx, y.ref("p"), ""))
		if len(y.ended) != 1 || len(y.stopping) != 1 || y.links["p"].dropped != 1 || len(y.links["p"].terminates) != 1 {
			y.Errorf("ended %v, stopping %v, link %+v", y.ended, y.stopping, y.links["p"])
		}
		if y.count(event.ServerProcessUnhealthy, "p") != 1 || y.count(event.ServerProcessForceTerminated, "p") != 1 {
			y.Error("want each event of the end once")
		}
		y.must(y.computes.End(y.ctx, y.ref("q")))
		if y.links["q"].dropped != 0 {
			y.Error("the socket of a process that ended itself was dropped under it")
		}
	})
}
