package identity

import (
	"context"
	"iter"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// sweepEvery is how often expired rows are removed and keys are checked.
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

// Run removes what has expired and creates signing keys in time, until ctx ends.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// Open creates the first signing key if there is none. It must be called once the store
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

// runSweep removes what has expired, up to a limit, and reports whether there is more.
func (s *Service) runSweep(tx *store.Tx, _ struct{}) (more bool, err error) {
	now := tx.Now()
	sweep(s.t.familyExpires.Due(tx, now), func(f *Family) int { s.t.families.Delete(tx, f.ID); return 1 })
	sweep(s.t.usedExpires.Due(tx, now), func(u *usedProof) int { s.t.used.Delete(tx, u.Hash); return 1 })
	sweep(s.t.conflictEnds.Due(tx, now), func(c *conflict) int { s.t.conflicts.Delete(tx, c.PlayerID); return 1 })
	sweep(s.t.playerPurge.Due(tx, now), func(p *Player) int { return s.erase(tx, p.ID, "") })
	if s.opts.GuestKeep > 0 {
		sweep(s.t.playerIdle.Due(tx, now), func(p *Player) int { return s.retire(tx, p) })
	}
	for k := range s.t.keys.All(tx) {
		if !k.Remove.After(now) {
			s.t.keys.Delete(tx, k.ID)
		}
	}
	return s.anyExpired(tx, now), nil
}

// sweep removes what is due until store.DueAtOnce rows are removed; remove returns how many
// rows it removed.
func sweep[V any](due iter.Seq[*V], remove func(*V) int) {
	n := 0
	for row := range due {
		if n >= store.DueAtOnce {
			return
		}
		n += remove(row)
	}
}

// anyExpired reports whether a sweep would remove anything.
func (s *Service) anyExpired(r store.Reader, now time.Time) bool {
	if s.t.familyExpires.AnyDue(r, now) || s.t.usedExpires.AnyDue(r, now) || s.t.conflictEnds.AnyDue(r, now) || s.t.playerPurge.AnyDue(r, now) ||
		s.opts.GuestKeep > 0 && s.t.playerIdle.AnyDue(r, now) {
		return true
	}
	for k := range s.t.keys.All(r) {
		if !k.Remove.After(now) {
			return true
		}
	}
	return false
}
