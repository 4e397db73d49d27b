package notify_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

func TestDeliver_Topics(t *testing.T) {
	named, all := &inbox{}, &inbox{}
	mux := http.NewServeMux()
	mux.Handle("/named", named)
	mux.Handle("/all", all)
	sinks := []notify.SinkConfig{
		{Name: "named", Kind: notify.EventBridge, URL: "http://x/named", Topics: []string{topic}, Headers: map[string]string{"Authorization": "Bearer 1"}},
		{Name: "all", Kind: notify.Webhook, URL: "http://x/all", Topics: []string{notify.Everything}},
	}
	in(t, mux, notify.Options{Sinks: sinks}, func(t *testing.T, h *house) {
		h.say(placed("p-0", topic), placed("p-1", topic+"-other"), placed("p-2", ""), placed("p-3", topic))
		wait.Settle(time.Second)
		if got := ids(t, named.taken()); !cmp.Equal(got, []string{"p-0", "p-3"}) {
			t.Errorf("sink of one topic got %v, want p-0 and p-3", got)
		}
		if got := ids(t, all.taken()); !cmp.Equal(got, names(4)) {
			t.Errorf("sink of everything got %v, want all four", got)
		}
		if got := named.taken()[0].header.Get("Authorization"); got != "Bearer 1" {
			t.Errorf("configured header: %q, want Bearer 1", got)
		}
		for _, box := range []*inbox{named, all} {
			if got := box.taken()[0].header.Get("Content-Type"); got != "application/json" {
				t.Errorf("the content is said to be %q", got)
			}
		}
		if got := named.taken()[0].header.Get("Muster-Signature"); got != "" {
			t.Errorf("eventbridge request has the signature %q, want none", got)
		}
	})
}

func TestDeliver_NewSinkBeginsNow(t *testing.T) {
	box := &inbox{}
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		first := newHouse(t, driver, notify.Options{})
		first.say(placements(3)...)
		first.close()

		second := newHouse(t, driver, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}, Transport: inProcess{box}})
		defer second.close()
		second.say(placed("new", topic))
		wait.Settle(time.Second)
		if got := ids(t, box.taken()); !cmp.Equal(got, []string{"new"}) {
			t.Errorf("a new sink was told of %v, want only what came after it", got)
		}
	})
}

// A receiver that hangs must cost commits nothing: virtual time does not advance during
// them.
func TestDeliver_SlowSinkSlowsNobody(t *testing.T) {
	free := make(chan struct{})
	slow, quick := &inbox{answer: func(received) int { <-free; return 0 }}, &inbox{}
	mux := http.NewServeMux()
	mux.Handle("/slow", slow)
	mux.Handle("/quick", quick)
	sinks := []notify.SinkConfig{webhook("slow"), webhook("quick")}
	sinks[0].URL, sinks[1].URL = "http://x/slow", "http://x/quick"
	synctest.Test(t, func(t *testing.T) {
		free = make(chan struct{})
		h := newHouse(t, store.NewMemory(), notify.Options{Sinks: sinks, Transport: inProcess{mux}})
		defer h.close()
		begin := time.Now()
		for range 20 {
			h.say(placements(10)...)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("200 notices took %s to commit beside a sink that hangs, want no time", took)
		}
		wait.Settle(time.Second)
		if n := len(quick.taken()); n != 200 {
			t.Errorf("the quick sink got %d of 200 notices while the other hung", n)
		}
		if lag := h.svc.Status()[0].LagSeconds; lag < 1 {
			t.Errorf("lag of the sink that hangs is %g s after a second", lag)
		}
		close(free)
	})
}

func TestDeliver_SideBySideKeepsEachSubjectInOrder(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	box := &inbox{answer: func(r received) int {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		seq, _ := strconv.Atoi(r.header.Get("Muster-Sequence"))
		wait.Pass(time.Duration(20-seq/10) * time.Millisecond) // the later, the faster
		mu.Lock()
		now--
		mu.Unlock()
		return 0
	}}
	sink := webhook("a")
	sink.InFlight = 8
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{sink}}, func(t *testing.T, h *house) {
		for range 20 { // each placement has twenty notices
			h.say(placements(10)...)
		}
		wait.Settle(time.Minute)
		last := map[string]string{}
		for _, r := range box.taken() {
			id, seq := placementOf(t, r.body), r.header.Get("Muster-Sequence")
			if len(last[id]) > len(seq) || len(last[id]) == len(seq) && last[id] >= seq {
				t.Errorf("placement %s: %s came after %s", id, seq, last[id])
			}
			last[id] = seq
		}
		if n := len(box.taken()); n != 200 {
			t.Errorf("%d deliveries, want 200", n)
		}
		if most < 2 || most > 8 {
			t.Errorf("at most %d deliveries went on at a time, want 2 to 8", most)
		}
	})
}
