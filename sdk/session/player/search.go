package player

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

const mostListed = 20

// Search implements session.Sessions within the limits of the player API: QueueName
// is the name of a pool, and it yields at most 20 game sessions of the pool that have
// room, in one request. Filter and Sort are about what players see: gameSessionId and
// the properties are those of an Info. An Info has no address: Reserve returns it.
//
// Errors: ErrNotFound (the pool), ErrUnauthorized if players may not list it, ErrInvalid
// if Filter or Sort is malformed.
func (c *Client) Search(ctx context.Context, r session.SearchRequest) iter.Seq2[session.Info, error] {
	return func(yield func(session.Info, error) bool) {
		found, err := c.list(ctx, r)
		if err != nil {
			yield(session.Info{}, err)
			return
		}
		for i := range found {
			if !yield(infoOf(&found[i]), nil) {
				return
			}
		}
	}
}

func (c *Client) list(ctx context.Context, r session.SearchRequest) ([]protocol.GameSession, error) {
	if err := checkSearch(r); err != nil {
		return nil, err
	}
	q := url.Values{"pool": {r.QueueName}}
	for name, value := range map[string]string{"location": r.Location, "filter": r.Filter, "sort": r.Sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if r.Max > 0 {
		q.Set("limit", strconv.Itoa(min(r.Max, mostListed)))
	}
	var out protocol.GameSessions
	err := c.account.call(ctx, call{method: http.MethodGet, path: sessionsPath + "?" + q.Encode()}, &out)
	return out.Items, err
}

func checkSearch(r session.SearchRequest) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return checkPool(r.Target)
}

// SearchPage returns ErrInvalid: a pool, like a queue, has no pages.
func (c *Client) SearchPage(context.Context, session.SearchRequest) (session.Page, error) {
	return session.Page{}, fmt.Errorf("%w: Target: a pool is searched as a whole, with Search", errInvalid)
}

// Describe implements session.Sessions, for players who have a slot in the game
// session or had one until a few minutes ago. For others the error is ErrNotFound.
func (c *Client) Describe(ctx context.Context, sessionID string) (session.Info, error) {
	var g protocol.GameSession
	if err := c.account.call(ctx, call{method: http.MethodGet, path: sessionPath(sessionID)}, &g); err != nil {
		return session.Info{}, err
	}
	return infoOf(&g), nil
}

func sessionPath(id string) string { return sessionsPath + "/" + url.PathEscape(id) }

func infoOf(g *protocol.GameSession) session.Info {
	return session.Info{
		ID: g.SessionID, Name: g.Name, Properties: g.Properties, MaxPlayers: int(g.MaxPlayers), Players: int(g.Players),
		Status: session.Status(g.Status), StatusReason: g.StatusReason, Location: g.Location, AcceptsPlayers: g.AcceptsPlayers,
		CreatedAt: g.CreatedAt, TerminatedAt: g.EndedAt,
	}
}
