package api

import (
	"context"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/session"
	"github.com/musterhq/muster/session/filter"
)

// searchPage is the largest page of SearchGameSessions (API reference).
const searchPage = 20

// searchCursor is where a search continues.
type searchCursor struct {
	ID   string
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
		FleetID: f.ID, Location: val(in.Location), Places: h.places(ctx), After: after.ID, Skip: after.Seen, Limit: limit(in.Limit, searchPage, searchPage),
	}
	if err := parseSearch(in, &search); err != nil {
		return nil, err
	}
	page, more := h.Sessions.Search(search)
	if more {
		after = searchCursor{page[len(page)-1].ID, after.Seen + len(page)}
	}
	out := list(page, func(g *session.GameSession) gamelift.GameSession { return *h.sessionOut(g) })
	return &gamelift.SearchGameSessionsOutput{GameSessions: out, NextToken: nextToken(more, after, request...)}, nil
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
