package placement

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/store"
)

const (
	sweepAtOnce = 500         // how many overdue placements one transaction ends
	afterError  = time.Second // how long the loop waits when a write failed
)

// Run places what waits and ends what is overdue, until ctx ends. It looks when
// a placement starts or changes, a process becomes free, a latency cap changes,
// or a deadline passes.
func (s *Service) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	turn := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.nudge:
		}
		wake, err := s.work(ctx, &turn)
		switch {
		case err != nil:
			timer.Reset(afterError)
		case wake.IsZero():
			timer.Stop()
		default:
			timer.Reset(max(0, time.Until(wake)))
		}
	}
}

// work does what can be done now and tells when there may be more to do.
func (s *Service) work(ctx context.Context, turn *int) (wake time.Time, err error) {
	for {
		due := s.nextDue()
		if !due.IsZero() && !due.After(time.Now()) {
			if _, err := s.cmd.sweep.Do(ctx, struct{}{}); err != nil {
				return wake, err
			}
			continue
		}
		p := plan(&s.t, s.st.View(), s, time.Now(), *turn)
		if len(p.Proposals) == 0 {
			return earliest(due, p.Wake), nil
		}
		*turn += len(p.Proposals)
		made, err := s.cmd.place.Do(ctx, p.Proposals)
		if err != nil {
			return wake, err
		}
		if made == 0 { // what was free is taken; a nudge comes when that changes
			return earliest(s.nextDue(), p.Wake), nil
		}
	}
}

// nextDue is the earliest deadline of any placement, or zero.
func (s *Service) nextDue() time.Time {
	if p := s.t.due.FirstPrefix(s.st.View(), ""); p != nil {
		return p.due()
	}
	return time.Time{}
}

func (s *Service) runSweep(tx *store.Tx, _ struct{}) (struct{}, error) {
	n := 0
	for _, p := range s.t.due.Prefix(tx, "") {
		if p.due().After(tx.Now()) || n == sweepAtOnce {
			break
		}
		s.overdue(tx, p)
		n++
	}
	return struct{}{}, nil
}

// overdue times out a placement, or archives one that is over.
func (s *Service) overdue(tx *store.Tx, p *Placement) {
	if p.Over() {
		s.t.placements.Archive(tx, p.ID)
		s.t.requests.Archive(tx, p.ID)
		return
	}
	if q := s.t.queues.Get(tx, p.Queue); q != nil && !p.Trying() {
		last := *p
		last.keep(s.roundNow(tx, q, p, tx.Now()))
		p = &last
	}
	s.finish(tx, p, TimedOut, "no place was found within the queue's timeout")
}

// earliest gives the earlier of two moments, either of which may be zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
