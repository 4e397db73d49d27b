package engine

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// bench is an engine with a registry that has the puppet.
type bench struct {
	daemon   *enginetest.Daemon
	registry *enginetest.Registry
	engine   *Engine
	image    string
	opts     Options
}

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestDocker(t *testing.T) { runAll(t, newBench(t, enginetest.Docker(t))) }

func TestPodman(t *testing.T) { runAll(t, newBench(t, enginetest.Podman(t))) }

// What the network matters for.
func TestPodman_HostNetwork(t *testing.T) {
	run(t, newBench(t, enginetest.PodmanOnHost(t)), func(name string) bool {
		return slices.Contains([]string{"RunsAndIsStopped", "StartsInOrder", "Ends", "NothingIsLeftOfAFailedStart", "IsFoundAgain"}, name)
	})
}

// runAll runs what both engines must do.
func runAll(t *testing.T, b *bench) { run(t, b, func(string) bool { return true }) }

// run runs those tests that are wanted. Nothing may be left after each.
func run(t *testing.T, b *bench, wanted func(name string) bool) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, b *bench)
	}{
		{"RunsAndIsStopped", testRunsAndIsStopped},
		{"MayDoLittle", testMayDoLittle},
		{"MountsWhatIsAllowed", testMounts},
		{"StartsInOrder", testStartsInOrder},
		{"DependencyFails", testDependencyFails},
		{"HealthCheck", testHealthCheck},
		{"HealthNeverComes", testHealthNeverComes},
		{"Ends", testEnds},
		{"IsKilledAfterGrace", testIsKilledAfterGrace},
		{"NothingIsLeftOfAFailedStart", testFailedStart},
		{"IsFoundAgain", testIsFoundAgain},
		{"HalfStartedIsRemoved", testHalfStarted},
		{"RemovedByOthers", testRemovedByOthers},
		{"ConcurrentStarts", testConcurrentStarts},
		{"PullErrors", testPullErrors},
		{"PullIsOne", testPullIsOne},
		{"ImagesAreCollected", testCollect},
	} {
		if !wanted(test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			test.run(t, b)
			if n := b.left(t); n != 0 {
				t.Errorf("%d containers are left", n)
			}
		})
	}
}

func newBench(t testing.TB, d *enginetest.Daemon) *bench {
	t.Helper()
	b := &bench{daemon: d, registry: enginetest.NewRegistry(t)}
	b.image = b.registry.Push(t, "puppet", enginetest.Puppet(t))
	b.opts = Options{Host: d.Host, Owner: Owner{"cell", "host-1"}, Network: d.Network}
	b.engine = b.open(t, b.opts)
	if err := b.engine.Pull(t.Context(), b.image, nil); err != nil {
		t.Fatalf("pull: %v", err)
	}
	return b
}

func (b *bench) open(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// group returns a group of puppets: their names, and what they do as NAME=VALUE pairs. The
// first runs the game server.
func (b *bench) group(name string, containers ...[]string) Group {
	g := Group{Labels: Labels{Instance: "i-1", Group: name, Definition: "arn:definition", ProcessID: "p-1"}, MemoryMiB: 256, CPUMillis: 1000}
	for i, one := range containers {
		c := protocol.Container{Name: one[0], Image: b.image, Game: i == 0}
		for _, pair := range one[1:] {
			name, value, _ := strings.Cut(pair, "=")
			c.Environment = append(c.Environment, protocol.Variable{Name: name, Value: value})
		}
		g.Containers = append(g.Containers, c)
	}
	return g
}

func (b *bench) start(t testing.TB, g Group) *Running {
	t.Helper()
	r, err := b.engine.Start(t.Context(), g)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return r
}

// ended waits for the end of a group.
func ended(t *testing.T, r *Running) End {
	t.Helper()
	wait.For(t, "the group has ended", func() error {
		select {
		case <-r.Ended():
			return nil
		default:
			return fmt.Errorf("its containers are %+v", r.Containers())
		}
	})
	return r.End()
}

// left returns the containers of the engine.
func (b *bench) left(t *testing.T) int {
	t.Helper()
	list, err := b.daemon.Client().ContainerList(t.Context(), listAll)
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// freePort returns a free UDP port of the host.
func freePort(t *testing.T) int {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// echo waits until something answers at a UDP port of the host.
func echo(t *testing.T, port int) {
	t.Helper()
	conn, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 16)
	wait.For(t, fmt.Sprintf("port %d answers", port), func() error { // nobody says when a port is open
		_, _ = conn.Write([]byte("hello"))
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := conn.Read(answer)
		if err == nil && string(answer[:n]) != "hello" {
			err = fmt.Errorf("the answer is %q", answer[:n])
		}
		return err
	})
}

func testRunsAndIsStopped(t *testing.T, b *bench) {
	port := freePort(t)
	inside := 7777
	if b.daemon.Network == HostNetwork {
		inside = port
	}
	g := b.group("0", []string{"game", fmt.Sprint("PUPPET_UDP=", inside), "PUPPET_TERM=3", "PUPPET_PRINT=ready"})
	g.Containers[0].Ports = []protocol.Port{{Container: inside, Host: port, Protocol: "UDP"}}
	r := b.start(t, g)
	echo(t, port)
	if _, err := b.engine.Start(t.Context(), g); err != ErrRunning {
		t.Errorf("start again: %v", err)
	}
	if err := r.Terminate(t.Context(), 30*time.Second); err != nil {
		t.Fatalf("terminate: %v", err)
	}
	end := ended(t, r)
	if end.Container != "game" || end.Code != 3 || !end.Known || end.Signal != "" || end.At.IsZero() {
		t.Errorf("end: %+v", end)
	}
	if text := strings.Join(end.Tail, "\n"); text != "ready\nterminating" {
		t.Errorf("tail: %q", text)
	}
	var out strings.Builder
	if err := r.Logs(context.Background(), "game", &out); err != nil || out.String() != "ready\nterminating\n" {
		t.Errorf("logs: %q, %v", out.String(), err)
	}
	if err := r.Stop(t.Context(), time.Second); err != nil {
		t.Fatalf("stop: %v", err)
	}
	if all, err := b.engine.Find(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("found %v, %v", all, err)
	}
}

// BenchmarkStart_Docker starts a group of one container and stops it: only the start, until
// its program runs, is measured.
func BenchmarkStart_Docker(b *testing.B) {
	bench := newBench(b, enginetest.Docker(b))
	for b.Loop() {
		r := bench.start(b, bench.group("0", []string{"game"}))
		b.StopTimer()
		if err := r.Stop(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
