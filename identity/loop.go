package identity

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// sweepAtOnce bounds how many rows of a kind one transaction removes.
const sweepAtOnce = 500

// sweepEvery is how often what has expired is removed, and keys are looked after.
const sweepEvery = time.Minute

// loop is the package's time-driven work.
type loop struct{ *wake.Loop }

func newLoop(s *Service) loop {
	var next time.Time
	return loop{wake.NewLoop(
		func() time.Time {
			if next.IsZero() {
				next = time.Now()
			}
			return next
		},
		func(ctx context.Context) error {
			err := s.tend(ctx)
			if err == nil {
				next = time.Now().Add(sweepEvery)
			}
			return err
		},
	)}
}

// Run removes what has expired and keeps signing keys coming, until ctx ends.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// Open makes the first signing key where there is none. Call it once the store
// is open and before the first login.
func (s *Service) Open(ctx context.Context) error { return s.keepKeys(ctx) }

func (s *Service) tend(ctx context.Context) error {
	err := s.keepKeys(ctx)
	for more := err == nil && s.anyExpired(s.st.View(), time.Now()); more; {
		more, err = s.cmd.sweep.Do(ctx, struct{}{})
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("players not looked after", "error", err)
	}
	return err
}

// anyExpired keeps the sweep from running for nothing.
func (s *Service) anyExpired(r store.Reader, now time.Time) bool {
	if f := s.t.familyExpires.FirstPrefix(r, ""); f != nil && !f.Expires.After(now) {
		return true
	}
	if u := s.t.usedExpires.FirstPrefix(r, ""); u != nil && !u.Expires.After(now) {
		return true
	}
	if c := s.t.conflictEnds.FirstPrefix(r, ""); c != nil && !c.expires().After(now) {
		return true
	}
	if p := s.t.playerPurge.FirstPrefix(r, ""); p != nil && !p.Purge.After(now) {
		return true
	}
	for k := range s.t.keys.All(r) {
		if !k.Remove.After(now) {
			return true
		}
	}
	return false
}

// runSweep removes what has expired, up to a bound, and tells whether there is more.
func (s *Service) runSweep(tx *store.Tx, _ struct{}) (more bool, err error) {
	now, n := tx.Now(), 0
	for _, f := range s.t.familyExpires.Prefix(tx, "") {
		if f.Expires.After(now) || n == sweepAtOnce {
			break
		}
		s.t.families.Delete(tx, f.ID)
		n++
	}
	n = 0
	for _, u := range s.t.usedExpires.Prefix(tx, "") {
		if u.Expires.After(now) || n == sweepAtOnce {
			break
		}
		s.t.used.Delete(tx, u.Hash)
		n++
	}
	n = 0
	for _, c := range s.t.conflictEnds.Prefix(tx, "") {
		if c.expires().After(now) || n == sweepAtOnce {
			break
		}
		s.t.conflicts.Delete(tx, c.PlayerID)
		n++
	}
	n = 0
	for _, p := range s.t.playerPurge.Prefix(tx, "") {
		if p.Purge.After(now) || n >= sweepAtOnce {
			break
		}
		n += s.erase(tx, p.ID)
	}
	for k := range s.t.keys.All(tx) {
		if !k.Remove.After(now) {
			s.t.keys.Delete(tx, k.ID)
		}
	}
	return s.anyExpired(tx, now), nil
}
