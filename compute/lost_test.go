package compute_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// lose opens a yard on a database that lost commits, with the processes that it still knows.
func lose(t *testing.T, known func(*yard), f func(*yard)) {
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		y := open(t, driver, compute.Options{})
		y.furnish()
		known(y)
		confirmed := y.Store.Confirmed() + 7
		y.close()
		z := openWith(t, celltest.Options{Driver: driver, Confirmed: confirmed})
		z.fleet = y.fleet
		_, err := z.Computes.Restart(z.Ctx)
		z.Must(err)
		f(z)
		z.close()
	})
}

// back connects a process of a host whose agent says what it hosts.
func (y *yard) back(id, hosts string) {
	y.Helper()
	y.links[id] = &celltest.Link{}
	_, err := y.Computes.Connect(y.Ctx, compute.ConnectInput{Ref: y.ref(id), Hosts: &hosts}, y.links[id])
	y.Must(err)
}

// After lost commits, a process gets a game session only once it is known to host none: its
// agent says so, or it becomes ready. One that is known to host one is not in doubt.
func TestLostCommits(t *testing.T) {
	lose(t, func(y *yard) {
		y.free("busy")
		if id, err := y.take(home, "known"); id != "busy" || err != nil {
			t.Fatalf("%s, %v", id, err)
		}
		for _, id := range []string{"silent", "idle", "playing"} {
			y.free(id)
		}
		y.connect("starting")
		y.connect("was-ready")
	}, func(z *yard) {
		if n := z.Computes.Doubtful(z.Store.View()); n != 5 {
			t.Errorf("%d processes are in doubt, want all but the one that is known to host a game session", n)
		}
		for _, id := range []string{"busy", "silent", "idle", "starting", "unknown"} {
			z.connect(id)
		}
		z.back("playing", "arn:lost")
		z.back("was-ready", "")
		z.want("was-ready", compute.Terminating, event.ProcessTerminating)
		if id, err := z.take(home, "next"); err == nil {
			t.Errorf("process %s is used, which may host a game session", id)
		}
		wait.Settle(ready + moment)
		z.want("starting", compute.Initialized, "") // it may be ready, and have players
		z.want("unknown", compute.Initialized, "")
		z.back("idle", "")
		if id, err := z.take(home, "next"); id != "idle" || err != nil {
			t.Errorf("process %s is used, %v; want the one that hosts none", id, err)
		}
		z.Must(z.Computes.Ready(z.Ctx, compute.ReadyInput{Ref: z.ref("starting"), Port: 1000}))
		z.Must(z.Computes.Hearing(z.Ctx, z.ref("starting")))
		if id, err := z.take(home, "after"); id != "starting" || err != nil {
			t.Errorf("process %s is used, %v; want the one that became ready", id, err)
		}
		if n := z.Computes.Doubtful(z.Store.View()); n != 3 {
			t.Errorf("%d processes are in doubt, want silent, playing and unknown", n)
		}
		z.free("new")
		if id, err := z.take(home, "last"); id != "new" || err != nil {
			t.Errorf("process %s is used, %v; want the new one", id, err)
		}
		told := z.Recorded(event.CommitsLost)
		if len(told) != 1 || !strings.Contains(told[0].Message, "5 game server processes") {
			t.Errorf("the events are %v", told)
		}
	})
}
