package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Event is one line of the event log (event.Event, with its sequence number).
type Event struct {
	Seq             uint64          `json:"seq"`
	ID              string          `json:"id"`
	Time            time.Time       `json:"time"`
	Code            string          `json:"code"`
	FleetID         string          `json:"fleet_id,omitzero"`
	Location        string          `json:"location,omitzero"`
	ComputeName     string          `json:"compute_name,omitzero"`
	ProcessID       string          `json:"process_id,omitzero"`
	GameSessionID   string          `json:"game_session_id,omitzero"`
	PlayerSessionID string          `json:"player_session_id,omitzero"`
	Resource        string          `json:"resource,omitzero"`
	Message         string          `json:"message,omitzero"`
	Notice          json.RawMessage `json:"notice,omitzero"` // what subscribers receive
	Principal       string          `json:"principal,omitzero"`
}

// EventQuery selects the events to read.
type EventQuery struct {
	After         uint64    // only events with higher sequence numbers; 0 = the Last ones
	Last          int       // how many past events to begin with, if After is 0; 0 = none, or with Since all
	Since, Until  time.Time // only events with Since <= time < Until; zero is open
	Follow        bool      // continue with new events until ctx ends
	FleetID       string
	GameSessionID string
	Resource      string        // any id, name or ARN that an event has
	Codes         []string      // one of them
	Reconnected   func(error)   // called before each new attempt with the error that ended the last one; may be nil
	Pause         time.Duration // before the first attempt to reconnect; default 200 ms, doubles up to 5 s
}

// Events calls f with each event, in order. With Follow it reconnects when the
// connection is lost and continues after the last event. It returns nil when ctx ends,
// f's error if f fails, and an *Error if the server refuses.
func (c *Client) Events(ctx context.Context, q EventQuery, f func(Event) error) error {
	s := stream{client: c, path: q.path, longest: 1 << 20, once: !q.Follow, lost: q.Reconnected, pause: cmp.Or(q.Pause, usualPause)}
	return s.run(ctx, func(line []byte) error {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("decode event: %w", err)
		}
		if err := f(e); err != nil {
			return handled{err}
		}
		q.After = e.Seq
		return nil
	})
}

// path returns the path of the events that are still to be read.
func (q *EventQuery) path() string {
	values := url.Values{"follow": {strconv.FormatBool(q.Follow)}, "fleet": {q.FleetID}, "session": {q.GameSessionID}}
	if q.Resource != "" {
		values.Set("resource", q.Resource)
	}
	if len(q.Codes) > 0 {
		values["code"] = q.Codes
	}
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			values.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	switch {
	case q.After > 0:
		values.Set("after", strconv.FormatUint(q.After, 10))
	case q.Last > 0 || q.Since.IsZero():
		values.Set("last", strconv.Itoa(q.Last))
	}
	return "/console/api/events?" + values.Encode()
}
