package heap

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
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
}

func TestPace_SmallestHeap(t *testing.T) {
	t.Parallel()
	p := pace{headroom: 64 << 20, percent: normal, busy: true}
	p.collected(time.Now(), 0, 0)
	if p.percent != most {
		t.Errorf("percent %d, want %d", p.percent, most)
	}
}

func TestHeadroom(t *testing.T) {
	t.Parallel()
	for memory, want := range map[uint64]uint64{256 << 20: 32 << 20, 1 << 30: 64 << 20, 64 << 30: 256 << 20} {
		if got := headroom(memory); got != want {
			t.Errorf("headroom of %d: %d, want %d", memory, got, want)
		}
	}
}

func TestAmount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"": 0, "max\n": 0, "536870912\n": 512 << 20, "MemTotal:       16384 kB\nMemFree: 1 kB\n": 16 << 20, "-1": 0,
	} {
		if got := amount([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

var sink []byte

// It changes the collector of the whole process, so no other test may run meanwhile.
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
