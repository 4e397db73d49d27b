package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

// Waits between attempts to reach Muster: they double, with a random deviation of up to
// a quarter so that many hosts do not connect at the same time.
const (
	firstWait = 250 * time.Millisecond
	lastWait  = 15 * time.Second
)

func longer(wait time.Duration) time.Duration { return min(2*wait, lastWait) }

func jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.75 + rand.Float64()/2))
}

// pause waits and reports whether it did so before ctx ended.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// nudge sends a signal without blocking; if one is already pending, that is enough.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
