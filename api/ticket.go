package api

import (
	"context"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerTickets(srv *awsrpc.Server) {
	on(srv, "StartMatchmaking", h.startMatchmaking)
	on(srv, "StartMatchBackfill", h.startMatchBackfill)
	on(srv, "DescribeMatchmaking", h.describeMatchmaking)
	on(srv, "StopMatchmaking", h.stopMatchmaking)
	on(srv, "AcceptMatch", h.acceptMatch)
}

func (h handlers) startMatchmaking(ctx context.Context, in *gamelift.StartMatchmakingInput) (*gamelift.StartMatchmakingOutput, error) {
	ticket, err := h.startTicket(ctx, in.Players, flexmatch.StartInput{
		Configuration: *in.ConfigurationName, TicketID: val(in.TicketId),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.StartMatchmakingOutput{MatchmakingTicket: ticket}, nil
}

func (h handlers) startMatchBackfill(ctx context.Context, in *gamelift.StartMatchBackfillInput) (*gamelift.StartMatchBackfillOutput, error) {
	ticket, err := h.startTicket(ctx, in.Players, flexmatch.StartInput{
		Configuration: *in.ConfigurationName, TicketID: val(in.TicketId), Backfill: true, GameSessionID: val(in.GameSessionArn),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.StartMatchBackfillOutput{MatchmakingTicket: ticket}, nil
}

// startTicket starts a ticket for players, and returns it with them as they were given. It
// uses the request's memory for the answer.
func (h handlers) startTicket(ctx context.Context, players []gamelift.Player, in flexmatch.StartInput) (*gamelift.MatchmakingTicket, error) {
	in.Players = list(players, matchPlayerIn)
	t, _, err := h.Matches.Start(ctx, in)
	if err != nil {
		return nil, err
	}
	for i, p := range players {
		players[i] = gamelift.Player{PlayerId: p.PlayerId}
		if len(p.PlayerAttributes) > 0 {
			players[i].PlayerAttributes = p.PlayerAttributes
		}
		if len(p.LatencyInMs) > 0 {
			players[i].LatencyInMs = p.LatencyInMs
		}
	}
	return new(h.ticketOut(t, players)), nil
}

func (h handlers) describeMatchmaking(ctx context.Context, in *gamelift.DescribeMatchmakingInput) (*gamelift.DescribeMatchmakingOutput, error) {
	out := &gamelift.DescribeMatchmakingOutput{TicketList: make([]gamelift.MatchmakingTicket, 0, len(in.TicketIds))}
	for _, id := range in.TicketIds {
		d, err := h.Matches.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if d != nil {
			out.TicketList = append(out.TicketList, h.ticketOut(d.Ticket, matchPlayersOut(d.Request.Players)))
		}
	}
	return out, nil
}

func (h handlers) stopMatchmaking(ctx context.Context, in *gamelift.StopMatchmakingInput) (*gamelift.StopMatchmakingOutput, error) {
	return &gamelift.StopMatchmakingOutput{}, h.Matches.Stop(ctx, *in.TicketId)
}

func (h handlers) acceptMatch(ctx context.Context, in *gamelift.AcceptMatchInput) (*gamelift.AcceptMatchOutput, error) {
	return &gamelift.AcceptMatchOutput{}, h.Matches.Answer(ctx, flexmatch.AcceptInput{
		TicketID: *in.TicketId, PlayerIDs: in.PlayerIds, Answer: flexmatch.Answer(*in.AcceptanceType),
	})
}

func matchPlayerIn(p gamelift.Player) flexmatch.Player {
	return flexmatch.Player{
		ID: val(p.PlayerId), Team: val(p.Team),
		Attributes: mapped(p.PlayerAttributes, func(v gamelift.AttributeValue) flexmatch.Attribute { return flexmatch.Attribute(v) }),
		Latency:    mapped(p.LatencyInMs, func(ms int32) int { return int(ms) }),
	}
}

func (h handlers) ticketOut(t *flexmatch.Ticket, players []gamelift.Player) gamelift.MatchmakingTicket {
	out := gamelift.MatchmakingTicket{
		TicketId: &t.ID, ConfigurationName: &t.Configuration, ConfigurationArn: new(h.Matches.Configurations.ARN(t.Configuration)),
		Status: (*string)(&t.Status), StatusReason: ref(&t.Reason), StatusMessage: ref(&t.Message),
		StartTime: gamelift.At(t.Started), EndTime: gamelift.MaybeAt(t.Ended),
		Players: players, GameSessionConnectionInfo: connectionOut(t),
	}
	if t.Backfill || t.Status == flexmatch.Completed {
		for i := range players {
			players[i].Team = ref(&t.Members[i].Team)
		}
	}
	if t.Status.Waits() {
		out.EstimatedWaitTime = opt(int32(h.Matches.EstimatedWait(t.Configuration)))
	}
	return out
}

// connectionOut returns the ticket's game session and, once the ticket is COMPLETED,
// how to connect to it. A backfill has the game session from the start.
func connectionOut(t *flexmatch.Ticket) *gamelift.GameSessionConnectionInfo {
	if t.GameSessionID == "" {
		return nil
	}
	out := &gamelift.GameSessionConnectionInfo{GameSessionArn: &t.GameSessionID}
	if t.Status != flexmatch.Completed {
		return out
	}
	out.IpAddress, out.DnsName, out.Port = ref(&t.IPAddress), ref(&t.DNSName), opt(int32(t.Port))
	out.PlayerGatewayStatus = new(gamelift.PlayerGatewayStatusDisabled)
	for _, m := range t.Members {
		if m.PlayerSessionID != "" {
			out.MatchedPlayerSessions = append(out.MatchedPlayerSessions, gamelift.MatchedPlayerSession{
				PlayerId: new(m.PlayerID), PlayerSessionId: new(m.PlayerSessionID),
			})
		}
	}
	return out
}

func matchPlayersOut(players []flexmatch.Player) []gamelift.Player {
	out := make([]gamelift.Player, len(players))
	for i := range players {
		p := &players[i]
		out[i] = gamelift.Player{
			PlayerId:         &p.ID,
			PlayerAttributes: mapped(p.Attributes, func(v flexmatch.Attribute) gamelift.AttributeValue { return gamelift.AttributeValue(v) }),
			LatencyInMs:      mapped(p.Latency, func(ms int) int32 { return int32(ms) }),
		}
	}
	return out
}
