package compute_test

import (
	"strings"
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
		y.must(y.computes.Deregister(y.ctx, y.fleet.ID, first))
		y.want("p", compute.Terminated, event.ComputeDeregistered)
		l := y.links["p"]
		if len(l.terminates) != 1 || !l.terminates[0].Equal(time.Now().Add(ill)) || l.dropped != 0 {
			y.Errorf("told to end at %v, dropped %d times; want once, %s from now, and not dropped", l.terminates, l.dropped, ill)
		}
	})
}

// A process is unreachable only if its last socket was seen to close: after a restart
// of Muster nobody knows what became of the sockets.
func TestUnreachable(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		y.free("lost")
		y.free("stays")
		y.must(y.computes.Disconnect(y.ctx, y.ref("lost")))
		for _, when := range []string{"before", "after"} {
			lost, stays := y.process("lost"), y.process("stays")
			if !lost.Unreachable() || stays.Unreachable() {
				y.Errorf("%s a restart: lost %t, stays %t", when, lost.Unreachable(), stays.Unreachable())
			}
			_, err := y.computes.Restart(y.ctx)
			y.must(err)
		}
		y.connect("lost")
		if p := y.process("lost"); p.Unreachable() || !p.Away.IsZero() {
			y.Errorf("back, and still away since %v", p.Away)
		}
	})
}

// A program that runs on an instance and does not connect is reported after 10 s,
// once for each instance that never had a process.
func TestHint_NeverConnected(t *testing.T) {
	in(t, compute.Options{}, func(y *yard) {
		f := y.managed("")
		h := y.host()
		i := y.assigned(h)[0].InstanceID
		y.report(h, compute.InstanceReport{InstanceID: i, Phase: compute.Activating, Processes: []compute.ProcessReport{
			{ID: "p", Started: time.Now()}, {ID: "q", Started: time.Now()},
		}})
		pass(compute.InitHint - moment)
		if _, texts := y.told(f); strings.Contains(texts, "InitSDK") {
			y.Errorf("told too early:\n%s", texts)
		}
		pass(moment)
		if _, texts := y.told(f); strings.Count(texts, "has not called InitSDK") != 1 || !strings.Contains(texts, "--no-sdk") {
			y.Errorf("want one hint with the remedy:\n%s", texts)
		}
		y.run(h, i, "r")
		y.report(h, compute.InstanceReport{InstanceID: i, Phase: compute.Activating, Processes: []compute.ProcessReport{{ID: "s", Started: time.Now()}}})
		pass(2 * compute.InitHint)
		if _, texts := y.told(f); strings.Count(texts, "has not called InitSDK") != 1 {
			y.Errorf("an instance that had a process is hinted at:\n%s", texts)
		}
	})
}
