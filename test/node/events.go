package node

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// Event is a line of the event stream.
type Event struct {
	Seq             uint64 `json:"seq"`
	Code            string `json:"code"`
	FleetID         string `json:"fleet_id"`
	ComputeName     string `json:"compute_name"`
	ProcessID       string `json:"process_id"`
	GameSessionID   string `json:"game_session_id"`
	PlayerSessionID string `json:"player_session_id"`
	Resource        string `json:"resource"`
	Message         string `json:"message"`
}

// Events follows the event log of a Muster, so that tests wait for events instead of
// sleeping.
type Events struct{ lines chan Event }

// Follow opens the event stream from its beginning; it ends with the test.
func Follow(t testing.TB, url string) *Events {
	t.Helper()
	return open(t, url+"/console/api/events?follow=true&after=0")
}

// FollowNew is like Follow, without the events so far.
func FollowNew(t testing.TB, url string) *Events {
	t.Helper()
	return open(t, url+"/console/api/events?follow=true&last=0")
}

func open(t testing.TB, stream string) *Events {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, stream, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("event stream: %s", response.Status)
	}
	e := &Events{lines: make(chan Event, 1024)}
	go e.read(ctx, response)
	return e
}

func (e *Events) read(ctx context.Context, response *http.Response) {
	defer close(e.lines)
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var event Event
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue // a heartbeat
		}
		select {
		case e.lines <- event:
		case <-ctx.Done():
			return
		}
	}
}

// Until reads events until match returns true for one, and returns it.
func (e *Events) Until(t testing.TB, what string, match func(Event) bool) Event {
	t.Helper()
	patience := time.After(2 * time.Minute)
	for {
		select {
		case event, ok := <-e.lines:
			if !ok {
				t.Fatalf("the event stream ended before %s", what)
			}
			if match(event) {
				return event
			}
		case <-patience:
			t.Fatalf("no %s after two minutes", what)
		}
	}
}

// Code reads events until one has the given code, and returns it.
func (e *Events) Code(t testing.TB, code string) Event {
	t.Helper()
	return e.Until(t, code, func(event Event) bool { return event.Code == code })
}
