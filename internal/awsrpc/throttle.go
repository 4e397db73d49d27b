package awsrpc

import (
	"math"
	"sync"
	"time"
)

// Rate is a token bucket's rate.
type Rate struct {
	PerSecond float64 // tokens a second; more than 0
	Burst     int     // most tokens kept; 0 is PerSecond rounded up
}

// bucket is a token bucket; it begins full.
type bucket struct {
	perSecond float64
	burst     float64

	mu     sync.Mutex
	tokens float64
	last   time.Time
}

func newBucket(r Rate) *bucket {
	burst := float64(r.Burst)
	if burst == 0 {
		burst = math.Ceil(r.PerSecond)
	}
	return &bucket{perSecond: r.PerSecond, burst: burst, tokens: burst}
}

// take takes a token, if there is one.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if elapsed := now.Sub(b.last); elapsed > 0 {
		if !b.last.IsZero() {
			b.tokens = min(b.burst, b.tokens+elapsed.Seconds()*b.perSecond)
		}
		b.last = now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
