package flexmatch

import (
	"context"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// nextDue returns the earliest deadline of any ticket or match, or zero.
func (s *Service) nextDue() time.Time {
	view := s.st.View()
	return wake.Earliest(s.t.due.NextDue(view), s.t.matchDue.NextDue(view))
}

// sweepArgs carries the matchers' counts for overdue tickets.
type sweepArgs struct {
	Rules map[string][]RuleCount `json:"rules,omitzero"` // by ticket
}

func (s *Service) sweep(ctx context.Context) error {
	return s.cmd.sweep.Do(ctx, sweepArgs{Rules: s.countsOfOverdue()})
}

// countsOfOverdue returns the matchers' rule counts for tickets that are about to time
// out.
func (s *Service) countsOfOverdue() map[string][]RuleCount {
	var out map[string][]RuleCount
	for t := range s.t.due.Due(s.st.View(), time.Now()) {
		if counts := s.matchers.of(t.Configuration).counts(t.ID); counts != nil && t.Status.Waits() {
			if out == nil {
				out = map[string][]RuleCount{}
			}
			out[t.ID] = counts
		}
	}
	return out
}

func (s *Service) runSweep(tx *store.Tx, a sweepArgs) error {
	c := s.lives.in(tx)
	for m := range s.t.matchDue.Due(tx, tx.Now()) {
		c.Unanswered(m)
	}
	for t := range s.t.due.Due(tx, tx.Now()) {
		s.overdue(c, t.ID, a.Rules[t.ID])
	}
	return nil
}

// overdue times out a ticket, or archives one that has ended.
func (s *Service) overdue(c *change, id string, counts []RuleCount) {
	old := s.t.tickets.Get(c.tx, id) // as changed by this transaction
	switch {
	case old == nil || old.Due().IsZero() || old.Due().After(c.Now):
	case old.Status.Over():
		s.t.tickets.Archive(c.tx, id)
		s.t.requests.Archive(c.tx, id)
	default:
		t := *old
		t.Rules = counts
		c.End(&t, life.Overdue)
	}
}
