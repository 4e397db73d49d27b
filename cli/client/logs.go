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
	"strings"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

// SessionLog is the end of the log of the process that hosts a game session
// (pages.SessionLog).
type SessionLog struct {
	Why     string      `json:"why,omitempty"`   // why there is none now
	Ended   bool        `json:"ended,omitempty"` // the game session has ended
	Process string      `json:"process,omitempty"`
	Streams []LogStream `json:"streams"`
}

// LogStream is the end of one of a process's outputs.
type LogStream struct {
	Name string `json:"name"` // output, or errors if these are separate
	Text string `json:"text"`
	End  int64  `json:"end,omitempty"` // how many bytes were written to the current file; 0: not known
}

// GameSessionID returns the ARN of a game session, from that or from the id that ends it.
func (c *Client) GameSessionID(ctx context.Context, id string) (string, error) {
	if strings.HasPrefix(id, "arn:") {
		return id, nil
	}
	var answer struct {
		Data struct {
			Sessions []struct{ ID string }
		}
	}
	if _, err := c.read(ctx, "/console/api/views/sessions?"+url.Values{"text": {id}}.Encode(), &answer); err != nil {
		return "", err
	}
	for _, s := range answer.Data.Sessions {
		if strings.HasSuffix(s.ID, "/"+id) {
			return s.ID, nil
		}
	}
	return "", fmt.Errorf("no game session that runs or has just ended has the id %q; 'muster sessions' shows them", id)
}

// SessionLog returns the end of the log of a game session's process; raw is the whole
// document.
func (c *Client) SessionLog(ctx context.Context, gameSessionID string) (l SessionLog, raw json.RawMessage, err error) {
	var answer struct{ Data json.RawMessage }
	if _, err := c.read(ctx, "/console/api/views/session-log?"+url.Values{"id": {gameSessionID}}.Encode(), &answer); err != nil {
		return l, nil, err
	}
	return l, answer.Data, json.Unmarshal(answer.Data, &l)
}

// FollowSessionLog calls f with the end of the log now, and whenever it has changed. It
// reconnects when the connection is lost. It returns nil when ctx ends, f's error if f fails,
// and an *Error if the server refuses.
func (c *Client) FollowSessionLog(ctx context.Context, gameSessionID string, f func(SessionLog) error) error {
	const least, most = 200 * time.Millisecond, 5 * time.Second
	pause := least
	for {
		var told handled
		err := c.followLog(ctx, gameSessionID, func(l SessionLog) error {
			pause = least
			if err := f(l); err != nil {
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
		case errors.As(err, &refused) && refused.Status < 500:
			return err
		}
		if !wake.Sleep(ctx, pause+rand.N(pause)) {
			return nil
		}
		pause = min(2*pause, most)
	}
}

func (c *Client) followLog(ctx context.Context, gameSessionID string, f func(SessionLog) error) error {
	answer, err := c.open(ctx, http.MethodGet, "/console/api/live/session-log?"+url.Values{"id": {gameSessionID}, "every": {"1000"}}.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // a heartbeat
		}
		var frame struct {
			Data  *SessionLog
			Error string
		}
		if err := json.Unmarshal(lines.Bytes(), &frame); err != nil {
			return fmt.Errorf("decode log: %w", err)
		}
		if frame.Data == nil {
			return &Error{Status: http.StatusBadRequest, Message: frame.Error}
		}
		if err := f(*frame.Data); err != nil {
			return err
		}
	}
	return lines.Err()
}
