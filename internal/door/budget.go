package door

import (
	"net/netip"
	"sync"
)

// budget bounds a number of bytes, in total and for each network.
type budget struct {
	most, each int64

	mu   sync.Mutex
	held int64
	of   map[netip.Prefix]int64
}

func newBudget(most, each int64) *budget {
	return &budget{most: most, each: each, of: map[netip.Prefix]int64{}}
}

// take reserves n bytes for a network and reports whether they were available.
func (b *budget) take(network netip.Prefix, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n > b.most || b.of[network]+n > b.each {
		return false
	}
	b.held += n
	b.of[network] += n
	return true
}

// give releases n bytes of a network.
func (b *budget) give(network netip.Prefix, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.of[network] -= n; b.of[network] == 0 {
		delete(b.of, network)
	}
}

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}
