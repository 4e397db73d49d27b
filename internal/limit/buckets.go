package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds how many buckets are kept; each takes about 150 bytes and its key.
const maxBuckets = 1 << 17

// Buckets holds a token bucket for each key. A nil *Buckets limits nobody.
//
// Buckets are kept in two generations. A key that is used moves to the younger one.
// When the younger one is as old as an empty bucket takes to fill up, or holds half
// of the buckets that may be kept, it becomes the older one, and the buckets of the
// older one are dropped. A bucket that is dropped for its age is full, so nothing is
// lost; a flood of new keys drops the buckets that were used least recently.
type Buckets[K comparable] struct {
	rate   Rate
	refill time.Duration

	mu         sync.Mutex
	young, old map[K]*rate.Limiter
	turned     time.Time // when young began
}

// NewBuckets returns buckets that fill up at a rate; nil where that is no limit.
func NewBuckets[K comparable](r Rate) *Buckets[K] {
	if r.PerSecond <= 0 {
		return nil
	}
	r.Burst = max(r.Burst, 1)
	return &Buckets[K]{rate: r, refill: r.refill(), young: map[K]*rate.Limiter{}}
}

// Rate returns how often each key may do something.
func (b *Buckets[K]) Rate() Rate {
	if b == nil {
		return Off
	}
	return b.rate
}

// Take takes a token from a key's bucket. Where there is none it returns how long
// that will be so, and takes nothing.
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

// Wait returns how long there will be no token in a key's bucket, and takes none.
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

// until returns how long it takes until a bucket has a token.
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

// bucket returns a key's bucket, which is full where the key is new.
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
