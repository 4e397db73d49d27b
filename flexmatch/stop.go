package flexmatch

import (
	"context"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// What AWS writes into a ticket that was stopped (FlexMatch matchmaking events).
const (
	cancelledReason = "Cancelled"
	stoppedMessage  = "Cancelled by request."
)

// Stop cancels a ticket that waits for a match or for acceptance, or ends the automatic
// backfill that the ticket belongs to. Errors: NotFound, InvalidRequest (PLACING, ended).
func (s *Service) Stop(ctx context.Context, id string) error {
	args := stopArgs{ID: id}
	if t := s.t.tickets.Get(s.st.View(), id); t != nil {
		args.Rules = s.matchers.counts(t.Configuration, id)
	}
	_, err := s.cmd.stop.Do(ctx, args)
	if fault.Is(err, fault.NotFound) {
		if old, _, archiveErr := s.archived(ctx, id); archiveErr == nil && old != nil {
			return cannotStop(old)
		}
	}
	return err
}

func cannotStop(t *Ticket) error {
	return fault.Invalid("Matchmaking ticket is in %s status and cannot be canceled.", t.Status)
}

type stopArgs struct {
	ID    string      `json:"id"`
	Rules []RuleCount `json:"rules,omitzero"` // of the searches around it
}

func (s *Service) runStop(tx *store.Tx, a stopArgs) (struct{}, error) {
	id := a.ID
	automatic := s.stopAutomatic(tx, id)
	t := s.t.tickets.Get(tx, id)
	switch {
	case t == nil && automatic:
		return struct{}{}, nil // announced but not created yet
	case t == nil:
		return struct{}{}, fault.Missing("TicketId: matchmaking ticket %s does not exist", id)
	case automatic && (t.Status.Over() || t.Status == Placing):
		return struct{}{}, nil
	case t.Status.Over() || t.Status == Placing:
		return struct{}{}, cannotStop(t)
	}
	t = t.edit()
	t.Rules = a.Rules
	s.cancel(tx, t, stoppedMessage)
	return struct{}{}, nil
}

// cancel ends a ticket without a match and publishes the event.
func (s *Service) cancel(tx *store.Tx, old *Ticket, message string) {
	t := s.withdraw(tx, old)
	t.Reason, t.Message = cancelledReason, message
	s.end(tx, t, Cancelled)
	s.announceEnd(tx, t, "MatchmakingCancelled")
	s.tellBackfill(tx, t, backfillCancelled)
	if t.Backfill && !t.Automatic {
		s.resume(tx, t.GameSessionID)
	}
}

// withdraw takes a ticket out of its potential match, if it is in one: the others search
// again. It returns a copy of the ticket to modify.
func (s *Service) withdraw(tx *store.Tx, old *Ticket) *Ticket {
	t := old.edit()
	if old.Status != RequiresAcceptance {
		return t
	}
	m := s.t.matches.Get(tx, old.MatchID)
	for _, other := range s.load(tx, m.Tickets) {
		if other.ID != t.ID {
			s.searchAgain(tx, other, acceptanceFailed)
		}
	}
	s.close(tx, m, "dissolved: ticket "+t.ID+" was withdrawn", "")
	return t
}

// load returns copies of tickets to modify.
func (s *Service) load(r store.Reader, ids []string) []*Ticket {
	out := make([]*Ticket, len(ids))
	for i, id := range ids {
		out[i] = s.t.tickets.Get(r, id).edit()
	}
	return out
}

// end moves a ticket to a terminal status and writes it.
func (s *Service) end(tx *store.Tx, t *Ticket, to Status) {
	t.move(to)
	t.Ended, t.ArchiveAt = tx.Now(), tx.Now().Add(s.opts.Linger)
	s.put(tx, t)
	tx.OnCommit(func() { s.metrics.ended(t) })
}

// StopBackfill is like Stop for a backfill ticket of a game session. Errors: as Stop, and
// NotFound if the ticket does not belong to the game session.
func (s *Service) StopBackfill(ctx context.Context, gameSessionID, ticketID string) error {
	view := s.st.View()
	t, h := s.t.tickets.Get(view, ticketID), s.t.autoID.First(view, ticketID)
	if (t == nil || t.GameSessionID != gameSessionID) && (h == nil || h.GameSessionID != gameSessionID) {
		return fault.Missing("TicketId: game session %s has no backfill ticket %s", gameSessionID, ticketID)
	}
	return s.Stop(ctx, ticketID)
}
