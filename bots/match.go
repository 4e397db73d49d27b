package bots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
)

// giveUpTimeout is how long a bot that gives up may take to cancel its ticket.
const giveUpTimeout = 5 * time.Second

// seekMatch requests a match, waits for the end of the ticket and returns how to reach the
// game session.
func (b *bot) seekMatch(ctx context.Context) (session.Connection, error) {
	ticketID, err := b.start(ctx)
	if err != nil {
		return session.Connection{}, err
	}
	b.move(waiting)
	place, err := b.follow(ctx, ticketID)
	if ctx.Err() != nil && err != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
		defer cancel()
		_ = b.matching.StopMatchmaking(late, ticketID) // otherwise it times out
	}
	return place, err
}

// start requests a match, and repeats the request until the service has the ticket.
func (b *bot) start(ctx context.Context) (ticketID string, err error) {
	request := session.MatchRequest{Configuration: b.house.configuration, TicketID: session.NewPlayerID(), Players: []session.Player{{
		ID:         b.id,
		Attributes: map[string]session.Attribute{"skill": session.Number(float64(b.seed % 1000))},
	}}}
	for attempt := 0; ; attempt++ {
		ticket, err := b.matching.StartMatchmaking(ctx, request)
		switch {
		case err == nil:
			return ticket.ID, nil
		case errors.Is(err, session.ErrInvalid) || errors.Is(err, session.ErrConflict):
			if id := b.asked(ctx, request.TicketID, err); id != "" {
				return id, nil
			}
			return "", err
		case !worthRepeating(err):
			return "", err
		}
		if !pause(ctx, attempt) {
			return "", err
		}
	}
}

// asked returns the ticket of a request whose answer was lost, or "". The AWS API refuses
// our id because the ticket exists; the player API names the existing ticket.
func (b *bot) asked(ctx context.Context, ours string, refusal error) (ticketID string) {
	if p, ok := errors.AsType[*player.Problem](refusal); ok {
		return p.TicketID
	}
	if known, err := b.matching.DescribeTickets(ctx, ours); err == nil && len(known) == 1 {
		return ours
	}
	return ""
}

// worthRepeating reports whether an error of the service, or of reaching it, is
// temporary.
func worthRepeating(err error) bool {
	return errors.Is(err, session.ErrUnavailable) || errors.Is(err, session.ErrThrottled)
}

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
