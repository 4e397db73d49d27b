package flexmatch

import (
	"context"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// StartInput requests a match of new players or, with Backfill, more players for a game
// session.
type StartInput struct {
	Configuration string // name or ARN
	TicketID      string // "" means a generated one
	Players       []Player
	Backfill      bool
	GameSessionID string // of a backfill; "" is allowed only if standalone
}

type startArgs struct{ Input StartInput }

// Start creates a QUEUED ticket (StartMatchmaking, StartMatchBackfill). Errors: NotFound
// (configuration, game session), InvalidRequest (id in use, players, rules of a
// backfill).
func (s *Service) Start(ctx context.Context, in StartInput) (*Ticket, *Request, error) {
	if in.TicketID != "" && s.t.tickets.Get(s.st.View(), in.TicketID) == nil {
		old, err := s.tickets.archived(ctx, in.TicketID)
		if err != nil {
			return nil, nil, err
		}
		if old != nil {
			return nil, nil, idInUse(old.Ticket)
		}
	}
	t, err := s.cmd.start.Do(ctx, startArgs{in})
	if err != nil {
		return nil, nil, err
	}
	return t, &Request{ID: t.ID, Players: in.Players}, nil
}

func idInUse(t *Ticket) error {
	return fault.Invalid("TicketId: %s was used before, by a ticket that is %s; each request needs an id of its own", t.ID, t.Status)
}

// StartNow is like Start inside a transaction of a package above. The id must be new.
func (s *Service) StartNow(tx *store.Tx, in StartInput) (*Ticket, error) {
	return s.runStart(tx, startArgs{in})
}

func (s *Service) runStart(tx *store.Tx, a startArgs) (*Ticket, error) {
	in := a.Input
	c, err := s.Configurations.find(tx, in.Configuration)
	if err != nil {
		return nil, err
	}
	if old := s.t.tickets.Get(tx, in.TicketID); old != nil {
		return nil, idInUse(old)
	}
	rs, err := s.RuleSets.of(tx, c)
	if err != nil {
		return nil, err
	}
	if err := life.CheckPlayers(rs, in.Players, in.Backfill); err != nil {
		return nil, err
	}
	if in.Backfill {
		if err := s.backfills.check(tx, c, rs, in.GameSessionID, in.Players); err != nil {
			return nil, err
		}
	}
	s.endOlder(tx, in)
	t := s.tickets.open(tx, c, in, false)
	if !in.Backfill {
		for _, id := range s.tickets.roster.counted(tx, t) {
			s.backfills.renew(tx, id) // who has left and asks again is not of the game session any more
		}
	}
	return t, nil
}

// endOlder ends the tickets that a new one replaces: the backfill of the same game session,
// whose game server is not notified because it requested the newer one, and tickets of the
// same players, since a player can be in one active ticket (developer guide, "Request
// matchmaking for players"). Tickets that are PLACING continue. A backfill and a ticket of one of
// its players do not end each other if the game session is known, and so who is in it: the search
// keeps them apart.
func (s *Service) endOlder(tx *store.Tx, in StartInput) {
	if in.Backfill && in.GameSessionID != "" {
		for old := range s.t.bySession.Equal(tx, in.GameSessionID) {
			s.lives.in(tx).End(old, life.Replaced)
		}
	}
	known := in.Backfill && s.backfills.known(tx, in.GameSessionID)
	for i := range in.Players {
		for old := range s.t.byPlayer.Equal(tx, in.Players[i].ID) {
			if known || old.Backfill && s.backfills.known(tx, old.GameSessionID) {
				continue
			}
			if old = s.t.tickets.Get(tx, old.ID); old != nil { // an earlier round may have changed it
				s.lives.in(tx).End(old, life.Duplicate)
			}
		}
	}
}

// Stop cancels a ticket that waits for a match or for acceptance, or ends the automatic
// backfill that the ticket belongs to. Errors: NotFound, InvalidRequest (PLACING, ended).
func (s *Service) Stop(ctx context.Context, id string) error {
	args := stopArgs{ID: id}
	if t := s.t.tickets.Get(s.st.View(), id); t != nil {
		args.Rules = s.matchers.of(t.Configuration).counts(id)
	}
	err := s.cmd.stop.Do(ctx, args)
	if fault.Is(err, fault.NotFound) {
		if old, archiveErr := s.tickets.archived(ctx, id); archiveErr == nil && old != nil {
			return old.Ticket.CannotStop()
		}
	}
	return err
}

type stopArgs struct {
	ID    string      `json:"id"`
	Rules []RuleCount `json:"rules,omitzero"` // of the searches around it
}

// StopNow is like Stop inside a transaction of a package above, without the rule counts of
// the search around the ticket.
func (s *Service) StopNow(tx *store.Tx, id string) error { return s.runStop(tx, stopArgs{ID: id}) }

func (s *Service) runStop(tx *store.Tx, a stopArgs) error {
	automatic := s.lives.stopAutomatic(tx, a.ID)
	old := s.t.tickets.Get(tx, a.ID)
	switch {
	case old == nil && automatic:
		return nil // announced but not created yet
	case old == nil:
		return fault.Missing("TicketId: matchmaking ticket %s does not exist", a.ID)
	}
	if err := old.CannotStop(); err != nil {
		if automatic {
			return nil
		}
		return err
	}
	t := *old
	t.Rules = a.Rules
	s.lives.in(tx).End(&t, life.Stopped)
	return nil
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
