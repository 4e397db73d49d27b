package compute_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

const (
	ready  = 5 * time.Minute
	stop   = 5 * time.Minute
	ill    = 30 * time.Second
	back   = 240 * time.Second
	again  = 300 * time.Second
	moment = time.Millisecond
)

// The ways in which a process ends that is connected.
var (
	ends  = way{"ends", func(y *yard) { y.Must(y.Computes.End(y.Ctx, y.ref("p"))) }, 0, event.ProcessEnded}
	exits = way{"exits", func(y *yard) { y.Must(y.Computes.Exited(y.Ctx, y.ref("p"), "exit 1")) }, 0, event.ServerProcessCrashed}
	lost  = way{"lost", func(y *yard) { y.Must(y.Computes.Disconnect(y.Ctx, y.ref("p"))) }, back, event.ServerProcessCrashed}
)

// way is a way to take a process from one status to the next.
type way struct {
	name  string
	do    func(*yard)
	after time.Duration // it takes effect then, and not a millisecond before
	why   event.Code
}

// moves holds the ways for each row of the table of allowed moves.
var moves = map[[2]compute.Status][]way{
	{"", compute.Initialized}: {{"connect", func(*yard) {}, 0, ""}},
	{compute.Initialized, compute.Active}: {
		{"ready", func(y *yard) { y.Must(y.Computes.Ready(y.Ctx, compute.ReadyInput{Ref: y.ref("p"), Port: 1})) }, 0, ""},
	},
	{compute.Initialized, compute.Terminating}: {
		{"not ready in time", func(*yard) {}, ready, event.ServerProcessReadyTimeout},
		{"fleet is deleted", func(y *yard) { y.Must(y.Fleets.Delete.Do(y.Ctx, y.fleet.ID)) }, 0, event.FleetDeleting},
	},
	{compute.Initialized, compute.Terminated}: {ends, exits, lost},
	{compute.Active, compute.Initialized}: {
		{"rests", func(y *yard) {
			y.Update(func(tx *store.Tx) { y.Computes.Rest(tx, y.ref("p").Key()) })
		}, 0, ""},
	},
	{compute.Active, compute.Terminating}: {
		{"unhealthy", func(y *yard) { y.Must(y.Computes.Unhealthy(y.Ctx, y.ref("p"), "")) }, 0, event.ServerProcessUnhealthy},
		{"told to", (*yard).terminate, 0, event.GameSessionTerminating},
		{"location is removed", func(y *yard) {
			_, err := y.Fleets.RemoveLocations.Do(y.Ctx, fleet.LocationsInput{FleetID: y.fleet.ID, Locations: []string{home}})
			y.Must(err)
		}, 0, event.FleetDeleting},
	},
	{compute.Active, compute.Terminated}: {
		ends, exits, lost,
		{"deregistered", func(y *yard) { y.Must(y.Computes.Deregister(y.Ctx, y.fleet.ID, first)) }, 0, event.ComputeDeregistered},
		{"killed", func(y *yard) {
			y.Update(func(tx *store.Tx) {
				y.Computes.Kill(tx, y.ref("p").Key(), event.ServerProcessForceTerminated, "")
			})
		}, 0, event.ServerProcessForceTerminated},
		{"told to, and does not end", (*yard).terminate, stop, event.ServerProcessForceTerminated},
	},
	{compute.Terminating, compute.Terminated}: {
		{"ends", ends.do, 0, event.ServerProcessUnhealthy},
		{"exits", exits.do, 0, event.ServerProcessUnhealthy},
		{"grace", func(*yard) {}, ill, event.ServerProcessUnhealthy},
	},
}

// terminate tells process p to end.
func (y *yard) terminate() {
	y.Update(func(tx *store.Tx) { y.Computes.Terminate(tx, y.ref("p").Key(), event.GameSessionTerminating, "") })
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
					if way.after > 0 {
						wait.Settle(way.after - moment)
						if got := y.process("p").Status; got == move[1] {
							y.Fatalf("process is %s before its time", got)
						}
						wait.Settle(moment)
					}
					wait.Settle(0)
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
		y.Must(y.Computes.Ready(y.Ctx, compute.ReadyInput{Ref: y.ref("p"), Port: 1}))
	}
	if to == compute.Terminating {
		y.Must(y.Computes.Unhealthy(y.Ctx, y.ref("p"), "ill"))
	}
}

