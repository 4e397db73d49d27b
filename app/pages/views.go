package pages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// Gate has the functions that check callers.
type Gate struct {
	// Allow returns the sender of a request, or a fault if it may not perform action on the
	// resources.
	Allow func(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error)
	// AllowOf is like Allow for a resource that is looked up once the sender is
	// authenticated.
	AllowOf func(r *http.Request, action auth.Action, look func(context.Context) (resource string, err error)) (auth.Caller, error)
	// Who returns the sender of a request whatever its role. action is for the audit log.
	Who func(r *http.Request, action auth.Action) (auth.Caller, error)
	// TicketOf returns the name of a ticket's configuration, "" if the ticket does not exist.
	TicketOf func(ctx context.Context, id string) (string, error)
}

// Views returns the views of the console, by name.
func (p *Pages) Views(g Gate) map[string]console.View {
	account := func(action auth.Action) func(*http.Request, url.Values) (auth.Caller, error) {
		return func(r *http.Request, _ url.Values) (auth.Caller, error) { return g.Allow(r, action) }
	}
	some := func(r *http.Request, action auth.Action) (auth.Caller, error) { // who may see at least a part
		caller, err := g.Who(r, action)
		if err == nil {
			err = caller.Has(action)
		}
		return caller, err
	}
	fleet := func(q url.Values) string { return p.Home.OfFleet(p.Home.FleetID(q.Get("id"))) }
	return map[string]console.View{
		"now": {
			Allow: account("DescribeFleetUtilization"),
			Data:  func(ctx context.Context, c auth.Caller, _ url.Values) (any, error) { return p.Now(ctx, c) },
		},
		"world": {
			Allow: func(r *http.Request, _ url.Values) (auth.Caller, error) {
				caller, err := g.Allow(r, "DescribeFleetUtilization")
				if err == nil {
					err = caller.Has("DescribeGameSessionQueues") // caps are of queues
				}
				return caller, err
			},
			Data: func(ctx context.Context, c auth.Caller, q url.Values) (any, error) {
				return p.World(ctx, c, q.Get("location"))
			},
		},
		"queues": {
			Allow: account("DescribeGameSessionQueues"),
			Data:  func(context.Context, auth.Caller, url.Values) (any, error) { return p.Queues(), nil },
		},
		"queue": {
			Allow: func(r *http.Request, q url.Values) (auth.Caller, error) {
				return g.Allow(r, "DescribeGameSessionQueues", p.Home.Of("gamesessionqueue", q.Get("name")))
			},
			Data: func(ctx context.Context, _ auth.Caller, q url.Values) (any, error) {
				return p.Queue(ctx, q.Get("name"))
			},
		},
		"matchmakers": {
			Allow: account("DescribeMatchmakingConfigurations"),
			Data:  func(context.Context, auth.Caller, url.Values) (any, error) { return p.Matchmakers(), nil },
		},
		"matchmaker": {
			Allow: func(r *http.Request, q url.Values) (auth.Caller, error) {
				return g.Allow(r, "DescribeMatchmaking", p.Home.Of("matchmakingconfiguration", q.Get("name")))
			},
			Data: func(ctx context.Context, _ auth.Caller, q url.Values) (any, error) {
				return p.Matchmaker(ctx, q.Get("name"))
			},
		},
		"quality": {
			Allow: func(r *http.Request, q url.Values) (auth.Caller, error) {
				return g.Allow(r, "DescribeMatchmaking", p.Home.Of("matchmakingconfiguration", q.Get("name")))
			},
			Data: func(ctx context.Context, _ auth.Caller, q url.Values) (any, error) {
				return p.Quality(ctx, q.Get("name"))
			},
		},
		"ticket": {
			Allow: func(r *http.Request, q url.Values) (auth.Caller, error) {
				return g.AllowOf(r, "DescribeMatchmaking", func(ctx context.Context) (string, error) {
					name, err := g.TicketOf(ctx, q.Get("id"))
					return p.Home.Of("matchmakingconfiguration", name), err
				})
			},
			Data: func(ctx context.Context, _ auth.Caller, q url.Values) (any, error) { return p.Ticket(ctx, q.Get("id")) },
		},
		"fleet": {
			Allow: func(r *http.Request, q url.Values) (auth.Caller, error) {
				return g.Allow(r, "DescribeGameSessions", fleet(q))
			},
			Data: func(ctx context.Context, c auth.Caller, q url.Values) (any, error) {
				return p.Fleet(ctx, q.Get("id"), func(location string) bool { return c.ReachesBeside(p.Home.Of("location", location)) })
			},
		},
		"host": {
			Allow: account(auth.ReadHosts),
			Data:  func(_ context.Context, _ auth.Caller, q url.Values) (any, error) { return p.Host(q.Get("id")) },
		},
		"sessions": {
			Allow: func(r *http.Request, q url.Values) (auth.Caller, error) {
				if q.Get("fleet") != "" {
					return g.Allow(r, "DescribeGameSessions", p.Home.OfFleet(p.Home.FleetID(q.Get("fleet"))))
				}
				return some(r, "DescribeGameSessions")
			},
			Data: func(ctx context.Context, c auth.Caller, q url.Values) (any, error) {
				in := SessionQuery{FleetID: q.Get("fleet"), Status: session.Status(q.Get("state")), Text: q.Get("text"), Sort: q.Get("sort")}
				if text := q.Get("limit"); text != "" {
					n, err := strconv.Atoi(text)
					if err != nil || n < 1 || n > sessionsMost {
						return nil, fault.Invalid("limit: %.40q is no number from 1 to %d", text, sessionsMost)
					}
					in.Limit = n
				}
				return p.GameSessions(ctx, c, in)
			},
		},
		"session": {
			Allow: func(r *http.Request, q url.Values) (auth.Caller, error) {
				return g.Allow(r, "DescribeGameSessions", p.fleetOf(q.Get("id")))
			},
			Data: func(ctx context.Context, c auth.Caller, q url.Values) (any, error) {
				return p.GameSession(ctx, c, q.Get("id"))
			},
		},
		"player": {
			Allow: func(r *http.Request, _ url.Values) (auth.Caller, error) {
				return some(r, "DescribePlayerSessions")
			},
			Data: func(ctx context.Context, c auth.Caller, q url.Values) (any, error) {
				return p.Player(ctx, c, q.Get("id"))
			},
		},
		"player-data": {
			Allow: account(auth.ReadPlayerData),
			Data: func(_ context.Context, _ auth.Caller, q url.Values) (any, error) {
				return p.PlayerData(q.Get("id"))
			},
		},
		"crashes": {
			Allow: account("DescribeFleetEvents"),
			Data:  func(context.Context, auth.Caller, url.Values) (any, error) { return p.Crashes(), nil },
		},
		"search": {
			Allow: func(r *http.Request, _ url.Values) (auth.Caller, error) { return g.Who(r, auth.UseConsole) },
			Data: func(ctx context.Context, c auth.Caller, q url.Values) (any, error) {
				return p.Search(ctx, c, q.Get("text"))
			},
		},
	}
}
