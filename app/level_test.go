package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/feature"
)

// Raising the feature level is tried again until what prevented it is mended, and then only
// when another level is agreed.
func TestKeepRaising(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var log bytes.Buffer
		level, changed := feature.Level(3), make(chan struct{})
		agreed := func() (feature.Level, <-chan struct{}) { return level, changed }
		tried, outcome := make(chan feature.Level), make(chan error)
		raise := func(_ context.Context, to feature.Level) error {
			tried <- to
			return <-outcome
		}
		go keepRaising(ctx, slog.New(slog.NewTextHandler(&log, nil)), agreed, raise)
		expect := func(after time.Duration, err error) {
			t.Helper()
			from := time.Now()
			if to := <-tried; to != level || time.Since(from) != after {
				t.Errorf("raised to %d after %v, want %d after %v", to, time.Since(from), level, after)
			}
			outcome <- err
		}
		rest := func() {
			t.Helper()
			select {
			case to := <-tried:
				t.Fatalf("raised to %d again", to)
			case <-time.After(time.Hour):
			}
		}
		expect(0, nil)
		rest()
		before := changed
		level, changed = 4, make(chan struct{})
		close(before)
		expect(0, errors.New("the disk is full"))
		expect(raiseAgain, errors.New("the disk is full"))
		expect(raiseAgain, nil)
		rest()
		if n := strings.Count(log.String(), "the disk is full"); n != 2 {
			t.Errorf("logged %d times, want 2: %s", n, log.String())
		}
	})
}
