package pages

import (
	"slices"
	"sync"
)

// kept is how many of the newest things of a kind are kept.
const kept = 100

// newest keeps the newest things of a kind.
type newest[T any] struct {
	mu  sync.Mutex
	all []T // oldest first
}

func (n *newest[T]) add(v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.all) == kept {
		copy(n.all, n.all[1:])
		n.all = n.all[:kept-1]
	}
	n.all = append(n.all, v)
}

// before adds things, newest first, that came before all others.
func (n *newest[T]) before(all []T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all = slices.Clone(all[:min(len(all), kept-len(n.all))])
	slices.Reverse(all)
	n.all = append(all, n.all...)
}

// list returns what is kept, newest first.
func (n *newest[T]) list() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]T, 0, len(n.all))
	for i := len(n.all) - 1; i >= 0; i-- {
		out = append(out, n.all[i])
	}
	return out
}
