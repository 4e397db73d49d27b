package api

import (
	"context"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

func (h handlers) registerPlayers(srv *awsrpc.Server) {
	on(srv, "CreatePlayerSession", h.createPlayerSession)
	on(srv, "CreatePlayerSessions", h.createPlayerSessions)
	on(srv, "DescribePlayerSessions", h.describePlayerSessions)
	on(srv, "GetPlayerConnectionDetails", h.getPlayerConnectionDetails)
}

func (h handlers) createPlayerSession(ctx context.Context, in *gamelift.CreatePlayerSessionInput) (*gamelift.CreatePlayerSessionOutput, error) {
	made, err := h.Sessions.Players.Reserve(ctx, session.ReserveInput{
		GameSessionID: *in.GameSessionId, Players: []session.Joining{{PlayerID: *in.PlayerId, Data: val(in.PlayerData)}},
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreatePlayerSessionOutput{PlayerSession: new(h.playerOut(made[0]))}, nil
}

func (h handlers) createPlayerSessions(ctx context.Context, in *gamelift.CreatePlayerSessionsInput) (*gamelift.CreatePlayerSessionsOutput, error) {
	joining := list(in.PlayerIds, func(id string) session.Joining {
		return session.Joining{PlayerID: id, Data: in.PlayerDataMap[id]}
	})
	made, err := h.Sessions.Players.Reserve(ctx, session.ReserveInput{GameSessionID: *in.GameSessionId, Players: joining})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreatePlayerSessionsOutput{PlayerSessions: list(made, h.playerOut)}, nil
}

// playerStatuses are the valid values of a PlayerSessionStatusFilter.
var playerStatuses = []session.PlayerStatus{session.Reserved, session.Playing, session.Completed, session.TimedOut}

func (h handlers) describePlayerSessions(ctx context.Context, in *gamelift.DescribePlayerSessionsInput) (*gamelift.DescribePlayerSessionsOutput, error) {
	status, err := oneOf("PlayerSessionStatusFilter", in.PlayerSessionStatusFilter, playerStatuses...)
	if err != nil {
		return nil, err
	}
	if err := h.checkPlayerSelector(ctx, in); err != nil {
		return nil, err
	}
	if in.GameSessionId == nil {
		status = "" // it has no effect on a selection by player or by id
	}
	request := []string{"DescribePlayerSessions", val(in.PlayerSessionId), val(in.GameSessionId), val(in.PlayerId), string(status)}
	next := in.NextToken
	if in.PlayerSessionId != nil {
		next = nil // one player session has no pages
	}
	after, err := cursor[string](next, request...)
	if err != nil {
		return nil, err
	}
	page, more, err := h.Sessions.Players.List(ctx, session.PlayerQuery{
		PlayerSessionID: val(in.PlayerSessionId), GameSessionID: val(in.GameSessionId), PlayerID: val(in.PlayerId), Games: h.games(ctx),
		Status: status, After: after, Limit: limit(in.Limit, defaultPage, largestPage),
	})
	if err != nil {
		return nil, err
	}
	if in.PlayerSessionId != nil && len(page) == 0 {
		return nil, fault.Missing("PlayerSessionId: player session %s does not exist", *in.PlayerSessionId)
	}
	if more {
		after = page[len(page)-1].ID
	}
	return &gamelift.DescribePlayerSessionsOutput{PlayerSessions: list(page, h.playerOut), NextToken: nextToken(more, after, request...)}, nil
}

// checkPlayerSelector returns a fault unless the request has exactly one selector; a
// game session must exist.
func (h handlers) checkPlayerSelector(ctx context.Context, in *gamelift.DescribePlayerSessionsInput) error {
	given := 0
	for _, selector := range []*string{in.PlayerSessionId, in.GameSessionId, in.PlayerId} {
		if selector != nil {
			given++
		}
	}
	if given != 1 {
		return fault.Invalid("PlayerSessionId, GameSessionId, PlayerId: exactly one of them is required; %d are given", given)
	}
	if in.GameSessionId == nil {
		return nil
	}
	_, err := h.Sessions.Get(ctx, *in.GameSessionId)
	return err
}

func (h handlers) playerOut(p *session.PlayerSession) gamelift.PlayerSession {
	return gamelift.PlayerSession{
		PlayerSessionId: &p.ID, PlayerId: &p.PlayerID, GameSessionId: &p.GameSessionID,
		FleetId: &p.FleetID, FleetArn: h.fleetARN(p.FleetID),
		CreationTime: gamelift.At(p.Created), TerminationTime: gamelift.MaybeAt(p.Ended), Status: (*string)(&p.Status),
		IpAddress: ref(&p.IPAddress), DnsName: ref(&p.DNSName), Port: num(p.Port), PlayerData: ref(&p.Data),
	}
}

// getPlayerConnectionDetails returns what the API documents for fleets without a player
// gateway: the game server's own address for each player, and no token.
func (h handlers) getPlayerConnectionDetails(ctx context.Context, in *gamelift.GetPlayerConnectionDetailsInput) (*gamelift.GetPlayerConnectionDetailsOutput, error) {
	g, err := h.Sessions.Get(ctx, *in.GameSessionId)
	if err != nil {
		return nil, err
	}
	if g.Status.Ended() {
		return nil, fault.New(fault.InvalidGameSessionStatus, "game session %s is over", g.ID)
	}
	details := list(in.PlayerIds, func(id string) gamelift.PlayerConnectionDetail {
		return gamelift.PlayerConnectionDetail{
			PlayerId:  &id,
			Endpoints: []gamelift.PlayerConnectionEndpoint{{IpAddress: opt(g.IPAddress), Port: num(g.Port)}},
		}
	})
	return &gamelift.GetPlayerConnectionDetailsOutput{GameSessionId: &g.ID, PlayerConnectionDetails: details}, nil
}
