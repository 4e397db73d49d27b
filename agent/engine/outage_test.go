package engine

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/hosts/protocol"
)

// With live-restore, containers survive the engine, and their group is followed again.
func TestOutage_GroupsSurviveWithLiveRestore(t *testing.T) {
	b := newBench(t, enginetest.Docker(t, "--live-restore"))
	r := b.start(t, b.group("0", []string{"game", "PUPPET_TERM=6", "PUPPET_PRINT=up"}))
	printed(t, r, "game", "up")
	other := b.start(t, b.group("1", []string{"game"}))
	b.daemon.Kill()
	select {
	case <-r.Ended():
		t.Fatalf("the group ended with the engine: %+v", r.End())
	default:
	}
	stopped := make(chan error, 1)
	go func() { stopped <- other.Stop(t.Context(), 0) }() // waits for the engine
	b.daemon.Start()
	if err := <-stopped; err != nil {
		t.Errorf("a stop during the outage: %v", err)
	}
	if all, err := b.engine.Find(t.Context()); err != nil || len(all) != 1 || all[0] != r || !r.Containers()[0].Running {
		t.Errorf("after the outage there are %v, %v", all, err)
	}
	if err := r.Terminate(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if end := ended(t, r); end.Code != 6 {
		t.Errorf("end: %+v", end)
	}
	stop(t, r)
	if n := b.left(t); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}

// Without it, the engine ends its containers when it starts again, and their groups have
// ended.
func TestOutage_EndsGroupsWithoutLiveRestore(t *testing.T) {
	b := newBench(t, enginetest.Docker(t))
	g := b.group("0", []string{"game", "PUPPET_PRINT=hello", "PUPPET_TERM=6"}, []string{"other"})
	r := b.start(t, g)
	printed(t, r, "game", "hello")
	b.daemon.Kill()
	b.daemon.Start()
	end := ended(t, r)
	if end.Container != "game" || end.Clean() || !strings.HasPrefix(strings.Join(end.Tail, ""), "hello") {
		t.Errorf("end: %+v", end)
	}
	if _, err := b.engine.Start(t.Context(), g); err != ErrRunning {
		t.Errorf("start before the old run is removed: %v", err)
	}
	if err := r.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop(t, b.start(t, g))
}

// With live-restore, a container that ends while dockerd starts leaves its ports to the next run of
// its group, at whichever instant it ends: there is one in which Docker forgets neither its
// network endpoint nor its ports.
func TestOutage_EndsWhileTheEngineStarts(t *testing.T) {
	endWhileStarting(t, enginetest.Docker(t, "--live-restore"), "Loading containers: start")
}

// With Podman, too, which keeps containers when its service dies.
func TestOutage_EndsWhilePodmanStarts(t *testing.T) { endWhileStarting(t, enginetest.Podman(t), "") }

// endWhileStarting ends a container at several instants after the engine, which was killed, has
// logged a text, and starts its group again each time.
func endWhileStarting(t *testing.T, d *enginetest.Daemon, text string) {
	b := newBench(t, d)
	g := b.group("0", []string{"game"})
	g.Containers[0].Ports = []protocol.Port{{Container: 7777, Host: 21777, Protocol: "UDP"}}
	for after := time.Duration(0); after <= 280*time.Millisecond; after += 40 * time.Millisecond {
		r := b.start(t, g)
		game, err := d.Client().ContainerInspect(t.Context(), r.Containers()[0].RuntimeID, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d.Kill()
		killed := d.OnLine(text, func() {
			time.Sleep(after)
			if p, err := os.FindProcess(game.Container.State.Pid); err == nil {
				_ = p.Kill()
			}
		})
		d.Start()
		<-killed
		ended(t, r)
		if err := r.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, b.start(t, g))
}
