package api

import (
	"context"
	"net/http"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
	"github.com/musterhq/muster/session/filter"
)

func (h handlers) registerSessions(srv *awsrpc.Server) {
	on(srv, "CreateGameSession", h.createGameSession)
	on(srv, "DescribeGameSessions", h.describeGameSessions)
	on(srv, "DescribeGameSessionDetails", h.describeGameSessionDetails)
	on(srv, "SearchGameSessions", h.searchGameSessions)
	on(srv, "UpdateGameSession", h.updateGameSession)
	on(srv, "TerminateGameSession", h.terminateGameSession)
	on(srv, "GetGameSessionLogUrl", h.getGameSessionLogURL)
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
	return &gamelift.CreateGameSessionOutput{GameSession: new(h.sessionOut(g))}, nil
}

func (h handlers) describeGameSessions(ctx context.Context, in *gamelift.DescribeGameSessionsInput) (*gamelift.DescribeGameSessionsOutput, error) {
	page, next, err := h.selectSessions(ctx, "DescribeGameSessions", in)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeGameSessionsOutput{GameSessions: list(page, h.sessionOut), NextToken: next}, nil
}

func (h handlers) describeGameSessionDetails(ctx context.Context, in *gamelift.DescribeGameSessionDetailsInput) (*gamelift.DescribeGameSessionDetailsOutput, error) {
	page, next, err := h.selectSessions(ctx, "DescribeGameSessionDetails", (*gamelift.DescribeGameSessionsInput)(in))
	if err != nil {
		return nil, err
	}
	out := list(page, func(g *session.GameSession) gamelift.GameSessionDetail {
		return gamelift.GameSessionDetail{GameSession: new(h.sessionOut(g)), ProtectionPolicy: new(string(g.Protection))}
	})
	return &gamelift.DescribeGameSessionDetailsOutput{GameSessionDetails: out, NextToken: next}, nil
}

// gameStatuses are the valid values of a StatusFilter.
var gameStatuses = []session.Status{session.Active, session.Terminated, session.Activating, session.Terminating}

// selectSessions returns one game session by id, or a page of a fleet's, for
// DescribeGameSessions and DescribeGameSessionDetails, whose inputs are alike.
func (h handlers) selectSessions(ctx context.Context, operation string, in *gamelift.DescribeGameSessionsInput) ([]*session.GameSession, *string, error) {
	status, err := oneOf("StatusFilter", in.StatusFilter, gameStatuses...)
	if err != nil {
		return nil, nil, err
	}
	if in.GameSessionId != nil {
		return h.oneSession(ctx, in, status)
	}
	f, err := h.Fleets.Aliases.Target(h.Store.View(), val(in.FleetId), val(in.AliasId))
	if err != nil {
		return nil, nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, nil, err
	}
	request := []string{operation, f.ID, val(in.Location), string(status)}
	after, err := cursor[session.Cursor](in.NextToken, request...)
	if err != nil {
		return nil, nil, err
	}
	page, more, err := h.Sessions.List(ctx, session.Query{
		FleetID: f.ID, Location: val(in.Location), Places: h.places(ctx), Status: status, After: after, Limit: limit(in.Limit, defaultPage, largestPage),
	})
	if more {
		after = cursorOf(page)
	}
	return page, nextToken(more, after, request...), err
}

// cursorOf returns where a page ends.
func cursorOf(page []*session.GameSession) session.Cursor {
	last := page[len(page)-1]
	return session.Cursor{Created: last.Created, ID: last.ID}
}

func (h handlers) oneSession(ctx context.Context, in *gamelift.DescribeGameSessionsInput, status session.Status) ([]*session.GameSession, *string, error) {
	if in.FleetId != nil || in.AliasId != nil {
		return nil, nil, fault.Invalid("GameSessionId, FleetId and AliasId: give one of them")
	}
	g, err := h.Sessions.Get(ctx, *in.GameSessionId)
	if err != nil {
		return nil, nil, err
	}
	if (status != "" && g.Status != status) || (in.Location != nil && g.Location != *in.Location) {
		return nil, nil, nil
	}
	return []*session.GameSession{g}, nil, nil
}

