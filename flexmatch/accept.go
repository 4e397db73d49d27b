package flexmatch

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// AcceptInput is the answer of players of a ticket to a potential match.
type AcceptInput struct {
	TicketID  string
	PlayerIDs []string
	Answer    Answer
}

// Answer records the answer of players (AcceptMatch). Errors: NotFound, InvalidRequest
// (not REQUIRES_ACCEPTANCE, players of other tickets).
func (s *Service) Answer(ctx context.Context, in AcceptInput) error {
	err := s.cmd.accept.Do(ctx, in)
	if fault.Is(err, fault.NotFound) {
		if old, archiveErr := s.tickets.archived(ctx, in.TicketID); archiveErr == nil && old != nil {
			return old.Ticket.CannotAnswer()
		}
	}
	return err
}

func (s *Service) runAccept(tx *store.Tx, in AcceptInput) error {
	t := s.t.tickets.Get(tx, in.TicketID)
	if t == nil {
		return fault.Missing("TicketId: matchmaking ticket %s does not exist", in.TicketID)
	}
	return s.lives.in(tx).Answer(s.t.configurations.Get(tx, t.Configuration).settings(), t, in.PlayerIDs, in.Answer)
}

// AcceptBy returns when the acceptance of a match ends, or zero if it does not wait for
// acceptance.
func (s *Service) AcceptBy(r store.Reader, matchID string) time.Time {
	if m := s.t.matches.Get(r, matchID); m != nil {
		return m.AcceptBy
	}
	return time.Time{}
}
