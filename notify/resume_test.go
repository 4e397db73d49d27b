package notify_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

// A node that drains keeps its cursor, and the next one continues exactly there.
func TestResume_AfterStop(t *testing.T) {
	box := &inbox{answer: func(received) int { wait.Pass(100 * time.Millisecond); return 0 }}
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		o := notify.Options{Sinks: []notify.SinkConfig{webhook("a")}, Transport: inProcess{box}}
		first := newHouse(t, driver, o)
		first.say(placements(50)...)
		wait.Pass(1250 * time.Millisecond) // in the middle of a batch, and of a delivery
		first.close()
		wait.Pass(time.Second)
		before := len(box.taken())

		second := newHouse(t, driver, o)
		defer second.close()
		wait.Settle(time.Minute)
		got := ids(t, box.taken())
		if before == 0 || before >= 50 {
			t.Fatalf("%d deliveries before the stop: the test stops too late or too early", before)
		}
		// The delivery that was cut off may have arrived, so it is repeated.
		want := append(names(before), names(50)[before-1:]...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("delivered over the stop (-want +got):\n%s", diff)
		}
	})
}

// A node that loses the cell between a delivery and the move of its cursor has notified
// the receiver. The next node notifies it again, and nothing is left out.
func TestResume_CrashBeforeCursor(t *testing.T) {
	box := &inbox{}
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		o := notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}
		var taken atomic.Bool
		var second *house
		crash := &inbox{}
		crash.answer = func(received) int {
			if len(crash.seen()) == 29 && taken.CompareAndSwap(false, true) {
				o.Transport = inProcess{box}
				second = newHouse(t, driver, o) // takes the fence: the first's writes are refused
			}
			return 0
		}
		o.Transport = inProcess{crash}
		first := newHouse(t, driver, o)
		first.say(placements(60)...)
		wait.Settle(10 * time.Second)
		if !taken.Load() {
			t.Fatal("the crash never happened")
		}
		defer second.close()
		if n := len(crash.taken()); n < 30 {
			t.Fatalf("the first node delivered %d notices before it lost the cell", n)
		}
		if diff := cmp.Diff(names(60), ids(t, box.taken())); diff != "" {
			t.Errorf("the second node delivered (-want +got):\n%s", diff)
		}
		first.stop()
		first.st.Close() // returns an error, since it lost the cell
	})
}

func TestReplayFrom(t *testing.T) {
	box := &inbox{}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		h.say(placements(10)...)
		wait.Pass(time.Second)
		must(t, h.svc.ReplayFrom(t.Context(), "a", 8))
		wait.Pass(time.Second)
		must(t, h.svc.ReplayFrom(t.Context(), "a", 1000)) // past the end: delivers nothing
		wait.Pass(time.Second)
		h.say(placed("p-10", topic))
		wait.Pass(time.Second)
		must(t, h.svc.ReplayFrom(t.Context(), "a", 0))
		wait.Settle(time.Second)
		want := append(append(append(names(10), "p-7", "p-8", "p-9"), "p-10"), names(11)...)
		if diff := cmp.Diff(want, ids(t, box.taken())); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if err := h.svc.ReplayFrom(t.Context(), "nobody", 0); !fault.Is(err, fault.NotFound) {
			t.Errorf("replay of an unknown sink: %v, want NotFoundException", err)
		}
	})
}

// A replay does not wait for a receiver that hangs on an earlier delivery.
func TestReplayFrom_CutsOffABatch(t *testing.T) {
	var fixed atomic.Bool
	box := &inbox{answer: func(r received) int {
		if !fixed.Load() && strings.Contains(string(r.body), `"p-5"`) {
			return http.StatusInternalServerError
		}
		return 0
	}}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		h.say(placements(8)...)
		wait.Pass(2 * time.Minute) // p-5 fails; the next attempt is up to a minute away
		fixed.Store(true)
		must(t, h.svc.ReplayFrom(t.Context(), "a", 3))
		wait.Settle(time.Minute)
		want := append(names(5), names(8)[2:]...)
		if diff := cmp.Diff(want, ids(t, box.taken())); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

func TestRedeliver(t *testing.T) {
	var fixed atomic.Bool
	box := &inbox{answer: func(r received) int {
		odd := strings.Contains(string(r.body), `"p-1"`) || strings.Contains(string(r.body), `"p-3"`)
		if odd && !fixed.Load() {
			return http.StatusForbidden
		}
		return 0
	}}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		h.say(placements(4)...)
		wait.Pass(time.Minute)
		_, err := h.svc.Redeliver(t.Context(), "a", 2, 99)
		if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "99") {
			t.Errorf("redelivery of what is not dead: %v, want NotFoundException naming 99", err)
		}
		n, err := h.svc.Redeliver(t.Context(), "a")
		must(t, err)
		if n != 2 {
			t.Errorf("redelivers %d, want 2", n)
		}
		wait.Pass(time.Minute)
		dead, err := h.svc.DeadLetters("a", 0, 10)
		must(t, err)
		if len(dead) != 2 || dead[0].Attempts != 4 || dead[0].Again || dead[1].Attempts != 4 {
			t.Errorf("after a redelivery that was refused again: %+v, want two, with 4 attempts each", dead)
		}
		fixed.Store(true)
		if _, err = h.svc.Redeliver(t.Context(), "a", 4); err != nil {
			t.Fatal(err)
		}
		wait.Settle(time.Minute)
		dead, err = h.svc.DeadLetters("a", 0, 10)
		must(t, err)
		if len(dead) != 1 || dead[0].Seq != 2 {
			t.Errorf("dead letters %+v, want number 2 alone", dead)
		}
		if got := ids(t, box.taken()); !cmp.Equal(got, []string{"p-0", "p-2", "p-3"}) {
			t.Errorf("delivered %v, want p-3 last", got)
		}
	})
}

func TestDeadLetters_EndAfterTheirRetention(t *testing.T) {
	box := &inbox{answer: func(received) int { return http.StatusGone }}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		h.say(placements(3)...)
		wait.Settle(notify.DeadLetterRetention - time.Minute)
		if n := h.svc.Status()[0].DeadLetters; n != 3 {
			t.Errorf("%d dead letters before the end of their retention, want 3", n)
		}
		wait.Settle(2 * time.Hour)
		if n := h.svc.Status()[0].DeadLetters; n != 0 {
			t.Errorf("%d dead letters after their retention, want none", n)
		}
		if _, err := h.svc.DeadLetters("b", 0, 1); !fault.Is(err, fault.NotFound) {
			t.Errorf("dead letters of an unknown sink: %v, want NotFoundException", err)
		}
	})
}

func TestDeadLetters_Bounded(t *testing.T) {
	box := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	sink := webhook("a")
	sink.MaxAttempts, sink.InFlight = 1, 16
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{sink}}, func(t *testing.T, h *house) {
		h.say(placements(notify.MaxDeadLetters + 25)...)
		wait.Settle(time.Minute)
		if n := h.svc.Status()[0].DeadLetters; n != notify.MaxDeadLetters {
			t.Errorf("%d dead letters, want the bound %d", n, notify.MaxDeadLetters)
		}
		dead, err := h.svc.DeadLetters("a", 0, 1)
		must(t, err)
		if dead[0].Seq != 26 {
			t.Errorf("the oldest dead letter is number %d, want 26: the oldest go first", dead[0].Seq)
		}
	})
}
