package object

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/store"
)

const (
	atOnce       = 200            // rows that one command expires
	sweepEvery   = 24 * time.Hour // interval of full sweeps
	sweepGrace   = 24 * time.Hour // a sweep ignores younger files
	maxRemembers = 100000         // contents to look at again; the sweep finds the rest
)

// waste remembers contents that a row no longer refers to. A content that is still
// being read or added is remembered again when that ends (judge).
type waste struct {
	mu    sync.Mutex
	refs  map[string]bool
	sweep time.Time // when to sweep next
}

// discard removes contents after the transaction if nothing refers to them.
func (s *Service) discard(tx *store.Tx, parts []blob.Ref) {
	tx.OnCommit(func() {
		for _, p := range parts {
			s.judge(p.SHA256)
		}
	})
}

// judge makes the loop remove a content if nothing refers to it.
func (s *Service) judge(sha string) {
	s.waste.mu.Lock()
	defer s.waste.mu.Unlock()
	if s.waste.refs == nil {
		s.waste.refs = map[string]bool{}
	}
	if len(s.waste.refs) < maxRemembers {
		s.waste.refs[sha] = true
	}
	s.loop.Nudge()
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
	s.waste.mu.Lock()
	first, waiting := s.waste.sweep, len(s.waste.refs) > 0
	s.waste.mu.Unlock()
	view := s.st.View()
	if waiting || first.IsZero() {
		return time.Now()
	}
	if o := s.expiring.FirstPrefix(view, ""); o != nil && o.Expires.Before(first) {
		first = o.Expires
	}
	if u := s.closing.FirstPrefix(view, ""); u != nil && u.Begun.Add(s.opts.UploadLife).Before(first) {
		first = u.Begun.Add(s.opts.UploadLife)
	}
	return first
}

// work does what is due, and logs an error.
func (s *Service) work(ctx context.Context) error {
	err := s.tidy(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.Error("stored files not tidied; trying again", "error", err)
	}
	return err
}

func (s *Service) tidy(ctx context.Context) error {
	if _, err := s.cmd.expire.Do(ctx, struct{}{}); err != nil {
		return err
	}
	if err := s.removeWaste(); err != nil {
		return err
	}
	return s.sweepIfDue(time.Now())
}

func (s *Service) runExpire(tx *store.Tx, _ struct{}) (struct{}, error) {
	n := 0
	for _, o := range s.expiring.Prefix(tx, "") {
		if o.Expires.After(tx.Now()) || n == atOnce {
			break
		}
		s.DeleteIn(tx, o.Bucket, o.Key)
		n++
	}
	for _, u := range s.closing.Prefix(tx, "") {
		if u.Begun.Add(s.opts.UploadLife).After(tx.Now()) || n >= atOnce {
			break
		}
		s.forgetUpload(tx, u)
		n++
	}
	return struct{}{}, nil
}

func (s *Service) removeWaste() error {
	s.waste.mu.Lock()
	refs := s.waste.refs
	s.waste.refs = nil
	s.waste.mu.Unlock()
	var failed error // the others are still removed; the sweep returns to these
	for sha := range refs {
		_, err := s.blobs.Remove(sha, func() bool { return s.used(sha) })
		failed = errors.Join(failed, err)
	}
	return failed
}

// sweepIfDue sweeps all files at the start and once a day.
func (s *Service) sweepIfDue(now time.Time) error {
	s.waste.mu.Lock()
	due := !s.waste.sweep.After(now)
	if due {
		s.waste.sweep = now.Add(sweepEvery)
	}
	s.waste.mu.Unlock()
	if !due {
		return nil
	}
	files, bytes, err := s.blobs.Sweep(now.Add(-sweepGrace), s.used)
	if files > 0 {
		s.log.Info("removed stored files that nothing refers to", "files", files, "bytes", bytes)
	}
	return err
}

// used reports whether a committed row refers to a content.
func (s *Service) used(sha string) bool {
	view := s.st.View()
	return s.objectsWith.First(view, sha) != nil || s.partsWith.First(view, sha) != nil
}
