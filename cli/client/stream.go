package client

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

// stream reads lines that a server writes as things happen.
type stream struct {
	client  *Client
	path    func() string // to request now
	longest int           // bytes of a line
	once    bool          // do not reconnect
	lost    func(error)   // called before each new attempt with the error that ended the last one; may be nil
	pause   time.Duration // before the first attempt to reconnect; doubles up to maxPause
}

const (
	usualPause = 200 * time.Millisecond
	// maxPause bounds the time between attempts to reconnect.
	maxPause = 5 * time.Second
)

// handled marks an error as returned by the caller's function, which ends a stream.
type handled struct{ error }

// run calls f with each line, and reconnects when the connection is lost. It returns nil when
// ctx ends, the error that f has marked as handled, and an *Error if the server refuses.
func (s *stream) run(ctx context.Context, f func(line []byte) error) error {
	pause := s.pause
	for {
		err := s.read(ctx, func(line []byte) error {
			err := f(line)
			if err == nil {
				pause = s.pause
			}
			return err
		})
		var told handled
		var refused *Error
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &told):
			return told.error
		case errors.As(err, &refused) && refused.Status < 500, s.once:
			return err
		}
		if s.lost != nil {
			s.lost(err)
		}
		if !wake.Sleep(ctx, pause+rand.N(pause)) {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// read calls f with each line of one response.
func (s *stream) read(ctx context.Context, f func(line []byte) error) error {
	answer, err := s.client.open(ctx, http.MethodGet, s.path(), nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, s.longest)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // a heartbeat
		}
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}
