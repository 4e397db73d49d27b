package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// SessionLog is the end of the log of the process that hosts a game session, or hosted it
// (pages.SessionLog).
type SessionLog struct {
	Why     string      `json:"why,omitempty"`    // why there is none now
	Ended   bool        `json:"ended,omitempty"`  // the game session has ended
	Stored  bool        `json:"stored,omitempty"` // the process, too; this is what was stored of its log
	Process string      `json:"process,omitempty"`
	Streams []LogStream `json:"streams"`
}

// LogStream is the end of one of a process's outputs.
type LogStream struct {
	Name string `json:"name"` // output, or errors if these are separate
	Text string `json:"text"`
	End  int64  `json:"end,omitempty"` // how many bytes were written to the current file; 0: not known
}

// SessionLogs reads what the processes of game sessions write.
type SessionLogs struct{ client *Client }

// SessionLogs returns the calls about logs of game sessions.
func (c *Client) SessionLogs() SessionLogs { return SessionLogs{c} }

// Get returns the end of the log of a game session's process; raw is the whole document.
func (l SessionLogs) Get(ctx context.Context, gameSessionID string) (end SessionLog, raw json.RawMessage, err error) {
	var answer struct{ Data json.RawMessage }
	if _, err := l.client.read(ctx, "/console/api/views/session-log?"+url.Values{"id": {gameSessionID}}.Encode(), &answer); err != nil {
		return end, nil, err
	}
	return end, answer.Data, json.Unmarshal(answer.Data, &end)
}

// Follow calls f with the end of the log now, and whenever it has changed. It reconnects when
// the connection is lost. It returns nil when ctx ends, f's error if f fails, and an *Error if
// the server refuses.
func (l SessionLogs) Follow(ctx context.Context, gameSessionID string, f func(SessionLog) error) error {
	path := "/console/api/live/session-log?" + url.Values{"id": {gameSessionID}, "every": {"1000"}}.Encode()
	s := stream{client: l.client, path: func() string { return path }, longest: 4 << 20, pause: usualPause}
	return s.run(ctx, func(line []byte) error {
		var frame struct {
			Data  *SessionLog
			Error string
		}
		if err := json.Unmarshal(line, &frame); err != nil {
			return fmt.Errorf("decode log: %w", err)
		}
		if frame.Data == nil {
			return &Error{Status: http.StatusBadRequest, Message: frame.Error}
		}
		if err := f(*frame.Data); err != nil {
			return handled{err}
		}
		return nil
	})
}