func TestRefusals(t *testing.T) {
	in(t, compute.Options{ComputesAFleet: 3}, func(y *yard) {
		y.free("p")
		y.free("over")
		y.Must(y.Computes.End(y.Ctx, y.ref("over")))
		end := func(id string) func() error { return func() error { return y.Computes.End(y.Ctx, y.ref(id)) } }
		ready := func(id string, port int) func() error {
			return func() error {
				return y.Computes.Ready(y.Ctx, compute.ReadyInput{Ref: y.ref(id), Port: port})
			}
		}
		register := func(in compute.RegisterInput) func() error {
			return func() error { _, err := y.Computes.Register(y.Ctx, in); return err }
		}
		good := compute.RegisterInput{FleetID: y.fleet.ID, Name: "new", Location: home, IPAddress: "192.0.2.2"}
		with := func(change func(*compute.RegisterInput)) func() error {
			in := good
			change(&in)
			return register(in)
		}
		y.Refused("end of an unknown process", fault.NotFound, end("none"))
		y.Refused("second end", fault.NotFound, end("over"))
		y.Refused("ready of an unknown process", fault.NotFound, ready("none", 1))
		y.Refused("ready with another port", fault.Conflict, ready("p", 2))
		y.Refused("connection of an ended process", fault.Unauthorized, func() error { return y.tryConnect("over") })
		y.Refused("register: unknown fleet", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.FleetID = "fleet-x" }))
		y.Refused("register: no location", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.Location = "" }))
		y.Refused("register: foreign location", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.Location = "custom-x" }))
		y.Refused("register: no address", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.IPAddress = "" }))
		y.Refused("register: an address that nobody can reach", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.IPAddress = "0.0.0.0" }))
		y.Refused("register: a name that nobody can reach", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.DNSName = "::" }))
		y.Refused("register: name taken elsewhere", fault.Conflict, with(func(in *compute.RegisterInput) { in.Name, in.Location = first, away }))
		y.Refused("register again: no address", fault.InvalidRequest, with(func(in *compute.RegisterInput) { in.Name, in.IPAddress = first, "" }))
		y.Refused("deregister: unknown", fault.NotFound, func() error { return y.Computes.Deregister(y.Ctx, y.fleet.ID, "none") })
		y.register("third", home)
		y.Refused("register: quota", fault.LimitExceeded, register(good))
		y.Must(y.Fleets.Delete.Do(y.Ctx, y.fleet.ID))
		wait.Settle(0)
		y.Refused("register: fleet is going", fault.NotReady, register(good))
		y.Refused("connection: fleet is going", fault.Unauthorized, func() error { return y.tryConnect("late") })
	})
}

// A machine that registers again has its new address, and keeps its processes and its tokens. If
// nothing has changed, nothing happens.
func TestRegister_Again(t *testing.T) {
	in(t, compute.Options{ComputesAFleet: 2}, func(y *yard) {
		y.free("p")
		before := y.Computes.Get(y.Store.View(), y.fleet.ID, first)
		token, _ := y.Computes.IssueToken(before, time.Now())
		wait.Settle(time.Minute)
		again := compute.RegisterInput{FleetID: y.fleet.ID, Name: first, Location: home, IPAddress: "2001:db8::7", DNSName: "host.test", CertificatePath: "/certs"}
		for range 2 {
			c, err := y.Computes.Register(y.Ctx, again)
			y.Must(err)
			if c.Address != (compute.Address{IPAddress: "2001:db8::7", DNSName: "host.test"}) || c.CertificatePath != "/certs" || !c.Registered.Equal(before.Registered) {
				y.Errorf("the compute is %+v", c)
			}
		}
		if moves := y.Recorded(event.ComputeMoved); len(moves) != 1 || !strings.Contains(moves[0].Message, "at 2001:db8::7 host.test, no longer at "+before.IPAddress) {
			y.Errorf("the events are %+v", moves)
		}
		y.want("p", compute.Active, "")
		y.Must(y.Computes.CheckToken(y.ref("q"), token, time.Now()))
	})
}

// A request that a client repeats because it was not answered changes nothing the second time.
func TestRepeats(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		same := func(name string, do func() error) {
			y.Helper()
			before := y.Store.View().Digest()
			y.Must(do())
			if y.Store.View().Digest() != before {
				y.Errorf("%s: the repetition changed the state", name)
			}
		}
		same("connect", func() error { return y.tryConnect("p") })
		same("ready", func() error { return y.Computes.Ready(y.Ctx, compute.ReadyInput{Ref: y.ref("p"), Port: 1000}) })
		same("hearing", func() error { return y.Computes.Hearing(y.Ctx, y.ref("p")) })
		y.Must(y.Computes.Disconnect(y.Ctx, y.ref("p")))
		wait.Settle(time.Second)
		same("disconnect", func() error { return y.Computes.Disconnect(y.Ctx, y.ref("p")) })
		y.Must(y.Computes.Unhealthy(y.Ctx, y.ref("p"), ""))
		wait.Settle(time.Second)
		same("unhealthy", func() error { return y.Computes.Unhealthy(y.Ctx, y.ref("p"), "") })
		y.Must(y.Computes.Exited(y.Ctx, y.ref("p"), ""))
		same("exited", func() error { return y.Computes.Exited(y.Ctx, y.ref("p"), "") })
		same("disconnect after the end", func() error { return y.Computes.Disconnect(y.Ctx, y.ref("p")) })
	})
}

// A process ends once: one event of each kind, one call of the packages above, and
// its sockets are dropped unless it closes them itself.
func TestEnd_HappensOnce(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		y.free("q")
		y.Must(y.Computes.Unhealthy(y.Ctx, y.ref("p"), "ill"))
		wait.Settle(10 * time.Minute)
		y.Must(y.Computes.Exited(y.Ctx, y.ref("p"), ""))
		if len(y.ended) != 1 || len(y.stopping) != 1 || y.links["p"].Dropped != 1 || len(y.links["p"].Terminates) != 1 {
			y.Errorf("ended %v, stopping %v, link %+v", y.ended, y.stopping, y.links["p"])
		}
		if y.count(event.ServerProcessUnhealthy, "p") != 1 || y.count(event.ServerProcessForceTerminated, "p") != 1 {
			y.Error("want each event of the end once")
		}
		y.Must(y.Computes.End(y.Ctx, y.ref("q")))
		if y.links["q"].Dropped != 0 {
			y.Error("the socket of a process that ended itself was dropped under it")
		}
	})
}
