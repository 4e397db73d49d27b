package gamelift

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/sdk/session"
)

// perRequest is how many tickets DescribeMatchmaking accepts (API reference).
const perRequest = 10

// StartMatchmaking implements session.Matchmaking.
func (c *Client) StartMatchmaking(ctx context.Context, r session.MatchRequest) (session.Ticket, error) {
	if err := r.Validate(); err != nil {
		return session.Ticket{}, err
	}
	if r.TicketID == "" {
		r.TicketID = session.NewPlayerID()
	}
	out, err := c.api.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{
		ConfigurationName: &r.Configuration, TicketId: &r.TicketID, Players: wirePlayers(r.Players),
	})
	if err != nil {
		return session.Ticket{}, wrap("start matchmaking", err)
	}
	return ticketOf(*out.MatchmakingTicket), nil
}

// StopMatchmaking implements session.Matchmaking.
func (c *Client) StopMatchmaking(ctx context.Context, ticketID string) error {
	_, err := c.api.StopMatchmaking(ctx, &gamelift.StopMatchmakingInput{TicketId: &ticketID})
	failed := wrap("stop matchmaking", err)
	if errors.Is(failed, session.ErrInvalid) || errors.Is(failed, session.ErrConflict) {
		tickets, err := c.DescribeTickets(ctx, ticketID)
		if err == nil && len(tickets) == 1 && tickets[0].State.Terminal() {
			return nil
		}
	}
	return failed
}

// AcceptMatch implements session.Matchmaking.
func (c *Client) AcceptMatch(ctx context.Context, ticketID string, accept bool, playerIDs ...string) error {
	answer := types.AcceptanceTypeReject
	if accept {
		answer = types.AcceptanceTypeAccept
	}
	_, err := c.api.AcceptMatch(ctx, &gamelift.AcceptMatchInput{
		TicketId: &ticketID, PlayerIds: playerIDs, AcceptanceType: answer,
	})
	return wrap("accept match", err)
}

// DescribeTickets implements session.Matchmaking with one request per ten tickets. If
// a request is refused because one ticket is unknown, each is requested separately.
func (c *Client) DescribeTickets(ctx context.Context, ticketIDs ...string) ([]session.Ticket, error) {
	var tickets []session.Ticket
	for ids := range slices.Chunk(ticketIDs, perRequest) {
		some, err := c.describe(ctx, ids)
		if len(ids) > 1 && errors.Is(err, session.ErrNotFound) {
			some, err = c.describeEach(ctx, ids)
		}
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return nil, err
		}
		tickets = append(tickets, some...)
	}
	return tickets, nil
}

func (c *Client) describeEach(ctx context.Context, ids []string) ([]session.Ticket, error) {
	var tickets []session.Ticket
	for _, id := range ids {
		one, err := c.describe(ctx, []string{id})
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return nil, err
		}
		tickets = append(tickets, one...)
	}
	return tickets, nil
}

func (c *Client) describe(ctx context.Context, ids []string) ([]session.Ticket, error) {
	out, err := c.api.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: ids})
	if err != nil {
		return nil, wrap("describe matchmaking", err)
	}
	tickets := make([]session.Ticket, len(out.TicketList))
	for i, t := range out.TicketList {
		tickets[i] = ticketOf(t)
	}
	return tickets, nil
}

// Tracker returns a tracker of this client's tickets that polls at the default
// interval of ten seconds.
func (c *Client) Tracker() *session.Poller { return &session.Poller{Matchmaking: c} }
