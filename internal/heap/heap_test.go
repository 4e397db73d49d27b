package heap

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	p := pace{every: time.Second, headroom: 64 << 20, percent: normal}
	after := func(d time.Duration, live uint64) {
		now = now.Add(d)
		p.collected(now, live, p.allocated+live)
	}
	expect := func(what string, percent int, busy bool) {
		t.Helper()
		if p.percent != percent || p.busy != busy {
			t.Errorf("%s: percent %d, busy %v, want %d, %v", what, p.percent, p.busy, percent, busy)
		}
	}
	after(0, 8<<20)
	after(2*time.Minute, 8<<20)
	expect("collections far apart", normal, false)
	after(300*time.Millisecond, 8<<20)
	expect("the second within a second", most, true)
	after(2*time.Second, 30<<20)
	expect("while busy, collections are further apart", 213, true)
	after(2*time.Second, 30<<20+100)
	expect("as before", 213, true)
	after(2*time.Second, 40<<20)
	expect("the heap has grown", 160, true)
	after(2*time.Second, 128<<20)
	expect("a large heap", normal, true)
	after(2*time.Second, 0)
	expect("the smallest heap", most, true)
	after(2*time.Second, 32<<20)
	expect("small again", 200, true)
	for range idle - 1 {
		p.look(p.allocated + little)
	}
	p.look(p.allocated + little + 1)
	for range idle - 1 {
		p.look(p.allocated)
	}
	expect("not idle for long enough", 200, true)
	p.look(p.allocated)
	expect("idle", normal, false)
	after(10*time.Second, 16<<20)
	expect("a collection of an idle server", normal, false)
	after(300*time.Millisecond, 16<<20)
	expect("busy again", most, true)
	after(10*time.Second, 16<<20)
	expect("collections are far apart although something is allocated", normal, false)
}

// What a burst has left is collected once it is over, if it is much.
func TestPace_Lull(t *testing.T) {
	t.Parallel()
	p := pace{every: time.Second, headroom: 64 << 20, percent: normal}
	p.collected(time.Unix(1_700_000_000, 0), 8<<20, 100<<20)
	expect := func(what string, allocates, rooted uint64, want bool) {
		t.Helper()
		if got := p.lull(rooted, p.allocated+allocates); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("nothing allocated", 0, 8<<20, false)
	expect("a little", far*little, 8<<20, false)
	expect("a burst that may go on", 40<<20, 8<<20, false)
	expect("less than a quarter of a large heap", 0, 240<<20, false)
	expect("the burst is over", 0, 8<<20, true)
	p.collected(time.Unix(1_700_000_100, 0), 8<<20, p.allocated)
	expect("collected since", 0, 8<<20, false)
}

//go:noinline
func deep(n int, there *sync.WaitGroup, until chan struct{}) byte {
	var stack [1024]byte
	stack[n] = 1
	if n == 0 {
		there.Done()
		<-until
		return stack[0]
	}
	return deep(n-1, there, until) + stack[n]
}

// The heap may grow by the headroom, whatever the goroutines' stacks are. It changes the
// collector of the whole process, so no other test may run at the same time.
func TestPace_Stacks(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(normal))
	keep := make([]byte, 12<<20)
	until := make(chan struct{})
	var all, there sync.WaitGroup
	there.Add(1000)
	for range 1000 {
		all.Go(func() { deep(14, &there, until) })
	}
	there.Wait()
	defer all.Wait()
	defer close(until)
	runtime.GC()
	rooted, allocated := figures()
	p := pace{every: time.Second, headroom: 32 << 20, percent: normal, busy: true, last: time.Now()}
	p.collected(time.Now(), rooted, allocated)
	debug.SetGCPercent(p.percent)
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(goal)
	growth := goal[0].Value.Uint64() - goal[1].Value.Uint64()
	if most := max(p.headroom, rooted) + 4<<20; growth > most {
		t.Errorf("at %d %% the heap may grow by %d bytes, want at most %d", p.percent, growth, most)
	}
	runtime.KeepAlive(keep)
}

func TestHeadroom(t *testing.T) {
	t.Parallel()
	for memory, want := range map[uint64]uint64{64 << 20: 8 << 20, 256 << 20: 32 << 20, 1 << 30: 64 << 20, 64 << 30: 256 << 20} {
		if got := headroom(memory); got != want {
			t.Errorf("headroom of %d: %d, want %d", memory, got, want)
		}
	}
}

// The least limit of a control group and of those above it counts, if it is below what the
// machine has.
func TestMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"nothing known":     {nil, 1 << 30},
		"no limit":          {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 2 << 30},
		"a container":       {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "67108864\n"}, 64 << 20},
		"a service":         {map[string]string{"proc/self/cgroup": "0::/system.slice/muster.service\n", "sys/fs/cgroup/system.slice/muster.service/memory.max": "268435456\n", "sys/fs/cgroup/system.slice/memory.max": "max\n"}, 256 << 20},
		"no number":         {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "-1"}, 2 << 30},
		"an empty file":     {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": ""}, 2 << 30},
		"a slice above":     {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "134217728\n"}, 128 << 20},
		"version 1":         {map[string]string{"proc/self/cgroup": "5:cpu,memory:/a\n4:pids:/b\n0::/c\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "134217728\n"}, 128 << 20},
		"version 1, at all": {map[string]string{"proc/self/cgroup": "5:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 2 << 30},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if c.files != nil {
			root["proc/meminfo"] = &fstest.MapFile{Data: []byte("MemTotal:  2097152 kB\nMemFree: 1 kB\n")}
		}
		if got := memory(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

var sink []byte

// It changes the collector of the whole process, so no other test may run at the same time.
func TestCollector(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set, released, ended := make(chan int, 8), make(chan struct{}, 8), make(chan struct{})
	c := collector{
		pace: pace{every: 10 * time.Millisecond, headroom: 32 << 20, percent: normal},
		set: func(percent int) {
			debug.SetGCPercent(percent)
			set <- percent
		},
		release: func() {
			debug.FreeOSMemory()
			released <- struct{}{}
		},
	}
	go func() {
		defer close(ended)
		c.run(ctx)
	}()
	for busy := false; !busy; { // many collections, one soon after the other
		sink = make([]byte, 1<<20)
		select {
		case percent := <-set:
			busy = percent > normal
		default:
			runtime.Gosched()
		}
	}
	sink = nil
	for percent := 0; percent != normal; {
		percent = <-set
	}
	<-released
	cancel()
	<-ended
	if percent := <-set; percent != normal {
		t.Errorf("at the end the percentage is set to %d, want %d", percent, normal)
	}
}

// What was allocated before the first collection is free soon after. It frees memory of the
// whole process, so no other test may run at the same time.
func TestCollector_Burst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink = make([]byte, 2*burst)
	sink = nil
	released, ended := make(chan struct{}), make(chan struct{})
	c := collector{
		pace: pace{every: time.Millisecond, headroom: 32 << 20, percent: normal},
		set:  func(int) {}, release: func() {
			select {
			case released <- struct{}{}:
			case <-ctx.Done():
			}
		},
	}
	go func() {
		defer close(ended)
		c.run(ctx)
	}()
	<-released
	cancel()
	<-ended
}
