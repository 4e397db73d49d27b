package session

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MatchOptions controls how FindMatch follows a ticket.
type MatchOptions struct {
	Player string // this client's player, whose connection is made; optional if the ticket has one player
	// OnEvent, if set, is called with each event before FindMatch acts on it.
	OnEvent func(TicketEvent)
	// Accept decides on a proposed match; nil accepts every match.
	Accept func(context.Context, Ticket) bool
}

// stopTimeout bounds the cancellation of a ticket whose caller gave up.
const stopTimeout = 5 * time.Second

// FindMatch takes a request all the way to a connection: it starts matchmaking, follows
// the ticket, answers a proposed match for Player, and connects with c unless that is
// nil. If ctx ends before the match is made, the ticket is cancelled and ctx's error
// returned. Errors: those of StartMatchmaking and AcceptMatch, ErrNotFound if the ticket
// disappears, *MatchError (ErrMatchEnded), ErrNoPlayerSession, and ErrConnect, which
// comes with a usable Connection.
//
// If several clients share a ticket, one calls FindMatch and the others Track and
// Connect.
func FindMatch(ctx context.Context, m Matchmaking, tr Tracker, c Connector, r MatchRequest, o MatchOptions) (Connection, error) {
	if o.Player == "" && len(r.Players) == 1 {
		o.Player = r.Players[0].ID
	}
	if o.Player == "" {
		return Connection{}, invalid("MatchOptions.Player is required where the ticket has several players")
	}
	if r.TicketID == "" {
		r.TicketID = NewPlayerID() // known even if the answer is lost
	}
	ticket, err := m.StartMatchmaking(ctx, r)
	if err == nil {
		r.TicketID = ticket.ID
		ticket, err = follow(ctx, m, tr, ticket.ID, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			giveUp(ctx, m, r.TicketID)
		}
		return Connection{}, err
	}
	place, ok := ticket.Connections[o.Player]
	if !ok {
		return Connection{}, fmt.Errorf("%w: %s in ticket %s", ErrNoPlayerSession, o.Player, ticket.ID)
	}
	return place, connect(ctx, c, place)
}

// giveUp cancels the ticket of a caller whose context has ended.
func giveUp(ctx context.Context, m Matchmaking, ticketID string) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	_ = m.StopMatchmaking(late, ticketID) // best effort: the ticket times out otherwise
}

func follow(ctx context.Context, m Matchmaking, tr Tracker, ticketID string, o MatchOptions) (Ticket, error) {
	for event := range tr.Track(ctx, ticketID) {
		if o.OnEvent != nil {
			o.OnEvent(event)
		}
		switch {
		case event.Kind == MatchComplete:
			return event.Ticket, nil
		case event.Kind == MatchFailed:
			return Ticket{}, &MatchError{Ticket: event.Ticket}
		case event.Last():
			return Ticket{}, fmt.Errorf("follow ticket %s: %w", ticketID, event.Err)
		case event.Kind == AcceptanceRequired:
			if err := answer(ctx, m, event.Ticket, o); err != nil {
				return Ticket{}, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return Ticket{}, err
	}
	return Ticket{}, fmt.Errorf("follow ticket %s: %w", ticketID, ErrUnavailable)
}

// answer accepts or rejects a proposal. It is not an error if the proposal has ended in
// the meantime: the ticket shows its outcome.
func answer(ctx context.Context, m Matchmaking, t Ticket, o MatchOptions) error {
	accept := o.Accept == nil || o.Accept(ctx, t)
	err := m.AcceptMatch(ctx, t.ID, accept, o.Player)
	if err != nil && !errors.Is(err, ErrInvalid) {
		return fmt.Errorf("answer the proposed match: %w", err)
	}
	return nil
}

func connect(ctx context.Context, c Connector, place Connection) error {
	if c == nil {
		return nil
	}
	if err := c.Connect(ctx, place); err != nil {
		return fmt.Errorf("%w: %w", ErrConnect, err)
	}
	return nil
}
