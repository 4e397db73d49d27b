package flexmatch

import (
	"context"
	"slices"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// AcceptInput is the answer of players of a ticket to a potential match.
type AcceptInput struct {
	TicketID  string
	PlayerIDs []string
	Answer    Answer
}

// Results of an acceptance (AcceptMatchCompleted).
const (
	allAccepted      = "Accepted"
	someRejected     = "Rejected"
	acceptTimedOut   = "TimedOut"
	acceptanceFailed = "AcceptanceFailed" // StatusReason of tickets that search again
	notAccepted      = "One or more players of the ticket did not accept the match."
)

// Answer records the answer of players (AcceptMatch). Errors: NotFound, InvalidRequest
// (not REQUIRES_ACCEPTANCE, players of other tickets).
func (s *Service) Answer(ctx context.Context, in AcceptInput) error {
	_, err := s.cmd.accept.Do(ctx, in)
	if fault.Is(err, fault.NotFound) {
		if old, _, archiveErr := s.archived(ctx, in.TicketID); archiveErr == nil && old != nil {
			return cannotAccept(old)
		}
	}
	return err
}

func cannotAccept(t *Ticket) error {
	return fault.Invalid("TicketId: matchmaking ticket %s is in %s status; it must be REQUIRES_ACCEPTANCE", t.ID, t.Status)
}

func (s *Service) runAccept(tx *store.Tx, in AcceptInput) (struct{}, error) {
	old := s.t.tickets.Get(tx, in.TicketID)
	switch {
	case old == nil:
		return struct{}{}, fault.Missing("TicketId: matchmaking ticket %s does not exist", in.TicketID)
	case old.Status != RequiresAcceptance:
		return struct{}{}, cannotAccept(old)
	case old.Backfill:
		return struct{}{}, fault.Invalid("TicketId: %s is a backfill ticket; only new players are asked", old.ID)
	}
	t := old.edit()
	for i, id := range in.PlayerIDs {
		m := t.player(id)
		if m == nil {
			return struct{}{}, fault.Invalid("PlayerIds.%d: player %s is not in ticket %s", i+1, id, t.ID)
		}
		m.Answer = in.Answer
	}
	s.put(tx, t)
	m := s.t.matches.Get(tx, t.MatchID)
	tickets := s.load(tx, m.Tickets)
	s.announceMatch(tx, m, tickets, matchEvent{kind: "AcceptMatch", answers: true})
	switch {
	case in.Answer == Reject:
		s.unaccepted(tx, m, tickets, someRejected)
	case !slices.ContainsFunc(tickets, func(t *Ticket) bool { return !t.accepted() }):
		s.announceMatch(tx, m, tickets, matchEvent{kind: "AcceptMatchCompleted", acceptance: allAccepted})
		tx.OnCommit(func() { s.metrics.count("MatchesAccepted", m.Configuration, 1) })
		s.proceed(tx, m, tickets)
	}
	return struct{}{}, nil
}

// unaccepted drops a potential match. Tickets whose players all accepted search again, as
// does a backfill. The others are cancelled (API reference, AcceptMatch).
func (s *Service) unaccepted(tx *store.Tx, m *Match, tickets []*Ticket, how string) {
	s.announceMatch(tx, m, tickets, matchEvent{kind: "AcceptMatchCompleted", acceptance: how})
	for _, t := range tickets {
		if t.accepted() {
			s.searchAgain(tx, t, acceptanceFailed)
			continue
		}
		t.Reason, t.Message = cancelledReason, notAccepted
		s.end(tx, t, Cancelled)
		s.announceEnd(tx, t, "MatchmakingCancelled")
	}
	s.close(tx, m, "not accepted: "+how, "")
	metric := "MatchesRejected"
	if how == acceptTimedOut {
		metric = "MatchAcceptancesTimedOut"
	}
	tx.OnCommit(func() { s.metrics.count(metric, m.Configuration, 1) })
}

// searchAgain returns a ticket to its pool with its original age, or times it out if its
// deadline has passed.
func (s *Service) searchAgain(tx *store.Tx, t *Ticket, reason string) {
	t.move(Searching)
	t.Reason = reason
	t.leave()
	if !t.Deadline.After(tx.Now()) {
		s.timeOut(tx, t, nil)
		return
	}
	s.put(tx, t)
	s.announceSearching(tx, t, 0)
}
