package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// bundle is a console with its own event log.
type bundle struct {
	t       *testing.T
	store   *store.Store
	events  *event.Log
	console *console.Console
}

func newBundle(t *testing.T, may func(auth.Action) error) *bundle {
	t.Helper()
	b := &bundle{t: t, store: store.New(store.Options{Driver: store.NewMemory()})}
	b.events = event.New(b.store, event.Options{})
	if err := b.store.Open(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Close() })
	allow := func(_ *http.Request, action auth.Action, _ ...string) (auth.Caller, error) {
		if may == nil {
			return auth.Anybody(), nil
		}
		return auth.Anybody(), may(action)
	}
	b.console = console.New(console.Options{
		Events: b.events, Allow: allow, AllowBodyOf: func(r *http.Request, _ []byte, action auth.Action, look func(context.Context) ([]string, error)) (auth.Caller, error) {
			if caller, err := allow(r, action); err != nil {
				return caller, err
			}
			_, err := look(r.Context())
			return auth.Anybody(), err
		}, AllowOf: func(r *http.Request, action auth.Action, _ func(context.Context) (string, error)) (auth.Caller, error) {
			return allow(r, action)
		}, Logger: slog.New(slog.DiscardHandler),
		Last: func() uint64 { return b.events.Last(b.store.View()) },
	})
	return b
}

// add appends events with the numbers from to to as messages.
func (b *bundle) add(from, to int, e event.Event) {
	b.t.Helper()
	err := b.store.Update(context.Background(), func(tx *store.Tx) error {
		for n := from; n <= to; n++ {
			e.Message = fmt.Sprint(n)
			b.events.Append(tx, e)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// read returns the messages of the events that a query returns.
func (b *bundle) read(query string) string {
	b.t.Helper()
	answer := b.get(query)
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: status %d", query, answer.StatusCode)
	}
	var messages []string
	for decoder := json.NewDecoder(answer.Body); decoder.More(); {
		var e client.Event
		if err := decoder.Decode(&e); err != nil {
			b.t.Fatal(err)
		}
		messages = append(messages, e.Message)
	}
	return strings.Join(messages, " ")
}

func (b *bundle) get(query string) *http.Response {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	b.console.ServeHTTP(w, httptest.NewRequest("GET", "/console/api/events?"+query, nil))
	return w.Result()
}

// recorder is a ResponseRecorder that accepts write deadlines and ignores them.
type recorder struct{ *httptest.ResponseRecorder }

func (*recorder) SetWriteDeadline(time.Time) error { return nil }

func TestEvents_Select(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.add(1, 3, event.Event{Code: event.FleetUpdated, FleetID: "fleet-a"})
	b.add(4, 5, event.Event{Code: event.GameSessionCreated, FleetID: "fleet-b", GameSessionID: "arn:x"})
	for query, want := range map[string]string{
		"":                                  "1 2 3 4 5",
		"last=2":                            "4 5",
		"last=99":                           "1 2 3 4 5",
		"last=0":                            "",
		"after=3":                           "4 5",
		"after=5":                           "",
		"after=1&limit=2":                   "2 3",
		"fleet=fleet-a":                     "1 2 3",
		"fleet=fleet-a&limit=2":             "1 2",
		"fleet=fleet-b&after=4":             "5",
		"session=arn:x":                     "4 5",
		"follow=true&limit=3":               "1 2 3",
		"follow=false&session=no":           "",
		"last=99&code=GAME_SESSION_CREATED": "4 5",
		"last=4&code=GAME_SESSION_CREATED&code=FLEET_UPDATED": "2 3 4 5",
		"resource=arn:x":                                        "4 5",
		"resource=fleet-a&after=1":                              "2 3",
		"resource=fleet":                                        "",
		"since=2000-01-01T00:00:00Z":                            "1 2 3 4 5",
		"since=2000-01-01T00:00:00Z&last=1":                     "5",
		"since=2000-01-01T00:00:00Z&until=2000-01-02T00:00:00Z": "",
		"since=3000-01-01T00:00:00Z":                            "",
		"until=3000-01-01T00:00:00Z&last=2":                     "4 5",
		"until=2000-01-01T00:00:00Z&last=2":                     "",
		"fleet=fleet-a&last=1":                                  "3",
		"fleet=fleet-a&last=2&since=2000-01-01T00:00:00Z":       "2 3",
		"fleet=fleet-a&last=0":                                  "",
		"fleet=fleet-c&last=2":                                  "",
		"code=FLEET_UPDATED&last=2":                             "2 3",
		"session=arn:x&last=1":                                  "5",
		"session=arn:x&code=FLEET_UPDATED&last=1":               "",
		"resource=fleet-a&last=2&limit=1":                       "2",
		"follow=true&fleet=fleet-a&last=2&limit=2":              "2 3",
	} {
		if got := b.read(query); got != want {
			t.Errorf("%q gives %q, want %q", query, got, want)
		}
	}
}

// The last events of a filter are found however many others came after them.
func TestEvents_LastOfFilter(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.add(1, 3, event.Event{Code: event.GameSessionCreated, FleetID: "fleet-a", GameSessionID: "arn:x"})
	b.add(4, 1203, event.Event{Code: event.FleetUpdated, FleetID: "fleet-b"})
	for _, filter := range []string{"session=arn:x", "fleet=fleet-a", "resource=arn:x", "code=GAME_SESSION_CREATED"} {
		if got := b.read(filter); got != "1 2 3" {
			t.Errorf("%s gives %q", filter, got)
		}
		if got := b.read(filter + "&last=2"); got != "2 3" {
			t.Errorf("the last 2 of %s are %q", filter, got)
		}
	}
	if got := strings.Fields(b.read("after=1")); len(got) != 1202 || got[0] != "2" || got[1201] != "1203" {
		t.Errorf("of several pages came %d events", len(got))
	}
	if got := strings.Fields(b.read("fleet=fleet-b&last=700")); len(got) != 700 || got[0] != "504" || got[699] != "1203" {
		t.Errorf("the last 700 of a fleet are %d: %q", len(got), got)
	}
}

func TestEvents_Refused(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	for query, want := range map[string]string{
		"after=x": "after", "after=-1": "after", "last=x": "last", "limit=0": "limit", "limit=x": "limit", "follow=maybe": "follow",
		"since=yesterday": "since", "until=24h": "until",
	} {
		answer := b.get(query)
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), want+":") {
			t.Errorf("%s: %d %s", query, answer.StatusCode, body)
		}
	}
	b = newBundle(t, func(action auth.Action) error {
		return fault.New(fault.AccessDenied, "not %s", action)
	})
	answer := b.get("")
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "not DescribeFleetEvents") {
		t.Errorf("refusal is %d %s", answer.StatusCode, body)
	}
}

