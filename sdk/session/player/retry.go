package player

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/musterhq/muster/sdk/session"
)

// Constants of repeated requests.
const (
	mostRepeats = 3
	longestWait = 30 * time.Second // that an answer may ask for; else the caller gets the error
)

// repeat makes a request, and makes it again a few times if the server was not reached or
// had too much to do, unless a repetition could do something else than the request alone.
func repeat(ctx context.Context, r call, make func() error) error {
	for failures := 0; ; failures++ {
		err := make()
		wait, passes := passing(err)
		if !passes || !r.repeatable() || failures == mostRepeats || wait > longestWait || ctx.Err() != nil {
			return err
		}
		if wait > 0 {
			wait += time.Duration(rand.Float64() * float64(firstPause)) // others were told the same
		} else {
			wait = time.Duration(rand.Float64() * float64(firstPause<<failures))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// repeatable reports whether a request that was answered or lost can be made again: a POST
// would do twice what it does, and a conditional write would be refused for what it did.
func (r *call) repeatable() bool {
	switch r.method {
	case http.MethodGet:
		return !r.once
	case http.MethodPut, http.MethodDelete:
		return r.header.Get("If-Match") == "" && r.header.Get("If-None-Match") == ""
	}
	return false
}

// passing reports whether an error may pass, and how long the server asks to wait.
func passing(err error) (wait time.Duration, passes bool) {
	if p, ok := errors.AsType[*Problem](err); ok {
		switch p.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return p.RetryAfter, true
		}
		return 0, false
	}
	return 0, errors.Is(err, session.ErrUnavailable)
}
