package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

// Waits between attempts to reach Muster: doubling, with a quarter of chance
// both ways so that many hosts do not come at once.
const (
	firstWait = 250 * time.Millisecond
	lastWait  = 15 * time.Second
)

func longer(wait time.Duration) time.Duration { return min(2*wait, lastWait) }

func jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.75 + rand.Float64()/2))
}

// pause waits; false if ctx ends first.
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

// nudge says "look" without waiting; one that is pending already is enough.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
