package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/hosts/protocol"
)

func stop(t testing.TB, r *Running) {
	t.Helper()
	if err := r.Stop(t.Context(), 0); err != nil {
		t.Fatalf("stop: %v", err)
	}
}

// report returns what a container says that it is allowed.
func report(t *testing.T, r *Running, name string) (report struct {
	UID                                  int
	Capabilities, NoNew, RootErr, TmpErr string
	Files                                map[string]string
}) {
	t.Helper()
	var out strings.Builder
	for out.Len() == 0 {
		if err := r.Logs(t.Context(), name, &out); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	return report
}

// printed waits until a container has written a line.
func printed(t *testing.T, r *Running, name, line string) {
	t.Helper()
	for {
		var out strings.Builder
		if err := r.Logs(t.Context(), name, &out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), line+"\n") {
			return
		}
	}
}

func testMayDoLittle(t *testing.T, b *bench) {
	g := b.group("0", []string{"game", "PUPPET_REPORT=1"})
	g.Containers[0].Capabilities = []string{"NET_RAW", "CHOWN"}
	r := b.start(t, g)
	defer stop(t, r)
	got := report(t, r, "game")
	// CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, and NET_RAW
	want := fmt.Sprintf("%016x", 1<<0|1<<1|1<<3|1<<4|1<<5|1<<6|1<<7|1<<8|1<<10|1<<13)
	if got.Capabilities != want || got.NoNew != "1" || got.TmpErr != "" || !strings.Contains(got.RootErr, "read-only") {
		t.Errorf("%+v; capabilities should be %s", got, want)
	}
	found, err := b.daemon.Client().ContainerInspect(t.Context(), r.Containers()[0].RuntimeID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := found.Container.HostConfig
	if h.Memory != 256<<20 || h.NanoCPUs != 1e9 || h.PidsLimit == nil || *h.PidsLimit != 4096 {
		t.Errorf("memory %d, processors %d, processes %v", h.Memory, h.NanoCPUs, h.PidsLimit)
	}
	g.Group = "1"
	g.Containers[0].Capabilities = []string{"SYS_ADMIN"}
	if _, err := b.engine.Start(t.Context(), g); err == nil || !strings.Contains(err.Error(), "SYS_ADMIN") {
		t.Errorf("with SYS_ADMIN: %v", err)
	}
}

func testMounts(t *testing.T, b *bench) {
	allowed, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{allowed, other} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content of "+filepath.Base(dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, filepath.Join(allowed, "link")); err != nil {
		t.Fatal(err)
	}
	o := b.opts
	o.Mounts = []string{allowed}
	e := b.open(t, o)
	g := b.group("0", []string{"game", "PUPPET_REPORT=1", "PUPPET_READ=/data/file"})
	g.Containers[0].Mounts = []protocol.Mount{{Instance: allowed, Container: "/data"}}
	r, err := e.Start(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if got := report(t, r, "game"); got.Files["/data/file"] != "content of "+filepath.Base(allowed) {
		t.Errorf("the container reads %v", got.Files)
	}
	stop(t, r)
	for path, want := range map[string]string{
		other:                           "in no directory that its operator allows",
		filepath.Join(allowed, "link"):  "in no directory that its operator allows",
		filepath.Join(allowed, "../x"):  "in no directory that its operator allows",
		filepath.Join(allowed, "other"): "does not exist",
		"relative":                      "not an absolute path",
	} {
		g.Containers[0].Mounts[0].Instance = path
		if _, err := e.Start(t.Context(), g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mount of %s: %v", path, err)
		}
	}
	g.Containers[0].Mounts[0].Instance = allowed
	if _, err := b.engine.Start(t.Context(), g); err == nil || !strings.Contains(err.Error(), "allows no mounts") {
		t.Errorf("without directories for mounts: %v", err)
	}
}

// All essential containers wait here, so a container of its own owns the network, in which
// they find each other at localhost.
func testStartsInOrder(t *testing.T, b *bench) {
	port := freePort(t)
	g := b.group("0",
		[]string{"game", fmt.Sprintf("PUPPET_ASK=127.0.0.1:%d", port), "PUPPET_TERM=5"},
		[]string{"prepare", "PUPPET_PRINT=prepared", "PUPPET_EXIT=0"},
		[]string{"helper", fmt.Sprint("PUPPET_UDP=", port)})
	g.Containers[0].DependsOn = []protocol.Dependency{{Container: "prepare", Condition: onSuccess}, {Container: "helper", Condition: onStart}}
	g.Containers[2].DependsOn = []protocol.Dependency{{Container: "prepare", Condition: onComplete}}
	r := b.start(t, g)
	printed(t, r, "game", "answer hello")
	names := ""
	for _, c := range r.Containers() {
		names += fmt.Sprint(c.Name, " ", c.Running, " ")
	}
	if names != "prepare false helper true game true " {
		t.Errorf("containers: %s", names)
	}
	if err := r.Terminate(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if end := ended(t, r); end.Container != "game" || end.Code != 5 {
		t.Errorf("end: %+v", end)
	}
	stop(t, r)
}

func testDependencyFails(t *testing.T, b *bench) {
	g := b.group("0", []string{"game"}, []string{"prepare", "PUPPET_PRINT=no data", "PUPPET_EXIT=7"})
	g.Containers[0].DependsOn = []protocol.Dependency{{Container: "prepare", Condition: onSuccess}}
	_, err := b.engine.Start(t.Context(), g)
	var failed *StartError
	if !errors.As(err, &failed) || failed.Container != "prepare" || failed.End == nil || failed.End.Code != 7 || len(failed.End.Tail) != 1 || failed.End.Tail[0] != "no data" {
		t.Errorf("%v: %+v", err, failed)
	}
}

func check(every time.Duration) *protocol.ContainerHealth {
	return &protocol.ContainerHealth{Command: []string{"CMD", "/puppet", "check"}, Interval: every, Timeout: 5 * time.Second, Retries: 1}
}

func testHealthCheck(t *testing.T, b *bench) {
	g := b.group("0", []string{"game"}, []string{"well"})
	g.Containers[0].DependsOn = []protocol.Dependency{{Container: "well", Condition: onHealthy}}
	g.Containers[1].Health = check(time.Second)
	stop(t, b.start(t, g))

	g = b.group("0", []string{"game"}, []string{"ill", "PUPPET_SICK=1"})
	g.Containers[1].Health, g.Containers[1].Essential = check(time.Second), true
	r := b.start(t, g)
	if end := ended(t, r); end.Container != "ill" || !end.Unhealthy || end.Clean() {
		t.Errorf("end: %+v", end)
	}
	stop(t, r)
}

func testHealthNeverComes(t *testing.T, b *bench) {
	g := b.group("0", []string{"game"}, []string{"ill", "PUPPET_SICK=1"})
	g.Containers[0].DependsOn = []protocol.Dependency{{Container: "ill", Condition: onHealthy}}
	g.Containers[1].Health = check(time.Second)
	_, err := b.engine.Start(t.Context(), g)
	var failed *StartError
	if !errors.As(err, &failed) || failed.Container != "ill" || !strings.Contains(err.Error(), "health check failed") {
		t.Errorf("%v", err)
	}
	g.Containers[1].Health.Interval = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := b.engine.Start(ctx, g); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a deadline: %v", err)
	}
}

func testEnds(t *testing.T, b *bench) {
	for _, test := range []struct {
		name       string
		containers [][]string
		want       End
	}{
		{"clean", [][]string{{"game", "PUPPET_EXIT=0"}}, End{Container: "game", Known: true}},
		{"code", [][]string{{"game", "PUPPET_EXIT=42", "PUPPET_PRINT=bad"}, {"other"}}, End{Container: "game", Known: true, Code: 42, Tail: []string{"bad"}}},
		{"memory", [][]string{{"game", "PUPPET_EAT=400"}}, End{Container: "game", Known: true, Code: -1, Signal: "SIGKILL", OOM: true}},
		{"essential", [][]string{{"game"}, {"other", "PUPPET_EXIT=0"}}, End{Container: "other", Known: true}},
		{"without a game server", [][]string{{"beside", "PUPPET_EXIT=3"}}, End{Container: "beside", Known: true, Code: 3}},
	} {
		g := b.group("0", test.containers...)
		switch test.name {
		case "essential":
			g.Containers[1].Essential = true
		case "without a game server": // as in a per-instance group
			g.Containers[0].Game, g.Containers[0].Essential = false, true
		}
		// A container may end before the others are started.
		r, err := b.engine.Start(t.Context(), g)
		var failed *StartError
		var end End
		switch {
		case err == nil:
			end = ended(t, r)
			stop(t, r)
		case errors.As(err, &failed) && failed.End != nil:
			end = *failed.End
		default:
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if end.At.IsZero() {
			t.Errorf("%s: it is not known when it ended", test.name)
		}
		end.At = time.Time{}
		if b.engine.facts.Name == "podman" {
			end.OOM = end.OOM || test.want.OOM  // its monitor sees that with control groups of version 2 only
			end.Tail = slices.Compact(end.Tail) // a last line that it is writing meanwhile may come twice
		}
		if fmt.Sprint(end, end.Tail) != fmt.Sprint(test.want, test.want.Tail) || end.OOM != test.want.OOM || end.Code != test.want.Code {
			t.Errorf("%s: %v %q, want %v %q", test.name, end, end.Tail, test.want, test.want.Tail)
		}
	}
	// The end of a support container ends nothing.
	r := b.start(t, b.group("0", []string{"game"}, []string{"other", "PUPPET_EXIT=1"}))
	for r.Containers()[1].Running {
		if err := r.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-r.Ended():
		t.Errorf("the group ended: %+v", r.End())
	default:
	}
	stop(t, r)
}

func testIsKilledAfterGrace(t *testing.T, b *bench) {
	r := b.start(t, b.group("0", []string{"game", "PUPPET_TERM=ignore", "PUPPET_PRINT=up"}, []string{"other", "PUPPET_TERM=0"}))
	printed(t, r, "game", "up")
	if err := r.Stop(t.Context(), 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if end := ended(t, r); end.Container != "other" && end.Container != "game" || end.Container == "game" && end.Signal != "SIGKILL" {
		t.Errorf("end: %+v", end)
	}
	// A shorter grace replaces a longer one.
	r = b.start(t, b.group("0", []string{"game", "PUPPET_TERM=ignore", "PUPPET_PRINT=up"}))
	printed(t, r, "game", "up")
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() { waiting <- r.Stop(ctx, time.Hour) }()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled stop: %v", err)
	}
	stop(t, r)
}

func testFailedStart(t *testing.T, b *bench) {
	image := enginetest.Puppet(t)
	image.Entrypoint = []string{"/missing"}
	broken := b.registry.Push(t, "broken", image)
	if err := b.engine.Pull(t.Context(), broken, nil); err != nil {
		t.Fatal(err)
	}
	g := b.group("0", []string{"game"}, []string{"broken"})
	g.Containers[1].Image = broken
	_, err := b.engine.Start(t.Context(), g)
	var failed *StartError
	if !errors.As(err, &failed) || failed.Container != "broken" {
		t.Errorf("a missing program: %v", err)
	}
	if n := b.left(t); n != 0 {
		t.Errorf("%d containers are left", n)
	}
	g.Containers[1].Image = b.registry.Host + "/never@sha256:" + strings.Repeat("0", 64)
	if _, err = b.engine.Start(t.Context(), g); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("a missing image: %v", err)
	}
	if b.daemon.Network == HostNetwork {
		return
	}
	port := freePort(t)
	first := b.group("1", []string{"game"})
	first.Containers[0].Ports = []protocol.Port{{Container: 7777, Host: port, Protocol: "UDP"}}
	second := b.group("2", []string{"game"})
	second.Containers[0].Ports = first.Containers[0].Ports
	r := b.start(t, first)
	if _, err := b.engine.Start(t.Context(), second); err == nil {
		t.Error("two groups have the same port")
	}
	stop(t, r)
}

func testIsFoundAgain(t *testing.T, b *bench) {
	first := b.open(t, b.opts)
	g := b.group("0", []string{"game", "PUPPET_TERM=4", "PUPPET_PRINT=up"}, []string{"other", "PUPPET_EXIT=0"})
	r, err := first.Start(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	printed(t, r, "game", "up")
	ends, err := first.Start(t.Context(), b.group("1", []string{"game", "PUPPET_EXIT=9"}))
	if err != nil {
		t.Fatal(err)
	}
	ended(t, ends)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// An agent of another host sees none of them.
	o := b.opts
	o.Owner.HostID = "host-2"
	if all, err := b.open(t, o).Find(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("another owner finds %d groups, %v", len(all), err)
	}
	next := b.open(t, b.opts)
	if _, err := next.Start(t.Context(), g); !errors.Is(err, ErrRunning) {
		t.Errorf("start of a group that runs: %v", err)
	}
	all, err := next.Find(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("found %d groups, %v", len(all), err)
	}
	if got := all[0].Group(); got != r.Group() || got.ProcessID != "p-1" || got.Started.IsZero() {
		t.Errorf("found %+v, want %+v", got, r.Group())
	}
	again, err := next.Find(t.Context())
	if err != nil || len(again) != 2 || again[0] != all[0] {
		t.Errorf("found again: %v, %v", again, err)
	}
	if end := ended(t, all[1]); end.Code != 9 {
		t.Errorf("the end of the other: %+v", end)
	}
	if got, want := fmt.Sprint(all[0].Containers()[0].RuntimeID), r.Containers()[0].RuntimeID; got != want {
		t.Errorf("container %s, want %s", got, want)
	}
	if err := all[0].Terminate(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if end := ended(t, all[0]); end.Code != 4 {
		t.Errorf("end: %+v", end)
	}
	stop(t, all[0])
	stop(t, all[1])
}

// The agent dies while a container waits for another.
func testHalfStarted(t *testing.T, b *bench) {
	first := b.open(t, b.opts)
	g := b.group("0", []string{"game"}, []string{"forever"})
	g.Containers[0].DependsOn = []protocol.Dependency{{Container: "forever", Condition: onComplete}}
	wanted, err := first.machine.describe(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.needPauseFor(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	r := newRunning(first, g.Labels)
	if err := r.create(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.all()[:len(wanted)-1] {
		if _, err := first.api.ContainerStart(t.Context(), m.id, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_ = first.Close()
	next := b.open(t, b.opts)
	if all, err := next.Find(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("found %v, %v", all, err)
	}
	if n := b.left(t); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}

func testRemovedByOthers(t *testing.T, b *bench) {
	r := b.start(t, b.group("0", []string{"game"}))
	id := r.Containers()[0].RuntimeID
	if _, err := b.daemon.Client().ContainerRemove(t.Context(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	// Whether its end is seen before its removal is a matter of time.
	if end := ended(t, r); end.Container != "game" || end.Known && end.Signal != "SIGKILL" {
		t.Errorf("end: %+v", end)
	}
	stop(t, r)
}

func testConcurrentStarts(t *testing.T, b *bench) {
	other := b.open(t, b.opts) // as if a former agent still ran
	var mu sync.Mutex
	var won []*Running
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			e := []*Engine{b.engine, other}[i%2]
			r, err := e.Start(t.Context(), b.group("0", []string{"game"}))
			if err != nil {
				return // what counts is what runs
			}
			mu.Lock()
			defer mu.Unlock()
			won = append(won, r)
		})
	}
	group.Wait()
	if len(won) > 1 {
		t.Errorf("the group was started %d times", len(won))
	}
	if n := b.left(t); n != len(won) {
		t.Errorf("%d containers of %d groups", n, len(won))
	}
	for _, r := range won {
		stop(t, r)
	}
}

func testPullErrors(t *testing.T, b *bench) {
	other := enginetest.Puppet(t)
	other.Architecture = map[bool]string{true: "amd64", false: "s390x"}[b.engine.arch == "s390x"]
	locked := b.registry.Locked(t, "name", "secret")
	hidden := enginetest.Puppet(t)
	hidden.Env = []string{"HIDDEN=1"} // Podman takes the same content from anywhere
	secret := locked.Host + strings.TrimPrefix(b.registry.Push(t, "hidden", hidden), b.registry.Host)
	zeros := "@sha256:" + strings.Repeat("0", 64)
	for _, test := range []struct {
		name, image string
		want        Reason
	}{
		{"no such digest", b.registry.Host + "/puppet" + zeros, ReasonName},
		{"no such repository", b.registry.Host + "/nobody" + zeros, ReasonName},
		{"not a name", "NOT A NAME", ReasonName},
		{"for another machine", b.registry.Push(t, "foreign", other), ReasonArchitecture},
		{"index without this machine", b.registry.PushIndex(t, "index", "s390x", b.registry.Push(t, "index", other)), ReasonArchitecture},
		{"nobody listens", fmt.Sprintf("127.0.0.1:%d/game%s", freePort(t), zeros), ReasonUnreachable},
		{"no such host", "registry.invalid/game" + zeros, ReasonUnreachable},
		{"login needed", secret, ReasonAuth},
	} {
		err := b.engine.Pull(t.Context(), test.image, nil)
		var failed *PullError
		if !errors.As(err, &failed) || failed.Reason != test.want {
			t.Errorf("%s: %v", test.name, err)
		} else {
			t.Logf("%s: %v", test.name, err)
		}
	}
	o := b.opts
	o.Credentials = filepath.Join(t.TempDir(), "config.json")
	for _, password := range []string{"wrong", "secret"} {
		want := map[string]Reason{"wrong": ReasonAuth}[password]
		content := fmt.Sprintf(`{"auths":{%q:{"username":"name","password":%q}}}`, locked.Host, password)
		if err := os.WriteFile(o.Credentials, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := b.open(t, o).Pull(t.Context(), secret, nil)
		var failed *PullError
		errors.As(err, &failed)
		if (err == nil) != (want == "") || err != nil && (failed == nil || failed.Reason != want) {
			t.Errorf("login with %s: %v", password, err)
		}
	}
}

func testPullIsOne(t *testing.T, b *bench) {
	image := enginetest.Puppet(t)
	image.Env = []string{"DIFFERENT=1"}
	ref := b.registry.Push(t, "many", image)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			last := -1
			err := b.engine.Pull(t.Context(), ref, func(percent int) {
				if percent <= last {
					t.Errorf("%d percent after %d", percent, last)
				}
				last = percent
			})
			if err != nil || last != 100 {
				t.Errorf("%d percent, %v", last, err)
			}
		})
	}
	group.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.engine.Pull(ctx, b.registry.Host+"/slow@sha256:"+strings.Repeat("1", 64), nil); !errors.Is(err, context.Canceled) {
		var failed *PullError // the registry may be faster
		if !errors.As(err, &failed) {
			t.Errorf("canceled: %v", err)
		}
	}
}

func testCollect(t *testing.T, b *bench) {
	o := b.opts
	o.Owner.HostID = "collects"
	e := b.open(t, o)
	pull := func(name string) string {
		image := enginetest.Puppet(t)
		image.Env = []string{"COLLECT=" + name}
		ref := b.registry.Push(t, name, image)
		if err := e.Pull(t.Context(), ref, nil); err != nil {
			t.Fatal(err)
		}
		return ref
	}
	used, unused, named := pull("used"), pull("unused"), pull("named")
	if _, err := b.daemon.Client().ImageTag(t.Context(), client.ImageTagOptions{Source: named, Target: "localhost/mine:1"}); err != nil {
		t.Fatal(err)
	}
	g := b.group("0", []string{"game"})
	g.Containers[0].Image = used
	r, err := e.Start(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, r)
	if n, err := e.Collect(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("removed %d images that are new, %v", n, err)
	}
	if n, err := b.open(t, o).Collect(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("removed %d images right after the start of an agent, %v", n, err)
	}
	if n, err := e.Collect(t.Context(), 0); n != 1 || err != nil {
		t.Errorf("removed %d images, %v", n, err)
	}
	for ref, want := range map[string]bool{used: true, unused: false, named: true, b.image: true} {
		if there, err := e.hasImage(t.Context(), ref); there != want || err != nil {
			t.Errorf("%s is there: %v, %v", ref, there, err)
		}
	}
	if n, err := e.Collect(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("removed %d images again, %v", n, err)
	}
}
