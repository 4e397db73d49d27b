package pages

import (
	"context"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/explain"
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
	// Named adds a name to what the audit log has of a request.
	Named func(r *http.Request, name string)
	// TicketOf returns the name of a ticket's configuration, "" if the ticket does not exist.
	TicketOf func(ctx context.Context, id string) (string, error)
}

// allowing returns the sender of a request for a view with parameters, or a fault.
type allowing = func(r *http.Request, q url.Values) (auth.Caller, error)

// account lets those see a view who may perform an action in the whole account.
func (g Gate) account(action auth.Action) allowing {
	return func(r *http.Request, _ url.Values) (auth.Caller, error) { return g.Allow(r, action) }
}

// resource is like account for the resource that the parameters name.
func (g Gate) resource(action auth.Action, of func(q url.Values) (arn string)) allowing {
	return func(r *http.Request, q url.Values) (auth.Caller, error) { return g.Allow(r, action, of(q)) }
}

// part lets those see a view whose role allows an action; the view has what is in their scope.
func (g Gate) part(action auth.Action) allowing {
	return func(r *http.Request, _ url.Values) (auth.Caller, error) {
		caller, err := g.Who(r, action)
		if err == nil {
			err = caller.Has(action)
		}
		return caller, err
	}
}

// show returns a view of what depends on the parameters alone.
func show[T any](allow allowing, data func(ctx context.Context, q url.Values) (T, error)) console.View {
	return showTo(allow, func(ctx context.Context, _ auth.Caller, q url.Values) (T, error) { return data(ctx, q) })
}

// showTo returns a view of what depends on the caller, too.
func showTo[T any](allow allowing, data func(ctx context.Context, c auth.Caller, q url.Values) (T, error)) console.View {
	return console.View{Allow: allow, Data: func(ctx context.Context, c auth.Caller, q url.Values) (any, error) { return data(ctx, c, q) }}
}

// ranged reads the range of the series that a view has.
func ranged[T any](data func(ctx context.Context, q url.Values, s Range) (*T, error)) func(ctx context.Context, q url.Values) (*T, error) {
	return func(ctx context.Context, q url.Values) (*T, error) {
		s, err := rangeOf(q)
		if err != nil {
			return nil, err
		}
		return data(ctx, q, s)
	}
}

// Views returns the views of the console, by name.
func (p *Pages) Views(g Gate) map[string]console.View {
	v := views{p, g}
	all := v.hosting()
	maps.Copy(all, v.matchmaking())
	maps.Copy(all, v.people())
	return all
}

// views makes the views of pages behind a gate.
type views struct {
	p *Pages
	g Gate
}

// hosting returns the views of what runs, and where.
func (v views) hosting() map[string]console.View {
	p, g := v.p, v.g
	gameSession := g.resource("DescribeGameSessions", func(q url.Values) string { return p.fleetOf(q.Get("id")) })
	fleet := func(q url.Values) string { return p.Home.OfFleet(p.Home.FleetID(q.Get("id"))) }
	return map[string]console.View{
		"now":   show(g.account("DescribeFleetUtilization"), ranged(func(_ context.Context, _ url.Values, s Range) (*Now, error) { return p.Now(s), nil })),
		"world": show(g.world, func(_ context.Context, q url.Values) (*World, error) { return p.World(q.Get("location")) }),
		"fleet": showTo(g.resource("DescribeGameSessions", fleet), func(ctx context.Context, c auth.Caller, q url.Values) (*FleetPage, error) {
			s, err := rangeOf(q)
			if err != nil {
				return nil, err
			}
			return p.Fleet(ctx, q.Get("id"), s, p.locationsOf(c))
		}),
		"host":    show(g.account(auth.ReadHosts), func(_ context.Context, q url.Values) (*HostPage, error) { return p.Host(q.Get("id")) }),
		"crashes": show(g.account("DescribeFleetEvents"), ranged(func(_ context.Context, _ url.Values, s Range) (*Crashes, error) { return p.Crashes(s), nil })),
		"sessions": showTo(func(r *http.Request, q url.Values) (auth.Caller, error) {
			if fleet := q.Get("fleet"); fleet != "" {
				return g.Allow(r, "DescribeGameSessions", p.Home.OfFleet(p.Home.FleetID(fleet)))
			}
			return g.part("DescribeGameSessions")(r, q)
		}, func(ctx context.Context, c auth.Caller, q url.Values) (*SessionList, error) {
			in, err := sessionQuery(q)
			if err != nil {
				return nil, err
			}
			return p.GameSessions(ctx, c, in)
		}),
		"session-log": showTo(v.log, func(ctx context.Context, c auth.Caller, q url.Values) (*SessionLog, error) {
			return p.SessionLog(ctx, c, q.Get("id"))
		}),
		"session-load": showTo(gameSession, func(ctx context.Context, c auth.Caller, q url.Values) (*SessionLoad, error) {
			return p.SessionLoad(ctx, c, q.Get("id"))
		}),
		"session": showTo(gameSession, func(ctx context.Context, c auth.Caller, q url.Values) (*SessionPage, error) {
			return p.GameSession(ctx, c, q.Get("id"))
		}),
	}
}

