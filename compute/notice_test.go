package compute_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
)

// A process whose compute is deregistered counts as ended immediately, and is told to
// end before its sockets are closed.
func TestDeregister_TellsToEnd(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("p")
		y.Must(y.Computes.Deregister(y.Ctx, y.fleet.ID, first))
		y.want("p", compute.Terminated, event.ComputeDeregistered)
		l := y.links["p"]
		if len(l.Terminates) != 1 || !l.Terminates[0].Equal(time.Now().Add(ill)) || l.Dropped != 0 {
			y.Errorf("told to end at %v, dropped %d times; want once, %s from now, and not dropped", l.Terminates, l.Dropped, ill)
		}
	})
}

// A process is unreachable only if its last socket was seen to close: after a restart
// of Muster, the end of the previous sockets was not seen.
func TestUnreachable(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("lost")
		y.free("stays")
		y.Must(y.Computes.Disconnect(y.Ctx, y.ref("lost")))
		for _, when := range []string{"before", "after"} {
			lost, stays := y.process("lost"), y.process("stays")
			if !lost.Unreachable() || stays.Unreachable() {
				y.Errorf("%s a restart: lost %t, stays %t", when, lost.Unreachable(), stays.Unreachable())
			}
			_, err := y.Computes.Restart(y.Ctx)
			y.Must(err)
		}
		y.connect("lost")
		if p := y.process("lost"); p.Unreachable() || !p.Away.IsZero() {
			y.Errorf("back, and still away since %v", p.Away)
		}
	})
}
