package lobby

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
	"github.com/musterhq/muster/session/filter"
)

// poolProperty is the key of the property that marks a game session created by a player
// with its pool, so that lists of a pool leave out matched games.
const poolProperty = "muster_pool"

// Games are the game sessions that players may see and join.
type Games struct{ *core }

// Game is a game session as players see it.
type Game struct {
	*session.GameSession
	Pool    string // "" if it belongs to none
	Players int
}

// Shows reports whether players see a property. The properties of a game session that no
// player created are private to the operator and the game server.
func (g *Game) Shows(p session.Property) bool { return g.Pool != "" && p.Key != poolProperty }

func (s *Games) game(view *store.Snapshot, pool string, g *session.GameSession) Game {
	return Game{g, pool, s.deps.Sessions.Players.Count(view, g.ID)}
}

// PoolToList returns a pool whose game sessions a player with a scope may list and join.
func (s *Games) PoolToList(name, scope string) (*Pool, error) {
	return s.catalog.pool(name, scope, func(p *Pool) bool { return p.CanList })
}

// ListQuery selects game sessions of a pool.
type ListQuery struct {
	Location string         // "" means anywhere
	Filter   *filter.Filter // nil means all; it is about what players see
	Sort     *filter.Sort   // nil means by creation in each fleet
	Limit    int
	// Name returns the id that players have of a game session, for Filter and Sort.
	Name func(arn string) string
}

// List returns game sessions of a pool that have room.
func (s *Games) List(pool *Pool, q ListQuery) []Game {
	view := s.st.View()
	var found []Game
	for _, fleetID := range s.fleetsOf(view, pool) {
		for g := range s.deps.Sessions.Offered(view, fleetID, q.Location) {
			if len(found) == q.Limit && q.Sort == nil {
				return found
			}
			if !s.inPool(g, pool) || g.JoinPolicy != session.AcceptAll {
				continue
			}
			game := s.game(view, pool.Name, g)
			if game.Players < g.MaxPlayers && q.Filter.Match(seen{&game, q.Name}) {
				found = append(found, game)
			}
		}
	}
	if q.Sort != nil {
		slices.SortStableFunc(found, func(a, b Game) int { return q.Sort.Compare(seen{&a, q.Name}, seen{&b, q.Name}) })
	}
	return found[:min(len(found), q.Limit)]
}

// seen is what players see of a game session, for expressions.
type seen struct {
	*Game
	name func(arn string) string
}

func (x seen) GameSessionID() string   { return x.name(x.ID) }
func (x seen) GameSessionName() string { return x.Name }
func (x seen) MaximumSessions() int    { return x.MaxPlayers }
func (x seen) CreationTime() time.Time { return x.Created }
func (x seen) PlayerSessionCount() int { return x.Players }

// Property implements filter.Subject. A property that players do not see is none.
func (x seen) Property(key string) (string, bool) {
	value, ok := x.GameSession.Property(key)
	if !ok || !x.Shows(session.Property{Key: key, Value: value}) {
		return "", false
	}
	return value, true
}

func (s *Games) fleetsOf(view *store.Snapshot, pool *Pool) []string {
	q := s.deps.Placements.Queues.Get(view, pool.Queue)
	if q == nil {
		return nil
	}
	var ids []string
	for _, destination := range q.Destinations {
		f := s.deps.Fleets.Get(view, destination)
		if f == nil {
			var err error
			if f, err = s.deps.Fleets.Aliases.Resolve(view, destination); err != nil {
				continue
			}
		}
		if !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// inPool reports whether a game session belongs to a pool. On an open server, those that
// were not matched belong to every pool.
func (s *Games) inPool(g *session.GameSession, pool *Pool) bool {
	name, marked := g.Property(poolProperty)
	return name == pool.Name || s.catalog.open() && !marked && g.Matchmaker == ""
}

// Game returns a game session to the players who have a place in it, or had one; for
// others it does not exist. An ended one leaves memory after a while, and is not found
// from then on.
func (s *Games) Game(player, id string) (Game, error) {
	view := s.st.View()
	if g := s.deps.Sessions.Live(view, id); g != nil {
		for p := range s.deps.Sessions.Players.Of(view, g.ID) {
			if p.PlayerID == player {
				pool, _ := g.Property(poolProperty)
				return s.game(view, pool, g), nil
			}
		}
	}
	return Game{}, refuse(NotFound, "you have no place in such a game session")
}

// Join reserves a place for a player in a game session of a pool that the player may
// list. If the player has a place already, Join returns that, and made is false.
func (s *Games) Join(ctx context.Context, player, scope, id, data string) (p *session.PlayerSession, made bool, err error) {
	if !s.joinable(scope, id) {
		return nil, false, refuse(NotFound, "there is no such game session to join")
	}
	if held := s.held(player, id); held != nil {
		return held, false, nil
	}
	joining := []session.Joining{{PlayerID: player, Data: data}}
	reserved, err := s.deps.Sessions.Players.Reserve(ctx, session.ReserveInput{GameSessionID: id, Players: joining})
	if fault.Is(err, fault.InvalidRequest) { // another request of the player came first
		if held := s.held(player, id); held != nil {
			return held, false, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	return reserved[0], true, nil
}

func (s *Games) joinable(scope, id string) bool {
	view := s.st.View()
	g := s.deps.Sessions.Live(view, id)
	return g != nil && slices.ContainsFunc(s.catalog.Pools(), func(p Pool) bool {
		return p.CanList && allows(p.Scopes, scope) && s.inPool(g, &p) && slices.Contains(s.fleetsOf(view, &p), g.FleetID)
	})
}

// held returns the place that a player has in a game session, or nil.
func (s *Games) held(player, id string) *session.PlayerSession {
	for p := range s.deps.Sessions.Players.Of(s.st.View(), id) {
		if p.PlayerID == player && p.Status.HoldsSlot() {
			return s.deps.Sessions.Players.Located(s.st.View(), p)
		}
	}
	return nil
}

// mostReservations is more than any player has.
const mostReservations = 20

// Reservations returns the places that a player has in game sessions.
func (s *Games) Reservations(ctx context.Context, player string) ([]*session.PlayerSession, error) {
	var all []*session.PlayerSession
	for _, status := range []session.PlayerStatus{session.Reserved, session.Playing} {
		page, _, err := s.deps.Sessions.Players.List(ctx, session.PlayerQuery{PlayerID: player, Status: status, Limit: mostReservations})
		if err != nil {
			return nil, err
		}
		slices.Reverse(page)
		all = append(all, page...)
	}
	return all, nil
}
