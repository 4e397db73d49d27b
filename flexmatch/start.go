package flexmatch

import (
	"context"

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
		old, _, err := s.archived(ctx, in.TicketID)
		if err != nil {
			return nil, nil, err
		}
		if old != nil {
			return nil, nil, idInUse(old)
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

func (s *Service) runStart(tx *store.Tx, a startArgs) (*Ticket, error) {
	in := a.Input
	c, err := s.findConfiguration(tx, in.Configuration)
	if err != nil {
		return nil, err
	}
	if old := s.t.tickets.Get(tx, in.TicketID); old != nil {
		return nil, idInUse(old)
	}
	rs, err := s.rules(tx, c)
	if err != nil {
		return nil, err
	}
	if err := checkPlayers(rs, in.Players, in.Backfill); err != nil {
		return nil, err
	}
	if in.Backfill {
		if err := s.checkBackfill(tx, c, in.GameSessionID); err != nil {
			return nil, err
		}
		s.replaceBackfill(tx, in.GameSessionID)
	}
	s.cancelDuplicates(tx, in)
	return s.open(tx, c, in, false), nil
}

// open writes a new ticket.
func (s *Service) open(tx *store.Tx, c *Configuration, in StartInput, automatic bool) *Ticket {
	id := in.TicketID
	if id == "" {
		id = tx.ID("")
	}
	t := &Ticket{
		ID: id, Configuration: c.Name, Started: tx.Now(), Deadline: tx.Now().Add(c.RequestTimeout), Arrival: tx.ID(""),
		Backfill: in.Backfill, Automatic: automatic, GameSessionID: in.GameSessionID, Members: make([]Member, len(in.Players)),
	}
	for i := range in.Players {
		t.Members[i].PlayerID = in.Players[i].ID
		if in.Backfill {
			t.Members[i].Team = in.Players[i].Team
		}
	}
	t.move(Queued)
	s.t.requests.Put(tx, &Request{ID: id, Players: in.Players})
	s.put(tx, t)
	tx.OnCommit(func() { s.metrics.count("TicketsStarted", t.Configuration, 1) })
	return t
}

// cancelDuplicates ends older tickets of the same players: a player can be in one active
// ticket (developer guide, "Request matchmaking for players"). A ticket that is PLACING
// continues.
func (s *Service) cancelDuplicates(tx *store.Tx, in StartInput) {
	for i := range in.Players {
		for old := range s.t.byPlayer.Equal(tx, in.Players[i].ID) {
			old = s.t.tickets.Get(tx, old.ID) // an earlier round may have moved it
			if old == nil || old.Status.Over() || old.Status == Placing {
				continue
			}
			t := s.withdraw(tx, old)
			t.Reason, t.Message = duplicatePlayer, duplicatePlayer
			s.end(tx, t, Cancelled)
			s.tellBackfill(tx, t, backfillCancelled)
		}
	}
}

// duplicatePlayer is the reason that AWS reports. No event is published for it.
const duplicatePlayer = "Cancelled due to duplicate player"
