package compute_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// Take returns the process that has been ready longest, in its location only.
func TestTake_LongestReadyFirst(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		for _, id := range []string{"c", "a", "b"} {
			y.free(id)
			wait.Settle(time.Second)
		}
		y.free("compute-2/q")
		for i, want := range []string{"c", "a", "b"} {
			if got, err := y.take(home, fmt.Sprint("session-", i)); got != want || err != nil {
				y.Errorf("take %d: got %q, %v; want %s", i, got, err, want)
			}
		}
		y.Refused("take where none is free", fault.FleetCapacityExceeded, func() error { _, err := y.take(home, "s"); return err })
		if got, err := y.take(away, "session-q"); got != "q" || err != nil {
			y.Errorf("got %q, %v", got, err)
		}
	})
}

// Only a process that is ACTIVE, connected, hearing and without a game session is taken.
func TestTake_FreeOnly(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.connect("initialized")
		y.connect("deaf")
		y.Must(y.Computes.Ready(y.Ctx, compute.ReadyInput{Ref: y.ref("deaf"), Port: 1}))
		y.free("lost")
		y.Must(y.Computes.Disconnect(y.Ctx, y.ref("lost")))
		y.free("ill")
		y.Must(y.Computes.Unhealthy(y.Ctx, y.ref("ill"), ""))
		y.free("over")
		y.Must(y.Computes.End(y.Ctx, y.ref("over")))
		y.Refused("take", fault.FleetCapacityExceeded, func() error { _, err := y.take(home, "s"); return err })
		freed := y.freed
		y.connect("lost")
		if y.freed == freed {
			y.Error("OnFree was not called for a process that came back")
		}
		if got, err := y.take(home, "s"); got != "lost" || err != nil {
			y.Errorf("got %q, %v", got, err)
		}
	})
}

// A token is valid for one registration of one compute.
func TestTokens(t *testing.T) {
	in(t, compute.Options{TokenLife: time.Hour}, func(y *yard) {
		at, err := y.Computes.Find(y.Store.View(), y.fleet.ID, first)
		y.Must(err)
		token, expires := y.Computes.IssueToken(at, time.Now())
		y.Must(y.Computes.CheckToken(y.ref("p"), token, time.Now()))
		y.connect("p")
		refuse := func(name string, ref compute.Ref, token string, now time.Time) {
			y.Helper()
			y.Refused(name, fault.Unauthorized, func() error { return y.Computes.CheckToken(ref, token, now) })
		}
		refuse("other compute", y.ref("compute-2/q"), token, time.Now())
		refuse("changed token", y.ref("p"), token[:len(token)-1]+"0x", time.Now())
		refuse("no token", y.ref("p"), "", time.Now())
		refuse("unknown compute", compute.Ref{FleetID: y.fleet.ID, ComputeName: "x", ProcessID: "p"}, token, time.Now())
		late := expires.Add(time.Second)
		refuse("ended token, new process", y.ref("new"), token, late)
		y.Must(y.Computes.CheckToken(y.ref("p"), token, late))
		y.Must(y.Computes.Deregister(y.Ctx, y.fleet.ID, first))
		wait.Settle(time.Second)
		y.register(first, home)
		refuse("token of an earlier registration", y.ref("p"), token, time.Now())
	})
}
