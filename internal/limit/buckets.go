package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds how many buckets are kept; each takes about 150 bytes plus its key.
const maxBuckets = 1 << 17

// Buckets holds a token bucket for each key. A nil *Buckets has no limit.
//
// Buckets are kept in two generations. A key that is used moves to the younger one.
// When the younger one reaches the age in which an empty bucket fills up, or has half
// of maxBuckets, it becomes the older one, and the buckets of the older one are
// dropped. A bucket dropped for its age is full, so nothing is lost; a flood of new
// keys drops the least recently used buckets.
type Buckets[K comparable] struct {
	rate   Rate
	refill time.Duration

	mu         sync.Mutex
	young, old map[K]*rate.Limiter
	turned     time.Time // when young began
}

// NewBuckets returns buckets that fill up at a rate, or nil if the rate is no limit.
func NewBuckets[K comparable](r Rate) *Buckets[K] {
	if r.PerSecond <= 0 {
		return nil
	}
	r.Burst = max(r.Burst, 1)
	return &Buckets[K]{rate: r, refill: r.refill(), young: map[K]*rate.Limiter{}}
}

// Rate returns the rate of each key.
func (b *Buckets[K]) Rate() Rate {
	if b == nil {
		return Off
	}
	return b.rate
}

// Take takes a token from a key's bucket and returns 0. If there is none, it returns
// the time until there will be one, and takes nothing.
func (b *Buckets[K]) Take(key K, now time.Time) (wait time.Duration) {
	if b == nil {
		return 0
	}
	of := b.bucket(key, now)
	if of.AllowN(now, 1) {
		return 0
	}
	return b.until(of, now)
}

// Wait returns the time until a key's bucket has a token, and takes none.
func (b *Buckets[K]) Wait(key K, now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	of := b.find(key)
	b.mu.Unlock()
	if of == nil || of.TokensAt(now) >= 1 {
		return 0
	}
	return b.until(of, now)
}

// until returns the time until a bucket has a token.
func (b *Buckets[K]) until(of *rate.Limiter, now time.Time) time.Duration {
	return max(1, seconds((1-of.TokensAt(now))/b.rate.PerSecond))
}

// find returns a key's bucket, or nil. The caller must hold mu.
func (b *Buckets[K]) find(key K) *rate.Limiter {
	if of := b.young[key]; of != nil {
		return of
	}
	return b.old[key]
}

// bucket returns a key's bucket; that of a new key is full.
func (b *Buckets[K]) bucket(key K, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.young) >= maxBuckets/2 || now.Sub(b.turned) >= b.refill {
		b.turn(now)
	}
	of := b.young[key]
	if of == nil {
		if of = b.old[key]; of == nil {
			of = rate.NewLimiter(rate.Limit(b.rate.PerSecond), b.rate.Burst)
		}
		b.young[key] = of
	}
	return of
}

// turn begins a generation. The caller must hold mu.
func (b *Buckets[K]) turn(now time.Time) {
	b.old, b.young, b.turned = b.young, map[K]*rate.Limiter{}, now
}
