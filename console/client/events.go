package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
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

// EventQuery says which events to read.
type EventQuery struct {
	After         uint64 // only events behind this number; 0 = the Last ones
	Last          int    // how many old events to begin with, where After is 0
	Follow        bool   // go on with new ones until ctx ends
	FleetID       string
	GameSessionID string
	Reconnected   func(error)   // told before each new attempt, with what ended the one before; may be nil
	Pause         time.Duration // before the first attempt to reconnect; default 200 ms, it doubles up to 5 s
}

// Events calls f with each event, in order. With Follow it reconnects by itself
// and goes on where it was. It ends with ctx (nil), with f's error, or when the
// server refuses.
func (c *Client) Events(ctx context.Context, q EventQuery, f func(Event) error) error {
	pause := q.pause()
	for {
		var told handled
		err := c.events(ctx, &q, func(e Event) error {
			pause = q.pause()
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
		if !wait(ctx, pause+rand.N(pause)) {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// maxPause bounds the time between attempts to reconnect.
const maxPause = 5 * time.Second

func (q *EventQuery) pause() time.Duration {
	if q.Pause > 0 {
		return q.Pause
	}
	return 200 * time.Millisecond
}

// handled marks an error of the caller's function.
type handled struct{ error }

// events reads one answer and moves the cursor of q.
func (c *Client) events(ctx context.Context, q *EventQuery, f func(Event) error) error {
	answer, err := c.get(ctx, "/console/api/events", q.values())
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return readLines(answer, q, f)
}

func readLines(answer *http.Response, q *EventQuery, f func(Event) error) error {
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

func (q *EventQuery) values() url.Values {
	v := url.Values{}
	if q.After > 0 {
		v.Set("after", strconv.FormatUint(q.After, 10))
	} else {
		v.Set("last", strconv.Itoa(q.Last))
	}
	v.Set("follow", strconv.FormatBool(q.Follow))
	if q.FleetID != "" {
		v.Set("fleet", q.FleetID)
	}
	if q.GameSessionID != "" {
		v.Set("session", q.GameSessionID)
	}
	return v
}

// wait waits unless ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
