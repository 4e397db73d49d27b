package api

import (
	"context"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

func (h handlers) registerSessions(srv *awsrpc.Server) {
	on(srv, "CreateGameSession", h.createGameSession)
	on(srv, "DescribeGameSessions", h.describeGameSessions)
	on(srv, "DescribeGameSessionDetails", h.describeGameSessionDetails)
	on(srv, "SearchGameSessions", h.searchGameSessions)
	on(srv, "UpdateGameSession", h.updateGameSession)
	on(srv, "TerminateGameSession", h.terminateGameSession)
}

func (h handlers) createGameSession(ctx context.Context, in *gamelift.CreateGameSessionInput) (*gamelift.CreateGameSessionOutput, error) {
	token := val(in.IdempotencyToken)
	if in.GameSessionId != nil { // the older name of IdempotencyToken
		if in.IdempotencyToken != nil && *in.GameSessionId != token {
			return nil, fault.Invalid("GameSessionId and IdempotencyToken: give one of them, or the same value")
		}
		token = *in.GameSessionId
	}
	g, err := h.Sessions.Create(ctx, session.CreateInput{
		FleetID: val(in.FleetId), AliasID: val(in.AliasId), Location: val(in.Location), Name: val(in.Name),
		Data: val(in.GameSessionData), MaxPlayers: int(*in.MaximumPlayerSessionCount),
		Properties: list(in.GameProperties, propertyIn), CreatorID: val(in.CreatorId), Token: token,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateGameSessionOutput{GameSession: h.sessionOut(g)}, nil
}

// sessionSelector holds the members by which DescribeGameSessions and
// DescribeGameSessionDetails select.
type sessionSelector struct {
	operation                                               string
	fleetID, gameSessionID, aliasID, location, status, next *string
	limit                                                   *int32
}

func (h handlers) describeGameSessions(ctx context.Context, in *gamelift.DescribeGameSessionsInput) (*gamelift.DescribeGameSessionsOutput, error) {
	page, next, err := h.selectSessions(ctx, sessionSelector{
		"DescribeGameSessions", in.FleetId, in.GameSessionId, in.AliasId, in.Location, in.StatusFilter, in.NextToken, in.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := list(page, func(g *session.GameSession) gamelift.GameSession { return *h.sessionOut(g) })
	return &gamelift.DescribeGameSessionsOutput{GameSessions: out, NextToken: next}, nil
}

func (h handlers) describeGameSessionDetails(ctx context.Context, in *gamelift.DescribeGameSessionDetailsInput) (*gamelift.DescribeGameSessionDetailsOutput, error) {
	page, next, err := h.selectSessions(ctx, sessionSelector{
		"DescribeGameSessionDetails", in.FleetId, in.GameSessionId, in.AliasId, in.Location, in.StatusFilter, in.NextToken, in.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := list(page, func(g *session.GameSession) gamelift.GameSessionDetail {
		return gamelift.GameSessionDetail{GameSession: h.sessionOut(g), ProtectionPolicy: new(string(g.Protection))}
	})
	return &gamelift.DescribeGameSessionDetailsOutput{GameSessionDetails: out, NextToken: next}, nil
}

// selectSessions returns one game session by id, or a page of a fleet's.
func (h handlers) selectSessions(ctx context.Context, in sessionSelector) ([]*session.GameSession, *string, error) {
	status, err := oneOf("StatusFilter", in.status, gameStatuses...)
	if err != nil {
		return nil, nil, err
	}
	if in.gameSessionID != nil {
		return h.oneSession(ctx, in, status)
	}
	f, err := h.Fleets.Aliases.Target(h.Store.View(), val(in.fleetID), val(in.aliasID))
	if err != nil {
		return nil, nil, err
	}
	if err := checkLocation(f, in.location); err != nil {
		return nil, nil, err
	}
	request := []string{in.operation, f.ID, val(in.location), string(status)}
	after, err := cursor[session.Cursor](in.next, request...)
	if err != nil {
		return nil, nil, err
	}
	page, more, err := h.Sessions.List(ctx, session.Query{
		FleetID: f.ID, Location: val(in.location), Places: h.places(ctx), Status: status, After: after, Limit: limit(in.limit, defaultPage, largestPage),
	})
	if more {
		last := page[len(page)-1]
		after = session.Cursor{Created: last.Created, ID: last.ID}
	}
	return page, nextToken(more, after, request...), err
}

func (h handlers) oneSession(ctx context.Context, in sessionSelector, status session.Status) ([]*session.GameSession, *string, error) {
	if in.fleetID != nil || in.aliasID != nil {
		return nil, nil, fault.Invalid("GameSessionId, FleetId and AliasId: give one of them")
	}
	g, err := h.Sessions.Get(ctx, *in.gameSessionID)
	if err != nil {
		return nil, nil, err
	}
	if (status != "" && g.Status != status) || (in.location != nil && g.Location != *in.location) {
		return nil, nil, nil
	}
	return []*session.GameSession{g}, nil, nil
}

func (h handlers) updateGameSession(ctx context.Context, in *gamelift.UpdateGameSessionInput) (*gamelift.UpdateGameSessionOutput, error) {
	update := session.UpdateInput{
		GameSessionID: *in.GameSessionId, Name: in.Name,
		JoinPolicy: as[session.JoinPolicy](in.PlayerSessionCreationPolicy),
		Protection: as[fleet.Protection](in.ProtectionPolicy), Properties: list(in.GameProperties, propertyIn),
	}
	if in.MaximumPlayerSessionCount != nil {
		update.MaxPlayers = new(int(*in.MaximumPlayerSessionCount))
	}
	g, err := h.Sessions.Update(ctx, update)
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateGameSessionOutput{GameSession: h.sessionOut(g)}, nil
}

func (h handlers) terminateGameSession(ctx context.Context, in *gamelift.TerminateGameSessionInput) (*gamelift.TerminateGameSessionOutput, error) {
	g, err := h.Sessions.Terminate(ctx, *in.GameSessionId, session.Mode(*in.TerminationMode))
	if err != nil {
		return nil, err
	}
	return &gamelift.TerminateGameSessionOutput{GameSession: h.sessionOut(g)}, nil
}

func (h handlers) sessionOut(g *session.GameSession) *gamelift.GameSession {
	return &gamelift.GameSession{
		GameSessionId: &g.ID, Name: opt(g.Name), FleetId: &g.FleetID, FleetArn: h.fleetARN(g.FleetID),
		CreationTime: gamelift.At(g.Created), TerminationTime: gamelift.MaybeAt(g.Ended),
		CurrentPlayerSessionCount: num(h.Sessions.Players.Count(h.Store.View(), g.ID)), MaximumPlayerSessionCount: num(g.MaxPlayers),
		Status: new(string(g.Status)), StatusReason: opt(g.Reason), GameProperties: list(g.Properties, propertyOut),
		IpAddress: opt(g.IPAddress), DnsName: opt(g.DNSName), Port: num(g.Port),
		PlayerSessionCreationPolicy: new(string(g.JoinPolicy)), CreatorId: opt(g.CreatorID),
		GameSessionData: opt(g.Data), MatchmakerData: opt(g.Matchmaker), Location: &g.Location,
		ComputeName: new(compute.ParseRef(g.ProcessKey).ComputeName), PlayerGatewayStatus: new(gamelift.PlayerGatewayStatusDisabled),
	}
}

func propertyIn(p gamelift.GameProperty) session.Property {
	return session.Property{Key: *p.Key, Value: *p.Value}
}

func propertyOut(p session.Property) gamelift.GameProperty {
	return gamelift.GameProperty{Key: &p.Key, Value: &p.Value}
}
