package flexmatch

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// turnTime bounds a pass while others wait: those for their turn, or a caller for the pool.
const turnTime = 20 * time.Millisecond

// halfLife is the time after which half of what a configuration has used no longer counts.
const halfLife = time.Second

// turns shares the processors among the passes of all configurations. A pass takes a turn, with a
// slot for each goroutine that it uses; there is a slot for each processor. Whoever has used the
// least lately goes first, so a configuration that uses less than others waits for one turn at most,
// however many others there are.
type turns struct {
	clock   func() time.Time
	waiters atomic.Int32 // len(waiting)

	mu      sync.Mutex
	free    int     // slots
	waiting []*turn // in order of arrival
}

func newTurns(slots int, clock func() time.Time) *turns { return &turns{free: slots, clock: clock} }

// share is what a configuration has had of the processors.
type share struct {
	used  float64      // seconds of processors, as it counts at a time; guarded by turns.mu
	at    time.Time    // guarded by turns.mu
	asked atomic.Int32 // callers that wait for its pool
}

// lately returns what has been used as it counts now. The caller must hold turns.mu.
func (s *share) lately(now time.Time) float64 {
	return s.used * math.Exp2(-now.Sub(s.at).Seconds()/halfLife.Seconds())
}

// turn is one pass's use of the processors.
type turn struct {
	of    *turns
	share *share
	slots int           // at first those wanted, then those taken
	began chan struct{} // closed when it begins
	at    time.Time     // when it began
	hurry time.Duration // how many times as fast its clock runs while others wait

	mu     sync.Mutex // guards what follows
	looked time.Time  // at the clock, last
	shown  time.Time  // by its own clock then
}

// take waits for a turn with at least one slot, and at most so many. The error is that of ctx, if
// it ends first.
func (t *turns) take(ctx context.Context, s *share, slots int) (*turn, error) {
	in := &turn{of: t, share: s, slots: slots, hurry: 1, began: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, in)
	t.begin()
	t.mu.Unlock()
	select {
	case <-in.began:
		return in, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.waiting, in); at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
	} else {
		t.free += in.slots
	}
	t.begin()
	return nil, ctx.Err()
}

// begin begins the turns for which there are slots, and divides these among them. The caller must
// hold mu.
func (t *turns) begin() {
	now := t.clock()
	for t.free > 0 && len(t.waiting) > 0 {
		next := slices.MinFunc(t.waiting, func(a, b *turn) int { return cmp.Compare(a.share.lately(now), b.share.lately(now)) })
		next.slots, next.at = max(1, min(next.slots, t.free/len(t.waiting))), now
		t.free -= next.slots
		t.waiting = slices.DeleteFunc(t.waiting, func(other *turn) bool { return other == next })
		close(next.began)
	}
	t.waiters.Store(int32(len(t.waiting)))
}

// end ends the turn, and returns how long it took.
func (in *turn) end() time.Duration {
	t := in.of
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	took := now.Sub(in.at)
	in.share.used, in.share.at = in.share.lately(now)+took.Seconds()*float64(in.slots), now
	t.free += in.slots
	t.begin()
	return took
}

// now is the clock of the pass. It starts when it is first read, and runs faster while others wait:
// the bound of a pass in time then comes earlier, and what part of it is reserved stays the same.
func (in *turn) now() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	now := in.of.clock()
	if in.looked.IsZero() {
		in.looked, in.shown = now, now
	}
	step := now.Sub(in.looked)
	if in.of.waiters.Load() > 0 || in.share.asked.Load() > 0 {
		step *= in.hurry
	}
	in.looked, in.shown = now, in.shown.Add(step)
	return in.shown
}
