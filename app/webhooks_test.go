package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

// An operator sees what a receiver refuses, and why, and has it delivered again, which is recorded
// with the name of the sink, whether it is served or refused.
func TestClient_Webhooks(t *testing.T) {
	t.Parallel()
	var takes atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !takes.Load() {
			http.Error(w, "not in the mood", http.StatusGone)
		}
	}))
	t.Cleanup(receiver.Close)
	a := start(t, func(o *app.Options) {
		o.Store, o.AcceptAny = "sqlite", false
		o.Sinks = []notify.SinkConfig{{Name: "backend", Kind: notify.Webhook, URL: receiver.URL, Topics: []string{notify.Everything}, MaxAttempts: 1}}
	})
	c := firstKey(t, a)
	reader := with(t, a, c, client.KeySpec{Name: "reader", Role: "read-only"})
	answered(t, c, "CreateGameSessionQueue", map[string]any{"Name": "q"})
	for _, id := range []string{"one", "two"} {
		answered(t, c, "StartGameSessionPlacement", map[string]any{"PlacementId": id, "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 2})
		answered(t, c, "StopGameSessionPlacement", map[string]any{"PlacementId": id})
	}
	dead := func(want int) (all []client.DeadLetter) {
		t.Helper()
		wait.Until(t, "the dead letters are as many as expected", func() bool {
			all = must(c.Webhooks().DeadLetters(t.Context(), "backend"))(t)
			return len(all) == want
		})
		return all
	}
	all := dead(2)
	if !strings.Contains(all[0].Error, "not in the mood") || all[0].Attempts != 1 || all[0].Seq >= all[1].Seq {
		t.Errorf("dead letters: %+v", all)
	}
	takes.Store(true)
	if n, err := c.Webhooks().Redeliver(t.Context(), "backend", all[1].Seq); n != 1 || err != nil {
		t.Fatalf("one again: %d, %v", n, err)
	}
	if left := dead(1); left[0].Seq != all[0].Seq {
		t.Errorf("left are %+v", left)
	}
	if n, err := c.Webhooks().Redeliver(t.Context(), "backend"); n != 1 || err != nil {
		t.Fatalf("all again: %d, %v", n, err)
	}
	dead(0)
	sinks, err := c.Webhooks().Sinks(t.Context())
	if err != nil || len(sinks) != 1 || sinks[0].Attempts.Delivered != 2 || sinks[0].Attempts.Refused != 2 || sinks[0].Attempts.Dead != 2 || sinks[0].DeadLetters != 0 {
		t.Errorf("sinks: %+v, %v", sinks, err)
	}
	if _, err := c.Webhooks().Redeliver(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("again to a sink that does not exist: %v", err)
	}
	if _, err := reader.Webhooks().Redeliver(t.Context(), "backend"); err == nil {
		t.Error("a read-only key has dead letters delivered again")
	}
	recorded(t, c, "notify UpdateGameSessionQueue reader",
		"notify UpdateGameSessionQueue first ok [backend]",
		"notify UpdateGameSessionQueue first HTTP 404 [nobody]",
		"notify UpdateGameSessionQueue reader AccessDeniedException [backend]",
	)
}

// Each region asks for a subscription of its own, which the URL in its message confirms; the
// certificate of its signature is at the URL that it names.
func TestSubscriptions_OfRegions(t *testing.T) {
	t.Parallel()
	type message struct{ Type, TopicArn, SubscribeURL, SigningCertURL string }
	asked := make(chan message, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m message
		if err := json.UnmarshalRead(r.Body, &m); err == nil && m.Type == "SubscriptionConfirmation" {
			asked <- m
		}
	}))
	t.Cleanup(receiver.Close)
	regions := threeRegions[:2]
	topic := "arn:aws:sns:us-east-1:123456789012:matches"
	start(t, func(o *app.Options) {
		o.Regions = regions
		o.Sinks = []notify.SinkConfig{{Name: "matches", Kind: notify.SNS, URL: receiver.URL, Topics: []string{topic}}}
	})
	urls := map[string]bool{}
	for len(urls) < len(regions) {
		m := <-asked
		if urls[m.SubscribeURL] {
			continue // it was asked again
		}
		urls[m.SubscribeURL] = true
		for _, url := range []string{m.SigningCertURL, m.SubscribeURL} {
			if status, text := get(t, url); status != http.StatusOK {
				t.Errorf("GET %s is answered with %d: %s", url, status, text)
			}
		}
	}
}
