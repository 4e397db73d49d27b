package notify_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/notify"
)

const (
	topic    = "arn:aws:sns:us-east-1:000000000000:games"
	queueARN = "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/eu"
	confARN  = "arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/ranked"
)

// house is a cell with an event log and the service under test, running.
type house struct {
	t      testing.TB
	st     *store.Store
	events *event.Log
	svc    *notify.Service
	stop   func() // stops the service, as on a node that drains
}

func newHouse(t testing.TB, driver store.Driver, o notify.Options) *house {
	t.Helper()
	h := &house{t: t, st: store.New(store.Options{Driver: driver})}
	h.events = event.New(h.st, event.Options{})
	o.Home = arn.Home{Region: "us-east-1", Account: "000000000000"}
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	var err error
	h.svc, err = notify.New(h.st, h.events, o)
	must(t, err)
	must(t, h.st.Open(t.Context()))
	must(t, h.svc.Open(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.svc.Run(ctx) })
	h.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	return h
}

func (h *house) close() {
	h.stop()
	must(h.t, h.st.Close())
}

// in runs f in a house with virtual time, whose requests go to receiver.
func in(t *testing.T, receiver http.Handler, o notify.Options, f func(*testing.T, *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Transport = inProcess{receiver}
		h := newHouse(t, store.NewMemory(), o)
		defer h.close()
		f(t, h)
	})
}

// say commits notices in one transaction.
func (h *house) say(notices ...event.Notice) {
	h.t.Helper()
	must(h.t, h.st.Update(context.Background(), func(tx *store.Tx) error {
		for _, n := range notices {
			h.events.Append(tx, event.Event{Code: event.PlacementFulfilled, Notice: &n})
		}
		return nil
	}))
}

// placed returns the notice of a placement, for a topic.
func placed(id, target string) event.Notice {
	return event.Notice{
		DetailType: "GameLift Queue Placement Event", Source: queueARN, Target: target,
		Detail: jsontext.Value(fmt.Sprintf(`{"type":"PlacementCancelled","placementId":%q}`, id)),
	}
}

// placements returns the notices p-0, p-1, …
func placements(n int) []event.Notice {
	var all []event.Notice
	for i := range n {
		all = append(all, placed(fmt.Sprintf("p-%d", i), topic))
	}
	return all
}

func webhook(name string) notify.SinkConfig {
	return notify.SinkConfig{Name: name, Kind: notify.Webhook, URL: "http://receiver.example/hook", Topics: []string{notify.Everything}}
}

// inProcess passes requests to a handler, without a network.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.handler.ServeHTTP(w, r)
	}()
	select {
	case <-done:
		return w.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// inbox is a receiver that records requests. answer returns the status to answer (0: 200).
type inbox struct {
	answer func(r received) int

	mu  sync.Mutex
	all []received
}

type received struct {
	header http.Header
	body   []byte
	time   time.Time
	status int
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	got := received{header: r.Header.Clone(), body: body, time: time.Now(), status: http.StatusOK}
	if i.answer != nil {
		if status := i.answer(got); status != 0 {
			got.status = status
		}
	}
	i.mu.Lock()
	i.all = append(i.all, got)
	i.mu.Unlock()
	w.WriteHeader(got.status)
}

// taken returns the requests that were answered with 200, in order.
func (i *inbox) taken() []received {
	i.mu.Lock()
	defer i.mu.Unlock()
	var ok []received
	for _, r := range i.all {
		if r.status == http.StatusOK {
			ok = append(ok, r)
		}
	}
	return ok
}

func (i *inbox) seen() []received {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]received(nil), i.all...)
}

// placementOf returns the placement that an EventBridge body is about.
func placementOf(t testing.TB, body []byte) string {
	t.Helper()
	var e struct {
		Detail struct {
			PlacementID string `json:"placementId"`
		} `json:"detail"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("body %s: %v", body, err)
	}
	return e.Detail.PlacementID
}

func ids(t testing.TB, all []received) []string {
	t.Helper()
	var ids []string
	for _, r := range all {
		ids = append(ids, placementOf(t, r.body))
	}
	return ids
}

func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("p-%d", i))
	}
	return all
}

func keyFile(t testing.TB) string { return filepath.Join(t.TempDir(), "signing.pem") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
