package store

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// outage records since when no change has become durable, and why. The journal begins and
// ends it; any goroutine may read it.
type outage struct {
	log *slog.Logger
	now atomic.Pointer[stalled] // nil while changes become durable

	mu   sync.Mutex
	late chan struct{} // closed while now is not nil
}

// stalled is one outage.
type stalled struct {
	since time.Time
	err   error // of the last attempt
}

func newOutage(log *slog.Logger) outage { return outage{log: log, late: make(chan struct{})} }

// begin records that an attempt to make changes durable failed.
func (o *outage) begin(err error) {
	was := o.now.Load()
	now := &stalled{since: time.Now(), err: err}
	if was != nil {
		now.since = was.since
	} else {
		o.log.Warn("changes do not become durable; requests wait while this is tried again", "error", err)
	}
	o.now.Store(now)
	if was == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		close(o.late)
	}
}

// end records that changes become durable again.
func (o *outage) end() {
	was := o.now.Swap(nil)
	if was == nil {
		return
	}
	o.mu.Lock()
	o.late = make(chan struct{})
	o.mu.Unlock()
	o.log.Info("changes become durable again", "after", time.Since(was.since))
}

// lasts reports whether the last attempt to make changes durable failed.
func (o *outage) lasts() bool { return o.now.Load() != nil }

// begun returns a channel that is closed when an outage begins, or has begun.
func (o *outage) begun() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.late
}

// Stalled returns for how long no change could be made durable, and why the last
// attempt failed; the error is nil if the last attempt succeeded.
func (s *Store) Stalled() (time.Duration, error) {
	if now := s.outage.now.Load(); now != nil {
		return time.Since(now.since), now.err
	}
	return 0, nil
}

// outlast waits until over is closed, for at most patience. It is called only during an
// outage or while the state is read again, so that other commands need no timer.
func outlast(ctx context.Context, over <-chan struct{}, patience time.Duration) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return fault.New(fault.InternalService, "the database has not answered for too long; the change may still be made. Try again")
	}
}

// ask reads from SQL. While the database is unavailable it retries, for as long as a
// command would wait.
func ask[T any](ctx context.Context, s *Store, read func(context.Context, DB) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Patience)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		var answer T
		db, err := s.open()
		if err == nil {
			answer, err = read(ctx, db)
		}
		if !away(err) || s.journal.stopping() {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(pause):
		}
	}
}
