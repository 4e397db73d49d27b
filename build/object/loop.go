package object

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

const (
	sweepEvery   = 24 * time.Hour // interval of full sweeps
	sweepGrace   = 24 * time.Hour // a sweep ignores younger files
	maxRemembers = 100000         // contents to look at again; the sweep finds the rest
)

// discard removes contents after the transaction if nothing refers to them.
func (s *Service) discard(tx *store.Tx, parts []blob.Ref) {
	tx.OnCommit(func() {
		for _, p := range parts {
			s.waste.add(p.SHA256)
		}
	})
}

// nudgeFor makes the loop look again if a row has an end.
func (s *Service) nudgeFor(tx *store.Tx, end time.Time) {
	if !end.IsZero() {
		tx.OnCommit(s.loop.Nudge)
	}
}

// Run expires objects and uploads, and removes contents that nothing refers to, until
// ctx ends.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// next returns when there is something to do.
func (s *Service) next() time.Time {
	view := s.st.View()
	return wake.Earliest(s.waste.next(), s.expiring.NextDue(view), s.closing.NextDue(view))
}

// work does what is due.
func (s *Service) work(ctx context.Context) error {
	if err := s.cmd.expire.Do(ctx, struct{}{}); err != nil {
		return err
	}
	return s.waste.remove(time.Now())
}

func (s *Service) runExpire(tx *store.Tx, _ struct{}) error {
	for o := range s.expiring.Due(tx, tx.Now()) {
		s.DeleteIn(tx, o.Bucket, o.Key)
	}
	for u := range s.closing.Due(tx, tx.Now()) {
		s.forgetUpload(tx, u)
	}
	return nil
}

// used reports whether a committed row refers to a content.
func (s *Service) used(sha string) bool {
	view := s.st.View()
	return s.objectsWith.First(view, sha) != nil || s.partsWith.First(view, sha) != nil
}

// waste remembers contents that a row no longer refers to, and removes them. A content
// that is still being read or added is remembered again when that ends.
type waste struct {
	blobs *blob.Store
	used  func(sha string) bool // by a committed row
	nudge func()
	log   *slog.Logger

	mu    sync.Mutex
	refs  map[string]bool
	sweep time.Time // when to sweep next
}

// add makes the loop remove a content if nothing refers to it.
func (w *waste) add(sha string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refs == nil {
		w.refs = map[string]bool{}
	}
	if len(w.refs) < maxRemembers {
		w.refs[sha] = true
	}
	w.nudge()
}

// next returns when there is something to remove: now, or at the next sweep.
func (w *waste) next() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refs) > 0 || w.sweep.IsZero() {
		return time.Now()
	}
	return w.sweep
}

// remove removes the remembered contents; at the start and once a day, it sweeps all.
func (w *waste) remove(now time.Time) error {
	w.mu.Lock()
	refs := w.refs
	w.refs = nil
	w.mu.Unlock()
	var failed error // the others are still removed; the sweep returns to these
	for sha := range refs {
		_, err := w.blobs.Remove(sha, func() bool { return w.used(sha) })
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return failed
	}
	w.mu.Lock()
	due := !w.sweep.After(now)
	if due {
		w.sweep = now.Add(sweepEvery)
	}
	w.mu.Unlock()
	if !due {
		return nil
	}
	files, bytes, err := w.blobs.Sweep(now.Add(-sweepGrace), w.used)
	if files > 0 {
		w.log.Info("removed stored files that nothing refers to", "files", files, "bytes", bytes)
	}
	return err
}
