package notify_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

func TestRetry_PausesGrow(t *testing.T) {
	var n atomic.Int32
	box := &inbox{answer: func(received) int {
		if n.Add(1) <= 9 {
			return http.StatusBadGateway
		}
		return 0
	}}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		h.say(placed("p-0", topic), placed("p-1", topic))
		wait.Settle(10 * time.Minute)
		seen := box.seen()
		if len(seen) != 11 {
			t.Fatalf("%d requests, want 9 failures and 2 deliveries", len(seen))
		}
		for i, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			got := seen[i+1].time.Sub(seen[i].time)
			if got > pause*time.Second || got < pause*time.Second/2 {
				t.Errorf("pause %d was %s, want half to all of %d s", i+1, got, pause)
			}
		}
		if got := seen[10].time.Sub(seen[9].time); got != 0 {
			t.Errorf("after a success the next notice waited %s", got)
		}
		if id := seen[0].header.Get("Muster-Event-Id"); id != seen[9].header.Get("Muster-Event-Id") || id == "" {
			t.Errorf("the id changed between attempts: %q", id)
		}
	})
}

// A receiver that accepts everything but one notice loses that one, quickly if it refuses
// and after all attempts if it fails.
func TestRetry_Poison(t *testing.T) {
	for status, attempts := range map[int]int{http.StatusBadRequest: 3, http.StatusFound: 3, http.StatusInternalServerError: 12} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			box := &inbox{answer: func(r received) int {
				if strings.Contains(string(r.body), `"p-1"`) {
					return status
				}
				return 0
			}}
			in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
				h.say(placements(4)...)
				wait.Settle(15 * time.Minute)
				if got := ids(t, box.taken()); !cmp.Equal(got, []string{"p-0", "p-2", "p-3"}) {
					t.Errorf("delivered %v", got)
				}
				dead, err := h.svc.DeadLetters("a", 0, 10)
				must(t, err)
				if len(dead) != 1 || dead[0].Seq != 2 || dead[0].Attempts != attempts || dead[0].Topic != topic || dead[0].EventID == "" {
					t.Fatalf("dead letters %+v, want number 2 after %d attempts", dead, attempts)
				}
				if n := len(box.seen()) - 3; n != attempts {
					t.Errorf("asked %d times, want %d", n, attempts)
				}
			})
		})
	}
}

// A receiver that is gone is tried about once a minute, however many notices wait. Once it is back it
// gets them in order, batch after batch.
func TestRetry_Outage(t *testing.T) {
	var up atomic.Bool
	box := &inbox{answer: func(received) int {
		if up.Load() {
			return 0
		}
		return http.StatusServiceUnavailable
	}}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		h.say(placements(500)...)
		wait.Pass(time.Hour)
		if n := len(box.seen()); n < 60 || n > 130 {
			t.Errorf("asked %d times in an hour of outage, want about once in 30 to 60 s", n)
		}
		if st := h.svc.Status()[0]; st.LagSeconds < 3599 || st.Failures < 60 {
			t.Errorf("status in an outage %+v, want an hour of lag", st)
		}
		up.Store(true)
		wait.Settle(2 * time.Minute)
		dead, err := h.svc.DeadLetters("a", 0, 100)
		must(t, err)
		if len(dead) > 11 {
			t.Errorf("an hour of outage cost %d notices, want at most one in twelve attempts", len(dead))
		}
		if diff := cmp.Diff(names(500)[len(dead):], ids(t, box.taken())); diff != "" {
			t.Errorf("after the outage (-want +got):\n%s", diff)
		}
		if st := h.svc.Status()[0]; st.Seq != 500 || st.LagSeconds != 0 || st.DeadLetters != len(dead) {
			t.Errorf("status %+v, want seq 500, no lag, %d dead", st, len(dead))
		}
	})
}

func TestRetry_Timeout(t *testing.T) {
	var n atomic.Int32
	box := &inbox{answer: func(received) int {
		if n.Add(1) == 1 {
			wait.Pass(time.Hour)
		}
		return 0
	}}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		begin := time.Now()
		h.say(placed("p-0", topic))
		wait.Settle(17 * time.Second)
		taken := box.taken()
		if len(taken) != 1 {
			t.Fatalf("%d deliveries, want one after the first attempt timed out", len(taken))
		}
		if after := taken[0].time.Sub(begin); after < 15*time.Second || after > 17*time.Second {
			t.Errorf("the second attempt came after %s, want 15 s and a pause", after)
		}
		wait.Pass(time.Hour) // the hanging handler returns
	})
}

func TestRetry_AfterAsAsked(t *testing.T) {
	var n atomic.Int32
	answers := []string{"120", "999999", "-3", "soon"}
	box := &inbox{}
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := int(n.Add(1)) - 1; i < len(answers) {
			w.Header().Set("Retry-After", answers[i])
			box.answer = func(received) int { return http.StatusTooManyRequests }
		} else {
			box.answer = nil
		}
		box.ServeHTTP(w, r)
	})
	in(t, receiver, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		h.say(placed("p-0", topic))
		wait.Settle(20 * time.Minute)
		seen := box.seen()
		if len(seen) != 5 {
			t.Fatalf("%d requests, want 5", len(seen))
		}
		for i, want := range [][2]time.Duration{{120, 120}, {300, 300}, {2, 4}, {4, 8}} {
			got := seen[i+1].time.Sub(seen[i].time)
			if got < want[0]*time.Second || got > want[1]*time.Second {
				t.Errorf("Retry-After %q: came back after %s, want %d to %d s", answers[i], got, want[0], want[1])
			}
		}
	})
}