// TestEvents_FollowInOrder follows events over connections that break while others are
// appended, and checks that every event arrives once, in order.
func TestEvents_FollowInOrder(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	breaking := &breaker{handler: b.console}
	server := httptest.NewServer(breaking)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const total = 600
	var appending sync.WaitGroup
	appending.Go(func() {
		for n := 1; n <= total; n++ {
			b.add(n, n, event.Event{Code: event.FleetUpdated})
		}
	})
	defer appending.Wait()
	next, reconnects := uint64(1), 0
	c := &client.Client{Endpoint: server.URL}
	q := client.EventQuery{Follow: true, Last: 1000, Pause: time.Millisecond, Reconnected: func(error) { reconnects++ }}
	err := c.Events(ctx, q, func(e client.Event) error {
		if e.Seq != next {
			return fmt.Errorf("event %d comes where %d is next", e.Seq, next)
		}
		if next++; next > total {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if reconnects == 0 {
		t.Error("no connection broke")
	}
}

// breaker ends each response after some events.
type breaker struct{ handler http.Handler }

func (b *breaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	q.Set("limit", "97")
	r.URL.RawQuery = q.Encode()
	b.handler.ServeHTTP(w, r)
}

func TestEvents_HeartbeatAndClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, nil)
		w := &recorder{ResponseRecorder: httptest.NewRecorder()}
		ended := make(chan struct{})
		go func() {
			b.console.ServeHTTP(w, httptest.NewRequest("GET", "/console/api/events?follow=true", nil))
			close(ended)
		}()
		wait.Pass(46 * time.Second)
		synctest.Wait()
		if got := w.Body.String(); got != "\n\n\n" {
			t.Errorf("after 46 s without events: %q", got)
		}
		b.console.Close()
		<-ended
		b.store.Close()
	})
}

func TestEvents_TooManyStreams(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	server := httptest.NewServer(b.console)
	defer server.Close()
	defer b.console.Close()
	for n := range 129 {
		answer, err := http.Get(server.URL + "/console/api/events?follow=true")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if want := map[bool]int{true: 200, false: 429}[n < 128]; answer.StatusCode != want {
			t.Fatalf("stream %d: status %d, want %d", n+1, answer.StatusCode, want)
		}
	}
}
