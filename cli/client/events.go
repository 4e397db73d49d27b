package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

// Event is one line of the event log (event.Event, with its sequence number).
type Event struct {
	Seq             uint64    `json:"seq"`
	Time            time.Time `json:"time"`
	Code            string    `json:"code"`
	FleetID         string    `json:"fleet_id,omitzero"`
	Location        string    `json:"location,omitzero"`
	ComputeName     string    `json:"compute_name,omitzero"`
	ProcessID       string    `json:"process_id,omitzero"`
	GameSessionID   string    `json:"game_session_id,omitzero"`
	PlayerSessionID string    `json:"player_session_id,omitzero"`
	Resource        string    `json:"resource,omitzero"`
	Message         string    `json:"message,omitzero"`
	Principal       string    `json:"principal,omitzero"`
}

// EventQuery selects the events to read.
type EventQuery struct {
	After         uint64 // only events with higher sequence numbers; 0 = the Last ones
	Last          int    // how many past events to begin with, if After is 0
	Follow        bool   // continue with new events until ctx ends
	FleetID       string
	GameSessionID string
	Reconnected   func(error)   // called before each new attempt with the error that ended the last one; may be nil
	Pause         time.Duration // before the first attempt to reconnect; default 200 ms, doubles up to 5 s
}

// Events calls f with each event, in order. With Follow it reconnects when the
// connection is lost and continues after the last event. It returns nil when ctx ends,
// f's error if f fails, and an *Error if the server refuses.
func (c *Client) Events(ctx context.Context, q EventQuery, f func(Event) error) error {
	first := cmp.Or(q.Pause, 200*time.Millisecond)
	pause := first
	for {
		var told handled
		err := c.events(ctx, &q, func(e Event) error {
			pause = first
			if err := f(e); err != nil {
				return handled{err}
			}
			return nil
		})
		var refused *Error
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &told):
			return told.error
		case errors.As(err, &refused) && refused.Status < 500, !q.Follow:
			return err
		}
		if q.Reconnected != nil {
			q.Reconnected(err)
		}
		if !wake.Sleep(ctx, pause+rand.N(pause)) {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// maxPause bounds the time between attempts to reconnect.
const maxPause = 5 * time.Second

// handled marks an error as returned by the caller's function.
type handled struct{ error }

// events reads one response and advances q.After.
func (c *Client) events(ctx context.Context, q *EventQuery, f func(Event) error) error {
	values := url.Values{"follow": {strconv.FormatBool(q.Follow)}, "fleet": {q.FleetID}, "session": {q.GameSessionID}}
	if q.After > 0 {
		values.Set("after", strconv.FormatUint(q.After, 10))
	} else {
		values.Set("last", strconv.Itoa(q.Last))
	}
	answer, err := c.open(ctx, http.MethodGet, "/console/api/events?"+values.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // a heartbeat
		}
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("decode event: %w", err)
		}
		if err := f(e); err != nil {
			return err
		}
		q.After = e.Seq
	}
	return lines.Err()
}
