package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

const ticketsPath = "/matchmaking/tickets"

// StartMatchmaking implements session.Matchmaking. Configuration is the name of a
// matchmaker; Players must be this player alone; TicketID is not sent, because the
// server names tickets. Without Latency, the last ReportLatency applies. Attributes
// that the matchmaker does not accept from clients are refused (ErrInvalid).
//
// A player can be on one open ticket at a time; otherwise the error is ErrConflict
// and Problem.TicketID names the existing ticket. If the answer to a request was
// lost, repeating the request yields that error, with the ticket that was created.
func (c *Client) StartMatchmaking(ctx context.Context, r session.MatchRequest) (session.Ticket, error) {
	return c.start(ctx, r, "")
}

// start requests a match for this player, or for a party by its leader.
func (c *Client) start(ctx context.Context, r session.MatchRequest, partyID string) (session.Ticket, error) {
	if err := r.Validate(); err != nil {
		return session.Ticket{}, err
	}
	if len(r.Players) != 1 || r.Players[0].ID != c.PlayerID() {
		return session.Ticket{}, fmt.Errorf("%w: Players: must be the own player alone", errInvalid)
	}
	p := r.Players[0]
	in := &protocol.TicketRequest{Matchmaker: r.Configuration, PartyID: partyID, Team: p.Team, LatencyMs: latencyOut(p.Latency)}
	var err error
	if in.Attributes, err = attributesOut(p.Attributes); err != nil {
		return session.Ticket{}, err
	}
	var t protocol.Ticket
	err = c.account.call(ctx, call{method: http.MethodPost, path: ticketsPath, in: in}, &t)
	_, answered := errors.AsType[*Problem](err)
	unanswered := r.TicketID
	if err == nil || answered {
		unanswered = ""
	}
	c.unanswered.Store(&unanswered)
	if err != nil {
		return session.Ticket{}, err
	}
	return ticketOf(&t, c.PlayerID()), nil
}

func attributesOut(attributes map[string]session.Attribute) (map[string]json.RawMessage, error) {
	var out map[string]json.RawMessage
	for name, a := range attributes {
		text, err := json.Marshal(a.Value())
		if err != nil {
			return nil, fmt.Errorf("%w: attribute %q: %w", errInvalid, name, err)
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[name] = text
	}
	return out, nil
}

func latencyOut(latency map[string]time.Duration) map[string]float64 {
	var out map[string]float64
	for where, d := range latency {
		if out == nil {
			out = map[string]float64{}
		}
		out[where] = float64(session.Milliseconds(d))
	}
	return out
}

// StopMatchmaking implements session.Matchmaking. For a ticket whose start was not
// answered, it stops all of the player's open tickets, since it does not know which
// id the server chose.
func (c *Client) StopMatchmaking(ctx context.Context, ticketID string) error {
	if id := c.unanswered.Load(); id == nil || *id == "" || *id != ticketID {
		return c.stop(ctx, ticketID)
	}
	var open protocol.Tickets
	if err := c.account.call(ctx, call{method: http.MethodGet, path: ticketsPath + "?active=true"}, &open); err != nil {
		return err
	}
	for _, t := range open.Items {
		if err := c.stop(ctx, t.TicketID); err != nil {
			return err
		}
	}
	c.unanswered.Store(nil)
	return nil
}

func (c *Client) stop(ctx context.Context, ticketID string) error {
	err := c.account.call(ctx, call{method: http.MethodDelete, path: ticketPath(ticketID)}, nil)
	if p, ok := errors.AsType[*Problem](err); ok && p.Code == "ticket-ended" {
		return nil
	}
	return err
}

// AcceptMatch implements session.Matchmaking. playerIDs must be empty or this player
// alone; both mean the same.
func (c *Client) AcceptMatch(ctx context.Context, ticketID string, accept bool, playerIDs ...string) error {
	for _, id := range playerIDs {
		if id != c.PlayerID() {
			return fmt.Errorf("%w: playerIDs: must be the own player alone", errInvalid)
		}
	}
	return c.account.call(ctx, call{method: http.MethodPost, path: ticketPath(ticketID) + "/acceptance", in: &protocol.AcceptRequest{Accept: accept}}, nil)
}

// DescribeTickets implements session.Matchmaking, with one request per ticket.
func (c *Client) DescribeTickets(ctx context.Context, ticketIDs ...string) ([]session.Ticket, error) {
	var all []session.Ticket
	for _, id := range ticketIDs {
		var t protocol.Ticket
		err := c.account.call(ctx, call{method: http.MethodGet, path: ticketPath(id)}, &t)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, ticketOf(&t, c.PlayerID()))
	}
	return all, nil
}

func ticketPath(id string) string { return ticketsPath + "/" + url.PathEscape(id) }

// ticketOf converts a ticket as the player me sees it: Connections has this player's only.
func ticketOf(t *protocol.Ticket, me string) session.Ticket {
	out := session.Ticket{
		ID: t.TicketID, ConfigurationName: t.Matchmaker, State: session.TicketState(upper(t.State)),
		StatusReason: t.Reason, EstimatedWait: seconds(t.EstimatedWaitSeconds), StartedAt: t.CreatedAt,
	}
	if out.State.Terminal() {
		out.EndedAt = t.UpdatedAt
	}
	for _, p := range t.Players {
		out.Players = append(out.Players, session.Player{ID: p.PlayerID, Team: p.Team})
	}
	if place := t.Connection; place != nil {
		out.SessionID = place.SessionID
		out.Connections = map[string]session.Connection{me: connection(place, me)}
	}
	return out
}

func connection(place *protocol.Connection, player string) session.Connection {
	out := session.Connection{
		SessionID: place.SessionID, PlayerID: player, PlayerSessionID: place.PlayerSessionID,
		DNSName: place.DNSName, IPAddress: place.IP,
	}
	if place.Port > 0 && place.Port <= math.MaxUint16 {
		out.Port = uint16(place.Port)
	}
	return out
}
