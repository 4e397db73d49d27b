package notify_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

// subscriber returns the options for one sns sink, in virtual time.
func subscriber(t *testing.T) notify.Options {
	return notify.Options{
		Sinks:   []notify.SinkConfig{{Name: "sub", Kind: notify.SNS, URL: "http://x/sns", Topics: []string{topic}}},
		KeyFile: keyFile(t), BaseURL: func() string { return "http://muster.example" },
	}
}

// visit requests a URL from a message.
func (h *house) visit(method, link string) *httptest.ResponseRecorder {
	h.t.Helper()
	u, err := url.Parse(link)
	must(h.t, err)
	w := httptest.NewRecorder()
	h.svc.ServeHTTP(w, httptest.NewRequest(method, u.RequestURI(), nil))
	return w
}

func field(t testing.TB, r received, name string) string {
	t.Helper()
	var m map[string]string
	must(t, json.Unmarshal(r.body, &m))
	return m[name]
}

func TestHandshake_AsksUntilConfirmed(t *testing.T) {
	box := &inbox{}
	box.answer = func(received) int {
		if len(box.seen()) < 3 {
			return http.StatusBadGateway
		}
		return 0
	}
	in(t, box, subscriber(t), func(t *testing.T, h *house) {
		wait.Settle(24 * time.Hour)
		seen := box.seen()
		var pauses []time.Duration
		for i := range seen[1:] {
			pauses = append(pauses, seen[i+1].time.Sub(seen[i].time).Round(time.Second))
		}
		for i, want := range []time.Duration{1, 2, 4} { // the endpoint does not answer
			if pauses[i] > want*time.Second || pauses[i] < want*time.Second/2 {
				t.Errorf("pause %d after a failure is %s, want up to %d s", i, pauses[i], want)
			}
		}
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} { // it answers but does not confirm
			if pauses[3+i] != want*time.Minute {
				t.Errorf("pause %d after a message that was taken is %s, want %d min", i, pauses[3+i], want)
			}
		}
		token := field(t, seen[0], "Token")
		for _, r := range seen {
			if field(t, r, "Token") != token {
				t.Error("the token changed, so an earlier SubscribeURL would be worth nothing")
			}
		}
		asked := len(seen)
		if w := h.visit(http.MethodGet, field(t, seen[0], "SubscribeURL")); w.Code != http.StatusOK {
			t.Fatalf("SubscribeURL answered %d %s", w.Code, w.Body)
		}
		wait.Settle(24 * time.Hour)
		if n := len(box.seen()); n != asked {
			t.Errorf("asked %d times more after it was confirmed", n-asked)
		}
	})
}

func TestHandshake_GoodbyeIsGivenUp(t *testing.T) {
	box := &inbox{}
	box.answer = func(r received) int {
		if r.header.Get("x-amz-sns-message-type") == "UnsubscribeConfirmation" {
			return http.StatusNotFound
		}
		return 0
	}
	in(t, box, subscriber(t), func(t *testing.T, h *house) {
		wait.Pass(time.Second)
		h.visit(http.MethodGet, field(t, box.seen()[0], "SubscribeURL"))
		h.say(placed("p-0", topic))
		wait.Pass(time.Second)
		last := box.seen()[len(box.seen())-1]
		h.visit(http.MethodGet, field(t, last, "UnsubscribeURL"))
		wait.Settle(time.Hour)
		if st := h.svc.Status()[0].Subscriptions[0].Status; st != notify.Unsubscribed {
			t.Errorf("status %s, want UNSUBSCRIBED although the endpoint did not want to hear it", st)
		}
		if n := len(box.seen()); n != 2+5 {
			t.Errorf("%d messages, want 2 and 5 goodbyes", n)
		}
	})
}

// A program that looks at links before people follow them confirms nothing, and an
// invalid request is refused with the member's name.
func TestHandshake_Refusals(t *testing.T) {
	box := &inbox{}
	in(t, box, subscriber(t), func(t *testing.T, h *house) {
		wait.Pass(time.Second)
		link := field(t, box.seen()[0], "SubscribeURL")
		base, query, _ := strings.Cut(link, "?")
		v, err := url.ParseQuery(query)
		must(t, err)
		with := func(name, value string) string {
			c := url.Values{"Action": v["Action"], "TopicArn": v["TopicArn"], "Token": v["Token"]}
			c.Set(name, value)
			return base + "?" + c.Encode()
		}
		for _, c := range []struct {
			method, link string
			status       int
			names        string
		}{
			{http.MethodHead, link, 405, ""},
			{http.MethodPost, link, 404, ""},
			{http.MethodGet, with("Token", strings.Repeat("0", 64)), 400, "Token"},
			{http.MethodGet, with("Token", "zz"), 400, "Token"},
			{http.MethodGet, with("Token", ""), 400, "Token"},
			{http.MethodGet, with("TopicArn", topic+"-other"), 400, "Token"},
			{http.MethodGet, with("TopicArn", "*"), 400, "TopicArn"},
			{http.MethodGet, with("Action", "Unsubscribe"), 400, "Action"},
			{http.MethodGet, link + "&Token=" + v.Get("Token"), 400, "Token"},
			{http.MethodGet, link + "&" + strings.Repeat("a", 5000), 400, "4096"},
			{http.MethodGet, "http://m/notify/unsubscribe", 400, "SubscriptionArn"},
			{http.MethodGet, "http://m/notify/unsubscribe?SubscriptionArn=" + topic, 400, "SubscriptionArn"},
			{http.MethodGet, "http://m/notify/unsubscribe?SubscriptionArn=" + topic + ":00000000-0000-4000-8000-000000000000", 404, "SubscriptionArn"},
		} {
			w := h.visit(c.method, c.link)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.names) {
				t.Errorf("%s %.150s: %d %s, want %d naming %s", c.method, c.link, w.Code, w.Body, c.status, c.names)
			}
		}
		if st := h.svc.Status()[0].Subscriptions[0].Status; st != notify.Pending {
			t.Errorf("after all that the subscription is %s, want PENDING", st)
		}
	})
}
