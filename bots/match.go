package bots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/sdk/session"
)

// giveUpTimeout is how long a bot that gives up may take to cancel its ticket.
const giveUpTimeout = 5 * time.Second

// seekMatch goes through matchmaking: a ticket, its end, the own player session.
func (b *bot) seekMatch(ctx context.Context) (session.Connection, error) {
	ticketID := session.NewPlayerID()
	if err := b.start(ctx, ticketID); err != nil {
		return session.Connection{}, err
	}
	b.move(waiting)
	place, err := b.follow(ctx, ticketID)
	if ctx.Err() != nil && err != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
		defer cancel()
		_ = b.client.StopMatchmaking(late, ticketID) // else it times out by itself
	}
	return place, err
}

// start asks for a match until the service has the ticket. The ticket's id is
// ours, so that a request whose answer was lost is not made twice: the service
// refuses the id then, and knows the ticket.
func (b *bot) start(ctx context.Context, ticketID string) error {
	request := session.MatchRequest{Configuration: b.house.configuration, TicketID: ticketID, Players: []session.Player{{
		ID:         b.id,
		Attributes: map[string]session.Attribute{"skill": session.Number(float64(b.seed % 1000))},
	}}}
	for attempt := 0; ; attempt++ {
		_, err := b.client.StartMatchmaking(ctx, request)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, session.ErrInvalid) || errors.Is(err, session.ErrConflict):
			known, lookErr := b.client.DescribeTickets(ctx, ticketID)
			if lookErr == nil && len(known) == 1 {
				return nil
			}
			return err
		case !errors.Is(err, session.ErrUnavailable) && !errors.Is(err, session.ErrThrottled):
			return err
		}
		if pause(ctx, attempt) != nil {
			return err
		}
	}
}

// follow waits for the end of the ticket.
func (b *bot) follow(ctx context.Context, ticketID string) (session.Connection, error) {
	state := "not seen yet"
	for e := range b.tracker.Track(ctx, ticketID) {
		switch {
		case e.Kind == session.MatchComplete:
			if place, ok := e.Ticket.Connections[b.id]; ok {
				return place, nil
			}
			return session.Connection{}, session.ErrNoPlayerSession
		case e.Kind == session.MatchFailed:
			return session.Connection{}, &session.MatchError{Ticket: e.Ticket}
		case e.Last():
			return session.Connection{}, fmt.Errorf("follow the ticket: %w", e.Err)
		case e.Kind == session.TrackError:
			state = e.Err.Error()
		default:
			state = string(e.Ticket.State)
		}
	}
	return session.Connection{}, fmt.Errorf("no match while the bot was patient; the ticket was last: %s", state)
}
