package flexmatch

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// shared computes an answer once for all who ask for it at the same time, or while it is valid.
// Its zero value is ready to use.
type shared[T any] struct {
	mu sync.Mutex
	m  map[string]*answer[T]
}

// answer is what has been computed for a key, or is being computed.
type answer[T any] struct {
	done    chan struct{} // closed once value and err are known
	cancel  context.CancelFunc
	callers int // who wait for done; guarded by shared.mu

	value T
	err   error
	until time.Time // when the value ceases to be valid
}

const (
	// validFor is how long an answer is valid, as a multiple of the time that it took: computing
	// it again and again takes at most 2 % of a processor.
	validFor = 50
	// validMost bounds how old an answer may be.
	validMost = 15 * time.Second
)

// get returns the answer for a key. If there is no valid one, compute returns it and the time that
// it took; its context ends once every caller has gone. An error is not kept. The error is that of
// ctx if it ends first.
func (s *shared[T]) get(ctx context.Context, key string, compute func(context.Context) (T, time.Duration, error)) (T, error) {
	a := s.enter(ctx, key, compute)
	defer s.leave(key, a)
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// enter returns the answer for one more caller.
func (s *shared[T]) enter(ctx context.Context, key string, compute func(context.Context) (T, time.Duration, error)) *answer[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]*answer[T]{}
	}
	now := time.Now()
	for key, a := range s.m {
		if a.over() && !now.Before(a.until) {
			delete(s.m, key)
		}
	}
	a := s.m[key]
	if a == nil {
		within, cancel := context.WithCancel(context.WithoutCancel(ctx))
		a = &answer[T]{done: make(chan struct{}), cancel: cancel}
		s.m[key] = a
		go a.run(within, compute)
	}
	a.callers++
	return a
}

// leave is called by a caller that has its answer or does not want it any more.
func (s *shared[T]) leave(key string, a *answer[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.callers--; a.callers > 0 || a.over() {
		return
	}
	a.cancel()
	if s.m[key] == a {
		delete(s.m, key)
	}
}

// over reports whether the answer is known.
func (a *answer[T]) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (a *answer[T]) run(ctx context.Context, compute func(context.Context) (T, time.Duration, error)) {
	defer close(a.done)
	defer a.cancel()
	defer func() {
		if p := recover(); p != nil { // here, nobody else would
			a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var took time.Duration
	if a.value, took, a.err = compute(ctx); a.err == nil {
		a.until = time.Now().Add(min(validFor*took, validMost))
	}
}
