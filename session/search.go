package session

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session/filter"
)

// Search selects ACTIVE game sessions of a fleet.
type Search struct {
	FleetID  string
	Location string                     // "" means all
	Places   func(location string) bool // additional condition on the location; nil means all
	Filter   *filter.Filter             // nil means all
	Sort     *filter.Sort               // nil means by creation
	After    Cursor                     // where the previous page ended; zero means from the start
	Skip     int                        // number of sessions on previous pages; used if there is Sort and After has ended since
	Limit    int
}

// Offered yields the ACTIVE game sessions of a fleet's location, "" meaning all, by
// creation, without those whose process is unreachable.
func (s *Service) Offered(r store.Reader, fleetID, location string) iter.Seq[*GameSession] {
	return func(yield func(*GameSession) bool) {
		for g := range s.inMemory(r, Query{FleetID: fleetID, Location: location, Status: Active}) {
			if s.Reachable(r, g) && !yield(g) {
				return
			}
		}
	}
}

// Reachable reports whether players can join a game session as far as the connection of its process
// is concerned.
func (s *Service) Reachable(r store.Reader, g *GameSession) bool {
	p := s.computes.Process(r, g.ProcessKey)
	return p == nil || !p.Unreachable()
}

// Search returns ACTIVE game sessions, and whether more follow.
func (s *Service) Search(q Search) (page []*GameSession, more bool) {
	view := s.st.View()
	from := Query{FleetID: q.FleetID, Location: q.Location, Places: q.Places, Status: Active}
	most := math.MaxInt // game sessions to find
	if q.Sort == nil {
		from.After, most = q.After, q.Limit+1
	}
	var found []*subject
	for g := range s.inMemory(view, from) {
		if at := (subject{g: g, players: s.Players, view: view}); q.Filter.Match(&at) && s.Reachable(view, g) {
			found = append(found, &at)
		}
		if len(found) == most {
			break
		}
	}
	if q.Sort != nil {
		slices.SortStableFunc(found, func(a, b *subject) int { return q.Sort.Compare(a, b) })
		found = found[resume(found, q):]
	}
	shown, more := cut(found, q.Limit)
	for _, at := range shown {
		page = append(page, at.g)
	}
	return page, more
}

// resume returns the index at which the next page of a sorted search starts.
func resume(found []*subject, q Search) int {
	if q.After.ID == "" {
		return 0
	}
	at := slices.IndexFunc(found, func(x *subject) bool { return x.g.ID == q.After.ID })
	if at >= 0 {
		return at + 1
	}
	return min(q.Skip, len(found))
}

// subject is a game session for search expressions. Players are counted once.
type subject struct {
	g       *GameSession
	players *Players
	view    *store.Snapshot
	count   int
	counted bool
}

func (x *subject) GameSessionID() string              { return x.g.ID }
func (x *subject) GameSessionName() string            { return x.g.Name }
func (x *subject) Property(key string) (string, bool) { return x.g.Property(key) }
func (x *subject) MaximumSessions() int               { return x.g.MaxPlayers }
func (x *subject) CreationTime() time.Time            { return x.g.Created }

func (x *subject) PlayerSessionCount() int {
	if !x.counted {
		x.count, x.counted = x.players.Count(x.view, x.g.ID), true
	}
	return x.count
}

// Use is the current use of a fleet.
type Use struct {
	Processes    int // ACTIVE game server processes
	GameSessions int // ACTIVE game sessions
	Activating   int // ACTIVATING game sessions
	Players      int // slots in use: reserved and active player sessions, and players without one
	MaxPlayers   int // slots of the ACTIVE game sessions
}

// Use returns the current use of a fleet's location, "" meaning all, without iterating
// over its sessions.
func (s *Service) Use(r store.Reader, fleetID, location string) Use {
	games := func(what string) int { return s.tally.Of(r, store.Key(what, fleetID, location)) }
	return Use{
		Processes:    s.computes.Tally(r, fleetID, location).Active,
		GameSessions: games(countActive), Activating: games(countActivating), MaxPlayers: games(countSlots),
		Players: s.Players.playing.Of(r, store.Key(fleetID, location)) + games(countOthers),
	}
}

// Free returns how many game sessions could be created now in a location of a fleet,
// counting up to most.
func (s *Service) Free(r store.Reader, f *fleet.Fleet, location string, most int) int {
	return s.computes.Free(r, f, location, most, s.counted)
}
