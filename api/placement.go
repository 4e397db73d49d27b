package api

import (
	"cmp"
	"context"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

func (h handlers) registerPlacements(srv *awsrpc.Server) {
	on(srv, "StartGameSessionPlacement", h.startGameSessionPlacement)
	on(srv, "DescribeGameSessionPlacement", h.describeGameSessionPlacement)
	on(srv, "StopGameSessionPlacement", h.stopGameSessionPlacement)
}

func (h handlers) startGameSessionPlacement(ctx context.Context, in *gamelift.StartGameSessionPlacementInput) (*gamelift.StartGameSessionPlacementOutput, error) {
	r := placement.Request{
		ID: *in.PlacementId, Name: val(in.GameSessionName), Data: val(in.GameSessionData),
		MaxPlayers: int(*in.MaximumPlayerSessionCount), Properties: list(in.GameProperties, propertyIn),
		Players: list(in.DesiredPlayerSessions, func(d gamelift.DesiredPlayerSession) session.Joining {
			return session.Joining{PlayerID: *d.PlayerId, Data: val(d.PlayerData)}
		}),
		Latencies: list(in.PlayerLatencies, latencyIn), Override: overrideIn(in.PriorityConfigurationOverride),
	}
	p, err := h.Placements.Start(ctx, placement.StartInput{Queue: *in.GameSessionQueueName, Request: r})
	if err != nil {
		return nil, err
	}
	return &gamelift.StartGameSessionPlacementOutput{GameSessionPlacement: placementOut(p, &r)}, nil
}

func (h handlers) describeGameSessionPlacement(ctx context.Context, in *gamelift.DescribeGameSessionPlacementInput) (*gamelift.DescribeGameSessionPlacementOutput, error) {
	p, r, err := h.Placements.Get(ctx, *in.PlacementId)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeGameSessionPlacementOutput{GameSessionPlacement: placementOut(p, r)}, nil
}

func (h handlers) stopGameSessionPlacement(ctx context.Context, in *gamelift.StopGameSessionPlacementInput) (*gamelift.StopGameSessionPlacementOutput, error) {
	p, r, err := h.Placements.Stop(ctx, *in.PlacementId)
	if err != nil {
		return nil, err
	}
	return &gamelift.StopGameSessionPlacementOutput{GameSessionPlacement: placementOut(p, r)}, nil
}

func latencyIn(l gamelift.PlayerLatency) placement.Latency {
	return placement.Latency{PlayerID: val(l.PlayerId), Location: val(l.RegionIdentifier), Millis: val(l.LatencyInMilliseconds)}
}

func overrideIn(o *gamelift.PriorityConfigurationOverride) *placement.Override {
	if o == nil {
		return nil
	}
	fallback := placement.Fallback(val(o.PlacementFallbackStrategy))
	return &placement.Override{Fallback: cmp.Or(fallback, placement.AfterSinglePass), LocationOrder: o.LocationOrder}
}

func placementOut(p *placement.Placement, r *placement.Request) *gamelift.GameSessionPlacement {
	out := &gamelift.GameSessionPlacement{
		PlacementId: &p.ID, GameSessionQueueName: &p.Queue, Status: new(string(p.Status)),
		GameProperties: propertiesOut(r.Properties), MaximumPlayerSessionCount: num(r.MaxPlayers),
		GameSessionName: opt(r.Name), GameSessionId: opt(p.GameSessionID), GameSessionArn: opt(p.GameSessionID),
		GameSessionRegion: opt(p.Location), PlayerLatencies: list(r.Latencies, latencyOut),
		StartTime: gamelift.At(p.Started), EndTime: gamelift.MaybeAt(p.Ended),
		IpAddress: opt(p.IPAddress), DnsName: opt(p.DNSName), Port: opt(int32(p.Port)), PlayerGatewayStatus: new(gamelift.PlayerGatewayStatusDisabled),
		PlacedPlayerSessions: list(p.Placed, func(x placement.Placed) gamelift.PlacedPlayerSession {
			return gamelift.PlacedPlayerSession{PlayerId: &x.PlayerID, PlayerSessionId: &x.PlayerSessionID}
		}),
		GameSessionData: opt(r.Data), MatchmakerData: opt(r.MatchmakerData),
	}
	if o := r.Override; o != nil {
		out.PriorityConfigurationOverride = &gamelift.PriorityConfigurationOverride{
			PlacementFallbackStrategy: new(string(o.Fallback)), LocationOrder: o.LocationOrder,
		}
	}
	return out
}

func latencyOut(l placement.Latency) gamelift.PlayerLatency {
	return gamelift.PlayerLatency{PlayerId: &l.PlayerID, RegionIdentifier: &l.Location, LatencyInMilliseconds: &l.Millis}
}
