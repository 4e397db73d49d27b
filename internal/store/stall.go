package store

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// stalled records since when no change has become durable, and why.
type stalled struct {
	since time.Time
	err   error // of the last attempt
}

// stall records that an attempt to make changes durable failed.
func (s *Store) stall(err error) {
	was := s.stalled.Load()
	now := &stalled{since: time.Now(), err: err}
	if was != nil {
		now.since = was.since
	} else {
		s.log.Warn("changes do not become durable; requests wait while this is tried again", "error", err)
	}
	s.stalled.Store(now)
	if was == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.stalling)
	}
}

// resume records that changes become durable again.
func (s *Store) resume() {
	if s.stalled.Load() == nil {
		return
	}
	was := s.stalled.Swap(nil)
	s.mu.Lock()
	s.stalling = make(chan struct{})
	s.mu.Unlock()
	s.log.Info("changes become durable again", "after", time.Since(was.since))
}

// Stalled returns for how long no change could be made durable, and why the last
// attempt failed; the error is nil if the last attempt succeeded.
func (s *Store) Stalled() (time.Duration, error) {
	if now := s.stalled.Load(); now != nil {
		return time.Since(now.since), now.err
	}
	return 0, nil
}

// outlast waits until over is closed, for at most as long as a command may wait for
// an unavailable database. A timer is started only then.
func (s *Store) outlast(ctx context.Context, over <-chan struct{}) error {
	late := time.NewTimer(s.opts.Patience)
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
		if !away(err) || s.stopping() {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(pause):
		}
	}
}