// log lets those see the log of a game session who may read logs; the audit log names it.
func (v views) log(r *http.Request, q url.Values) (auth.Caller, error) {
	caller, err := v.g.Allow(r, auth.ReadLogs, v.p.fleetOf(q.Get("id")))
	v.g.Named(r, q.Get("id"))
	return caller, err
}

// world lets those see the world who may also see queues, whose latency caps are part of it.
func (g Gate) world(r *http.Request, _ url.Values) (auth.Caller, error) {
	caller, err := g.Allow(r, "DescribeFleetUtilization")
	if err == nil {
		err = caller.Has("DescribeGameSessionQueues")
	}
	return caller, err
}

// sessionQuery returns the query of the parameters. Errors: InvalidRequest.
func sessionQuery(q url.Values) (SessionQuery, error) {
	in := SessionQuery{FleetID: q.Get("fleet"), Status: session.Status(q.Get("state")), Text: q.Get("text"), Sort: q.Get("sort")}
	var err error
	if in.From, err = number(q, "from", 0, math.MaxInt32); err != nil {
		return in, err
	}
	in.Limit, err = number(q, "limit", 1, sessionsMost)
	return in, err
}

// number returns a parameter that is a whole number in a range, 0 if it is missing. Errors:
// InvalidRequest.
func number(q url.Values, name string, least, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fault.Invalid("%s: %.40q is no number from %d to %d", name, text, least, most)
	}
	return n, nil
}

// matchmaking returns the views of queues and matchmaking.
func (v views) matchmaking() map[string]console.View {
	p, g := v.p, v.g
	queue := func(q url.Values) string { return p.Home.Of("gamesessionqueue", q.Get("name")) }
	configuration := func(name string) string { return p.Home.Of("matchmakingconfiguration", name) }
	named := g.resource("DescribeMatchmaking", func(q url.Values) string { return configuration(q.Get("name")) })
	ticket := func(r *http.Request, q url.Values) (auth.Caller, error) {
		return g.AllowOf(r, "DescribeMatchmaking", func(ctx context.Context) (string, error) {
			name, err := g.TicketOf(ctx, q.Get("id"))
			return configuration(name), err
		})
	}
	return map[string]console.View{
		"queues":      show(g.account("DescribeGameSessionQueues"), ranged(func(_ context.Context, _ url.Values, s Range) (*QueueList, error) { return p.Queues(s), nil })),
		"queue":       show(g.resource("DescribeGameSessionQueues", queue), ranged(func(_ context.Context, q url.Values, s Range) (*Queue, error) { return p.Queue(q.Get("name"), s) })),
		"matchmakers": show(g.account("DescribeMatchmakingConfigurations"), ranged(func(_ context.Context, _ url.Values, s Range) (*MatchmakerList, error) { return p.Matchmakers(s), nil })),
		"matchmaker": show(named, ranged(func(_ context.Context, q url.Values, s Range) (*Matchmaker, error) {
			return p.Matchmaker(q.Get("name"), s)
		})),
		"matchmaker-why": show(named, func(ctx context.Context, q url.Values) (*explain.Overview, error) {
			return p.Matches.Overview(ctx, q.Get("name"))
		}),
		"quality": show(named, func(_ context.Context, q url.Values) (*Quality, error) { return p.Quality(q.Get("name")) }),
		"ticket":  show(ticket, func(ctx context.Context, q url.Values) (*Ticket, error) { return p.Ticket(ctx, q.Get("id")) }),
		"ticket-why": show(ticket, func(ctx context.Context, q url.Values) (*flexmatch.Explanation, error) {
			return p.Matches.Explain(ctx, q.Get("id"))
		}),
	}
}

// people returns the views of players, and the search.
func (v views) people() map[string]console.View {
	p, g := v.p, v.g
	anybody := func(r *http.Request, _ url.Values) (auth.Caller, error) { return g.Who(r, auth.UseConsole) }
	return map[string]console.View{
		"player": showTo(g.part("DescribePlayerSessions"), func(ctx context.Context, c auth.Caller, q url.Values) (*PlayerPage, error) {
			return p.Player(ctx, c, q.Get("id"))
		}),
		"player-data": show(g.account(auth.ReadPlayerData), func(_ context.Context, q url.Values) (*PlayerData, error) { return p.PlayerData(q.Get("id")) }),
		"search": showTo(anybody, func(ctx context.Context, c auth.Caller, q url.Values) ([]Hit, error) {
			return p.Search(ctx, c, q.Get("text"))
		}),
	}
}