func (h handlers) updateGameSession(ctx context.Context, in *gamelift.UpdateGameSessionInput) (*gamelift.UpdateGameSessionOutput, error) {
	g, err := h.Sessions.Update(ctx, session.UpdateInput{
		GameSessionID: *in.GameSessionId, Name: in.Name, MaxPlayers: count(in.MaximumPlayerSessionCount),
		JoinPolicy: as[session.JoinPolicy](in.PlayerSessionCreationPolicy),
		Protection: as[fleet.Protection](in.ProtectionPolicy), Properties: list(in.GameProperties, propertyIn),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateGameSessionOutput{GameSession: new(h.sessionOut(g))}, nil
}

func (h handlers) terminateGameSession(ctx context.Context, in *gamelift.TerminateGameSessionInput) (*gamelift.TerminateGameSessionOutput, error) {
	g, err := h.Sessions.Terminate(ctx, *in.GameSessionId, session.Mode(*in.TerminationMode))
	if err != nil {
		return nil, err
	}
	return &gamelift.TerminateGameSessionOutput{GameSession: new(h.sessionOut(g))}, nil
}

func (h handlers) sessionOut(g *session.GameSession) gamelift.GameSession {
	return gamelift.GameSession{
		GameSessionId: &g.ID, Name: ref(&g.Name), FleetId: &g.FleetID, FleetArn: h.fleetARN(g.FleetID),
		CreationTime: gamelift.At(g.Created), TerminationTime: gamelift.MaybeAt(g.Ended),
		CurrentPlayerSessionCount: num(h.Sessions.Players.Count(h.Store.View(), g.ID)), MaximumPlayerSessionCount: num(g.MaxPlayers),
		Status: (*string)(&g.Status), StatusReason: ref(&g.Reason), GameProperties: propertiesOut(g.Properties),
		IpAddress: ref(&g.IPAddress), DnsName: ref(&g.DNSName), Port: num(g.Port),
		PlayerSessionCreationPolicy: (*string)(&g.JoinPolicy), CreatorId: ref(&g.CreatorID),
		GameSessionData: ref(&g.Data), MatchmakerData: ref(&g.Matchmaker), Location: &g.Location,
		ComputeName: new(compute.ParseRef(g.ProcessKey).ComputeName), PlayerGatewayStatus: new(gamelift.PlayerGatewayStatusDisabled),
	}
}

func propertyIn(p gamelift.GameProperty) session.Property {
	return session.Property{Key: *p.Key, Value: *p.Value}
}

func propertiesOut(properties []session.Property) []gamelift.GameProperty {
	out := make([]gamelift.GameProperty, len(properties))
	for i := range properties {
		out[i] = gamelift.GameProperty{Key: &properties[i].Key, Value: &properties[i].Value}
	}
	return out
}

// searchPage is the largest page of SearchGameSessions (API reference).
const searchPage = 20

// searchCursor is where a search continues.
type searchCursor struct {
	Last session.Cursor
	Seen int
}

func (h handlers) searchGameSessions(ctx context.Context, in *gamelift.SearchGameSessionsInput) (*gamelift.SearchGameSessionsOutput, error) {
	f, err := h.Fleets.Aliases.Target(h.Store.View(), val(in.FleetId), val(in.AliasId))
	if err != nil {
		return nil, err
	}
	request := []string{"SearchGameSessions", f.ID, val(in.Location), val(in.FilterExpression), val(in.SortExpression)}
	after, err := cursor[searchCursor](in.NextToken, request...)
	if err != nil {
		return nil, err
	}
	search := session.Search{
		FleetID: f.ID, Location: val(in.Location), Places: h.places(ctx), After: after.Last, Skip: after.Seen, Limit: limit(in.Limit, searchPage, searchPage),
	}
	if err := parseSearch(in, &search); err != nil {
		return nil, err
	}
	page, more := h.Sessions.Search(search)
	if more {
		after = searchCursor{cursorOf(page), after.Seen + len(page)}
	}
	return &gamelift.SearchGameSessionsOutput{GameSessions: list(page, h.sessionOut), NextToken: nextToken(more, after, request...)}, nil
}

func parseSearch(in *gamelift.SearchGameSessionsInput, search *session.Search) (err error) {
	if in.FilterExpression != nil {
		if search.Filter, err = filter.Parse(*in.FilterExpression); err != nil {
			return err
		}
	}
	if in.SortExpression != nil {
		search.Sort, err = filter.ParseSort(*in.SortExpression)
	}
	return err
}

// logLife is how long the URL of a log is valid (API reference, GetGameSessionLogUrl).
const logLife = 15 * time.Minute

// getGameSessionLogURL returns the URL of the logs that the game session's host has
// stored.
func (h handlers) getGameSessionLogURL(ctx context.Context, in *gamelift.GetGameSessionLogUrlInput) (*gamelift.GetGameSessionLogUrlOutput, error) {
	g, err := h.Sessions.Get(ctx, *in.GameSessionId)
	if err != nil {
		return nil, err
	}
	key := compute.ParseRef(g.ProcessKey).LogKey(g.ID)
	if h.Objects.Get(h.Store.View(), object.LogBucket, key) == nil {
		return nil, fault.Missing("GameSessionId: no logs are stored of game session %s: they come when it has ended, from hosts that Muster runs, and stay 14 days", g.ID)
	}
	url, err := h.Uploads.Presign(http.MethodGet, object.LogBucket, key, logLife)
	if err != nil {
		return nil, err
	}
	return &gamelift.GetGameSessionLogUrlOutput{PreSignedUrl: &url}, nil
}
