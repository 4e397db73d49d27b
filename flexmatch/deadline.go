package flexmatch

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// sweepAtOnce is the most overdue rows of a kind that one transaction handles.
const sweepAtOnce = 500

// What AWS writes into a ticket that has timed out (FlexMatch matchmaking events).
const (
	timedOutReason  = "TimedOut"
	timedOutMessage = "Removed from matchmaking due to timing out."
)

// nextDue returns the earliest deadline of any ticket or match, or zero.
func (s *Service) nextDue() time.Time {
	view := s.st.View()
	var first time.Time
	if t := s.t.due.FirstPrefix(view, ""); t != nil {
		first = t.due()
	}
	if m := s.t.matchDue.FirstPrefix(view, ""); m != nil && (first.IsZero() || m.due().Before(first)) {
		first = m.due()
	}
	return first
}

// sweepArgs carries the matchers' counts for overdue tickets.
type sweepArgs struct {
	Rules map[string][]RuleCount `json:"rules,omitzero"` // by ticket
}

func (s *Service) sweep(ctx context.Context) error {
	_, err := s.cmd.sweep.Do(ctx, sweepArgs{Rules: s.countsOfOverdue()})
	return err
}

// countsOfOverdue returns the matchers' rule counts for tickets that are about to time
// out.
func (s *Service) countsOfOverdue() map[string][]RuleCount {
	var out map[string][]RuleCount
	n := 0
	for _, t := range s.t.due.Prefix(s.st.View(), "") {
		if t.due().After(time.Now()) || n == sweepAtOnce {
			break
		}
		n++
		if counts := s.matchers.counts(t.Configuration, t.ID); counts != nil && t.Status.Waits() {
			if out == nil {
				out = map[string][]RuleCount{}
			}
			out[t.ID] = counts
		}
	}
	return out
}

func (s *Service) runSweep(tx *store.Tx, a sweepArgs) (struct{}, error) {
	n := 0
	for _, m := range s.t.matchDue.Prefix(tx, "") {
		if m.due().After(tx.Now()) || n == sweepAtOnce {
			break
		}
		s.unaccepted(tx, m, s.load(tx, m.Tickets), acceptTimedOut)
		n++
	}
	n = 0
	for _, t := range s.t.due.Prefix(tx, "") {
		if t.due().After(tx.Now()) || n == sweepAtOnce {
			break
		}
		s.overdue(tx, t.ID, a.Rules[t.ID])
		n++
	}
	return struct{}{}, nil
}

// overdue times out a ticket, or archives one that has ended.
func (s *Service) overdue(tx *store.Tx, id string, counts []RuleCount) {
	old := s.t.tickets.Get(tx, id) // as changed by this transaction
	switch {
	case old == nil || old.due().IsZero() || old.due().After(tx.Now()):
	case old.Status.Over():
		s.t.tickets.Archive(tx, id)
		s.t.requests.Archive(tx, id)
	default:
		s.timeOut(tx, old.edit(), counts)
	}
}

// timeOut ends a ticket whose request has timed out.
func (s *Service) timeOut(tx *store.Tx, t *Ticket, counts []RuleCount) {
	t.Reason, t.Message, t.Rules = timedOutReason, timedOutMessage, counts
	s.end(tx, t, TimedOut)
	s.announceEnd(tx, t, "MatchmakingTimedOut")
	s.tellBackfill(tx, t, backfillTimedOut)
	if t.Backfill {
		s.resume(tx, t.GameSessionID)
	}
}
