package serversdk

import (
	"sync"
	"time"
)

// bucket is a token bucket. Its zero value is full.
type bucket struct {
	used float64
	at   time.Time
}

// take uses one token of a bucket that holds burst and gains rate a second.
func (b *bucket) take(now time.Time, rate float64, burst int) bool {
	b.drain(now, rate)
	if b.used+1 > float64(burst) {
		return false
	}
	b.used++
	return true
}

func (b *bucket) drain(now time.Time, rate float64) {
	b.used = max(0, b.used-rate*now.Sub(b.at).Seconds())
	b.at = now
}

// refusals bounds how often one remote host is told no at full length.
type refusals struct {
	rate  float64
	burst int

	mu    sync.Mutex
	hosts map[string]*bucket
}

// maxRefused bounds how many hosts are remembered.
const maxRefused = 4096

func newRefusals(rate float64, burst int) *refusals {
	return &refusals{rate: rate, burst: burst, hosts: map[string]*bucket{}}
}

// allow tells whether the host may be heard.
func (r *refusals) allow(host string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.hosts[host]
	if b == nil {
		return true
	}
	b.drain(now, r.rate)
	return b.used+1 <= float64(r.burst)
}

// note counts a refusal.
func (r *refusals) note(host string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.hosts[host]
	if b == nil {
		r.makeRoom(now)
		b = &bucket{at: now}
		r.hosts[host] = b
	}
	b.take(now, r.rate, r.burst)
}

// makeRoom forgets hosts that have been quiet, or else all of them.
func (r *refusals) makeRoom(now time.Time) {
	if len(r.hosts) < maxRefused {
		return
	}
	for host, b := range r.hosts {
		if b.drain(now, r.rate); b.used == 0 {
			delete(r.hosts, host)
		}
	}
	if len(r.hosts) >= maxRefused {
		clear(r.hosts)
	}
}
