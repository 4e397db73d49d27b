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
	ticket, err := h.startTicket(ctx, flexmatch.StartInput{
		Configuration: *in.ConfigurationName, TicketID: val(in.TicketId), Players: list(in.Players, matchPlayerIn),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.StartMatchmakingOutput{MatchmakingTicket: ticket}, nil
}

func (h handlers) startMatchBackfill(ctx context.Context, in *gamelift.StartMatchBackfillInput) (*gamelift.StartMatchBackfillOutput, error) {
	ticket, err := h.startTicket(ctx, flexmatch.StartInput{
		Configuration: *in.ConfigurationName, TicketID: val(in.TicketId), Players: list(in.Players, matchPlayerIn),
		Backfill: true, GameSessionID: val(in.GameSessionArn),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.StartMatchBackfillOutput{MatchmakingTicket: ticket}, nil
}

func (h handlers) startTicket(ctx context.Context, in flexmatch.StartInput) (*gamelift.MatchmakingTicket, error) {
	t, r, err := h.Matches.Start(ctx, in)
	if err != nil {
		return nil, err
	}
	return new(h.ticketOut(&flexmatch.Described{Ticket: t, Request: r})), nil
}

func (h handlers) describeMatchmaking(ctx context.Context, in *gamelift.DescribeMatchmakingInput) (*gamelift.DescribeMatchmakingOutput, error) {
	out := &gamelift.DescribeMatchmakingOutput{TicketList: make([]gamelift.MatchmakingTicket, 0, len(in.TicketIds))}
	for _, id := range in.TicketIds {
		d, err := h.Matches.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if d != nil {
			out.TicketList = append(out.TicketList, h.ticketOut(d))
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
	out := flexmatch.Player{ID: val(p.PlayerId), Team: val(p.Team)}
	if len(p.PlayerAttributes) > 0 {
		out.Attributes = make(map[string]flexmatch.Attribute, len(p.PlayerAttributes))
		for name, v := range p.PlayerAttributes {
			out.Attributes[name] = flexmatch.Attribute{S: v.S, N: v.N, SL: v.SL, SDM: v.SDM}
		}
	}
	if len(p.LatencyInMs) > 0 {
		out.Latency = make(map[string]int, len(p.LatencyInMs))
		for location, ms := range p.LatencyInMs {
			out.Latency[location] = int(ms)
		}
	}
	return out
}

func (h handlers) ticketOut(d *flexmatch.Described) gamelift.MatchmakingTicket {
	t := d.Ticket
	out := gamelift.MatchmakingTicket{
		TicketId: &t.ID, ConfigurationName: &t.Configuration, ConfigurationArn: new(h.Matches.Configurations.ARN(t.Configuration)),
		Status: new(string(t.Status)), StatusReason: opt(t.Reason), StatusMessage: opt(t.Message),
		StartTime: gamelift.At(t.Started), EndTime: gamelift.MaybeAt(t.Ended),
		Players: make([]gamelift.Player, len(t.Members)), GameSessionConnectionInfo: connectionOut(t),
	}
	for i := range d.Request.Players {
		out.Players[i] = matchPlayerOut(&d.Request.Players[i])
		if t.Backfill || t.Status == flexmatch.Completed {
			out.Players[i].Team = opt(t.Members[i].Team)
		}
	}
	if t.Status.Waits() {
		if wait := h.Matches.EstimatedWait(t.Configuration); wait > 0 {
			out.EstimatedWaitTime = num(wait)
		}
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
	out.IpAddress, out.DnsName, out.PlayerGatewayStatus = opt(t.IPAddress), opt(t.DNSName), new(gamelift.PlayerGatewayStatusDisabled)
	if t.Port != 0 {
		out.Port = num(t.Port)
	}
	for _, m := range t.Members {
		if m.PlayerSessionID != "" {
			out.MatchedPlayerSessions = append(out.MatchedPlayerSessions, gamelift.MatchedPlayerSession{
				PlayerId: new(m.PlayerID), PlayerSessionId: new(m.PlayerSessionID),
			})
		}
	}
	return out
}

func matchPlayerOut(p *flexmatch.Player) gamelift.Player {
	out := gamelift.Player{PlayerId: &p.ID}
	if len(p.Attributes) > 0 {
		out.PlayerAttributes = make(map[string]gamelift.AttributeValue, len(p.Attributes))
		for name, a := range p.Attributes {
			out.PlayerAttributes[name] = gamelift.AttributeValue{S: a.S, N: a.N, SL: a.SL, SDM: a.SDM}
		}
	}
	if len(p.Latency) > 0 {
		out.LatencyInMs = make(map[string]int32, len(p.Latency))
		for location, ms := range p.Latency {
			out.LatencyInMs[location] = int32(ms)
		}
	}
	return out
}
