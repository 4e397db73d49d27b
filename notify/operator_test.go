package notify_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

func (h *house) ask(method, target string) (int, string) {
	w := httptest.NewRecorder()
	h.svc.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Code, w.Body.String()
}

// gone refuses the notices about p-1.
func gone(r received) int {
	if strings.Contains(string(r.body), `"p-1"`) {
		return http.StatusGone
	}
	return 0
}

// metrics is what is exposed when p-1 of three has been refused for good.
const metrics = `
# HELP muster_notify_dead_letters Notices that were given up and are kept.
# TYPE muster_notify_dead_letters gauge
muster_notify_dead_letters{sink="a"} 1
# HELP muster_notify_deliveries_total Attempts to deliver a notice to a sink, by result; dead counts notices given up.
# TYPE muster_notify_deliveries_total counter
muster_notify_deliveries_total{result="dead",sink="a"} 1
muster_notify_deliveries_total{result="delivered",sink="a"} 2
muster_notify_deliveries_total{result="failed",sink="a"} 0
muster_notify_deliveries_total{result="refused",sink="a"} 3
# HELP muster_notify_lag_seconds Age of the oldest notice that a sink has not been told; 0 when there is none.
# TYPE muster_notify_lag_seconds gauge
muster_notify_lag_seconds{sink="a"} 0
`

func TestOperator(t *testing.T) {
	box, registry := &inbox{answer: gone}, prometheus.NewRegistry()
	sink := webhook("a")
	sink.URL, sink.Secrets = "https://user:password@receiver.example/hook?key=hidden", []string{"hidden"}
	allow := func(*http.Request, auth.Action, ...string) (auth.Caller, error) { return auth.Anybody(), nil }
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{sink}, Allow: allow, Registerer: registry}, func(t *testing.T, h *house) {
		h.say(placements(3)...)
		wait.Settle(time.Second) // p-1 is refused for the third time after 1.5 s at the earliest
		if waiting := h.svc.Status()[0].LagSeconds; waiting != 1 {
			t.Errorf("lag of a notice that waits is %g s after a second", waiting)
		}
		wait.Settle(time.Minute)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(metrics)); err != nil {
			t.Error(err)
		}
		all, err := h.svc.Deliveries("a") // before one is delivered again
		for _, c := range []struct {
			method, target string
			status         int
			has            string
		}{
			{"GET", "/notify/sinks", 200, `"dead_letters":1`},
			{"GET", "/notify/sinks", 200, `"url":"https://receiver.example/hook"`},
			{"GET", "/notify/sinks", 200, `"attempts":{"delivered":2,"failed":0,"refused":3,"dead":1}`},
			{"GET", "/notify/deliveries?sink=a", 200, `"seq":3,`},
			{"GET", "/notify/deliveries?sink=b", 404, `no sink \"b\"`},
			{"GET", "/notify/dead-letters?sink=a", 200, `"seq":2`},
			{"GET", "/notify/dead-letters?sink=a&after=2", 200, `"dead_letters":[]`},
			{"GET", "/notify/dead-letters?sink=b", 404, `no sink \"b\"`},
			{"GET", "/notify/dead-letters?sink=a&limit=0", 400, "limit"},
			{"GET", "/notify/recent?n=2", 200, `"p-2"`},
			{"GET", "/notify/recent?n=1001", 400, "n: "},
			{"POST", "/notify/replay?sink=a", 400, "from"},
			{"POST", "/notify/replay?sink=a&from=x", 400, "from"},
			{"POST", "/notify/replay?sink=b&from=1", 404, "b"},
			{"GET", "/notify/replay?sink=a&from=1", 404, ""},
			{"POST", "/notify/redeliver?sink=a&seq=x", 400, "seq"},
			{"POST", "/notify/redeliver?sink=a&seq=2", 200, `"redelivering":1`},
			{"POST", "/notify/subscribe?sink=a", 400, "webhook"},
			{"GET", "/notify/", 404, "nothing"},
			{"GET", "/notify/cert.pem", 404, "certificate"},
		} {
			status, body := h.ask(c.method, c.target)
			if status != c.status || !strings.Contains(body, c.has) {
				t.Errorf("%s %s: %d %s, want %d with %s", c.method, c.target, status, body, c.status, c.has)
			}
			if strings.Contains(body, "hidden") || strings.Contains(body, "password") {
				t.Errorf("%s %s tells secrets: %s", c.method, c.target, body)
			}
		}
		var told []string
		for _, d := range all {
			told = append(told, fmt.Sprintf("%d try %d %s dead %t", d.Seq, d.Try, d.Result, d.Dead))
			if d.Code != event.PlacementFulfilled || d.DetailType == "" || d.At.IsZero() || (d.Error == "") != (d.Result == "delivered") {
				t.Errorf("a delivery is %+v", d)
			}
		}
		want := []string{"3 try 1 delivered dead false", "2 try 3 refused dead true", "2 try 2 refused dead false", "2 try 1 refused dead false", "1 try 1 delivered dead false"}
		if diff := cmp.Diff(want, told); err != nil || diff != "" {
			t.Errorf("the deliveries, newest first: %v (-want +got):\n%s", err, diff)
		}
		_, lines := h.ask("GET", "/notify/recent")
		var got []string
		for line := range strings.Lines(lines) {
			got = append(got, placementOf(t, []byte(line)))
		}
		if !cmp.Equal(got, names(3)) {
			t.Errorf("recent notices %v, want all three, oldest first", got)
		}
		wait.Settle(time.Minute) // until the redelivered ones have been refused again
		before := len(box.taken())
		h.ask("POST", "/notify/replay?sink=a&from=3")
		wait.Settle(time.Second)
		if n := len(box.taken()) - before; n != 1 {
			t.Errorf("a replay from the third of three delivered %d", n)
		}
	})
}

func TestOperator_Allow(t *testing.T) {
	var actions []auth.Action
	deny := func(_ *http.Request, action auth.Action, _ ...string) (auth.Caller, error) {
		actions = append(actions, action)
		return auth.Caller{}, fault.New(fault.AccessDenied, "not you")
	}
	targets := []string{"GET /notify/recent", "GET /notify/sinks", "GET /notify/deliveries", "GET /notify/dead-letters", "POST /notify/replay", "POST /notify/redeliver", "POST /notify/subscribe"}
	in(t, &inbox{}, notify.Options{Allow: deny}, func(t *testing.T, h *house) {
		for _, target := range targets {
			method, path, _ := strings.Cut(target, " ")
			if status, body := h.ask(method, path); status != http.StatusForbidden || !strings.Contains(body, "not you") {
				t.Errorf("%s: %d %s, want 403", target, status, body)
			}
		}
	})
	const read, change, tell auth.Action = "DescribeGameSessionQueues", "UpdateGameSessionQueue", auth.ReadPlayerSessionIDs
	if diff := cmp.Diff([]auth.Action{tell, read, read, tell, change, change, change}, actions); diff != "" {
		t.Errorf("asked for leave to (-want +got):\n%s", diff)
	}
	in(t, &inbox{}, notify.Options{}, func(t *testing.T, h *house) {
		if status, _ := h.ask("GET", "/notify/recent"); status != http.StatusForbidden {
			t.Errorf("without Allow: %d, want 403", status)
		}
	})
}
