package bots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/sdk/session"
)

// api calls the AWS API with the keys of an operator, as a game's backend does. It
// implements session.Matchmaking.
type api struct{ server *client.Client }

var _ session.Matchmaking = api{}

// members are the members of an input.
type members = map[string]any

// call runs an operation; empty strings in its input are left out. The error wraps the error
// of package session that it stands for.
func (a api) call(ctx context.Context, operation string, in members, out any) error {
	maps.DeleteFunc(in, func(_ string, v any) bool { return v == "" })
	err := a.server.Call(ctx, operation, in, out)
	if err == nil || ctx.Err() != nil {
		return err
	}
	meaning := session.ErrUnavailable // no answer, or an unknown code
	if refused, ok := errors.AsType[*client.Error](err); ok {
		meaning = cmp.Or(session.ErrorOfCode(refused.Code), meaning)
	}
	return fmt.Errorf("%s: %w: %w", operation, meaning, err)
}

// ticket is a MatchmakingTicket.
type ticket struct {
	ID         string `json:"TicketId"`
	Status     session.TicketState
	Reason     string `json:"StatusReason"`
	Message    string `json:"StatusMessage"`
	Connection struct {
		ARN string `json:"GameSessionArn"`
		address
		Players []playerSession `json:"MatchedPlayerSessions"`
	} `json:"GameSessionConnectionInfo"`
}

// address is where a game session is.
type address struct {
	DNSName string `json:"DnsName"`
	IP      string `json:"IpAddress"`
	Port    uint16
}

// playerSession is a PlayerSession or a MatchedPlayerSession, which has no address.
type playerSession struct {
	ID       string `json:"PlayerSessionId"`
	PlayerID string `json:"PlayerId"`
	address
}

func (p playerSession) connection(gameSession string, at address) session.Connection {
	return session.Connection{
		SessionID: gameSession, PlayerID: p.PlayerID, PlayerSessionID: p.ID, DNSName: at.DNSName, IPAddress: at.IP, Port: at.Port,
	}
}

func (t ticket) public() session.Ticket {
	out := session.Ticket{
		ID: t.ID, State: t.Status, StatusReason: t.Reason, StatusMessage: t.Message, SessionID: t.Connection.ARN,
		Connections: map[string]session.Connection{},
	}
	for _, p := range t.Connection.Players {
		out.Connections[p.PlayerID] = p.connection(out.SessionID, t.Connection.address)
	}
	return out
}

// StartMatchmaking implements session.Matchmaking.
func (a api) StartMatchmaking(ctx context.Context, r session.MatchRequest) (session.Ticket, error) {
	var players []members
	for _, p := range r.Players {
		players = append(players, members{"PlayerId": p.ID, "PlayerAttributes": p.Attributes})
	}
	var out struct{ MatchmakingTicket ticket }
	err := a.call(ctx, "StartMatchmaking", members{"ConfigurationName": r.Configuration, "TicketId": r.TicketID, "Players": players}, &out)
	return out.MatchmakingTicket.public(), err
}

// StopMatchmaking implements session.Matchmaking.
func (a api) StopMatchmaking(ctx context.Context, ticketID string) error {
	return a.call(ctx, "StopMatchmaking", members{"TicketId": ticketID}, nil)
}

// AcceptMatch implements session.Matchmaking.
func (a api) AcceptMatch(ctx context.Context, ticketID string, accept bool, playerIDs ...string) error {
	answer := "REJECT"
	if accept {
		answer = "ACCEPT"
	}
	return a.call(ctx, "AcceptMatch", members{"TicketId": ticketID, "PlayerIds": playerIDs, "AcceptanceType": answer}, nil)
}

// describable is how many tickets one request may name.
const describable = 10

// DescribeTickets implements session.Matchmaking.
func (a api) DescribeTickets(ctx context.Context, ticketIDs ...string) (tickets []session.Ticket, err error) {
	for ids := range slices.Chunk(ticketIDs, describable) {
		var out struct{ TicketList []ticket }
		if err := a.call(ctx, "DescribeMatchmaking", members{"TicketIds": ids}, &out); err != nil {
			return nil, err
		}
		for _, t := range out.TicketList {
			tickets = append(tickets, t.public())
		}
	}
	return tickets, nil
}
