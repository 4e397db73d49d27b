package session

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Query says which game sessions of a fleet to list.
type Query struct {
	FleetID  string
	Location string                     // "" means all
	Places   func(location string) bool // additional condition on the location; nil means all
	Status   Status                     // "" means all
	After    Cursor                     // where the previous page ended; zero means from the start
	Limit    int
}

// Cursor is a position in a list ordered by creation, then id.
type Cursor struct {
	Created time.Time
	ID      string
}

// Get returns a game session that is running or ended within Retention.
// Errors: NotFound.
func (s *Service) Get(ctx context.Context, id string) (*GameSession, error) {
	if g := s.t.games.Get(s.st.View(), id); g != nil {
		return g, nil
	}
	g, err := s.archived(ctx, id)
	if err == nil && g == nil {
		err = fault.Missing("GameSessionId: game session %s does not exist", id)
	}
	return g, err
}

// archived returns a game session from the archive, or nil.
func (s *Service) archived(ctx context.Context, id string) (*GameSession, error) {
	rows, err := s.t.games.Archived(ctx, store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// List returns running and ended game sessions in order of creation, and whether more
// follow.
func (s *Service) List(ctx context.Context, q Query) (page []*GameSession, more bool, err error) {
	live := s.liveAfter(q)
	if q.Status != "" && !q.Status.Ended() {
		page, more = cut(live, q.Limit)
		return page, more, nil
	}
	ended, err := s.archivedAfter(ctx, q)
	if err != nil {
		return nil, false, err
	}
	page, more = cut(merged(live, ended), q.Limit)
	return page, more, nil
}

func (q Query) wants(g *GameSession) bool {
	return inPlace(g, q.Location, q.Places) && (q.Status == "" || g.Status == q.Status)
}

// inPlace reports whether a game session is in a location, "" meaning any, of those
// that places admits; nil admits all.
func inPlace(g *GameSession, location string, places func(string) bool) bool {
	return (location == "" || g.Location == location) && (places == nil || places(g.Location))
}

// liveAfter returns an iterator over the sessions in memory after the cursor.
func (s *Service) liveAfter(q Query) iter.Seq[*GameSession] {
	view := s.st.View()
	prefix := fleetPrefix(q.FleetID)
	after := ""
	if q.After.ID != "" {
		after = prefix + store.TimeKey(q.After.Created)
	}
	return func(yield func(*GameSession) bool) {
		for _, g := range s.t.byFleet.PrefixAfter(view, prefix, after, q.After.ID) {
			if q.wants(g) && !yield(g) {
				return
			}
		}
	}
}

// archivedAfter returns the archived sessions after the cursor, enough for one page and
// to know whether more follow. It keeps reading until filters have left enough.
func (s *Service) archivedAfter(ctx context.Context, q Query) ([]*GameSession, error) {
	prefix := fleetPrefix(q.FleetID)
	read := store.Query{OrderBy: "fleet_created", From: prefix, To: prefix + "~", Limit: q.Limit + 1}
	if q.After.ID != "" {
		read.AfterOrder, read.AfterKey = prefix+store.TimeKey(q.After.Created), q.After.ID
	}
	var found []*GameSession
	for {
		rows, err := s.t.games.Archived(ctx, read)
		if err != nil {
			return nil, err
		}
		for _, g := range rows {
			if q.wants(g) {
				found = append(found, g)
			}
		}
		if len(rows) < read.Limit || len(found) > q.Limit {
			return found, nil
		}
		last := rows[len(rows)-1]
		read.AfterOrder, read.AfterKey = fleetCreated(last), last.ID
	}
}

// merged returns an iterator over sessions in memory and in the archive, in order of
// creation. A session that was archived between the two reads appears once.
func merged(live iter.Seq[*GameSession], ended []*GameSession) iter.Seq[*GameSession] {
	return func(yield func(*GameSession) bool) {
		rest := ended
		for g := range live {
			for len(rest) > 0 && inOrder(rest[0], g) < 0 {
				if !yield(rest[0]) {
					return
				}
				rest = rest[1:]
			}
			if len(rest) > 0 && rest[0].ID == g.ID {
				rest = rest[1:]
			}
			if !yield(g) {
				return
			}
		}
		for _, g := range rest {
			if !yield(g) {
				return
			}
		}
	}
}

func inOrder(a, b *GameSession) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// cut returns a page of a sequence and whether more follow.
func cut[T any](all iter.Seq[T], limit int) (page []T, more bool) {
	for v := range all {
		if len(page) == limit {
			return page, true
		}
		page = append(page, v)
	}
	return page, false
}

// PlayerQuery says which player sessions to list. Exactly one of its first three members
// is set.
type PlayerQuery struct {
	PlayerSessionID, GameSessionID, PlayerID string
	Games                                    func(gameSessionID string) bool // condition on the game session; nil means all
	Status                                   PlayerStatus                    // "" means all
	After                                    string                          // last id of the previous page
	Limit                                    int
}

// ListPlayers returns player sessions in order of creation, and whether more follow. For
// a single player session that does not exist it returns an empty page.
func (s *Service) ListPlayers(ctx context.Context, q PlayerQuery) (page []*PlayerSession, more bool, err error) {
	live := s.livePlayers(q)
	where := store.Eq{Column: "game_session", Value: q.GameSessionID}
	switch {
	case q.PlayerSessionID != "":
		where = store.Eq{Column: "key", Value: q.PlayerSessionID}
	case q.PlayerID != "":
		where = store.Eq{Column: "player", Value: q.PlayerID}
	}
	ended, err := s.archivedPlayers(ctx, q, where)
	if err != nil {
		return nil, false, err
	}
	all := append(ended, live...)
	slices.SortFunc(all, func(a, b *PlayerSession) int { return strings.Compare(a.ID, b.ID) })
	all = slices.CompactFunc(all, func(a, b *PlayerSession) bool { return a.ID == b.ID })
	page, more = cut(slices.Values(all), q.Limit)
	return page, more, nil
}

func (q PlayerQuery) wants(p *PlayerSession) bool {
	return (q.Status == "" || p.Status == q.Status) && p.ID > q.After && (q.Games == nil || q.Games(p.GameSessionID))
}

func (s *Service) livePlayers(q PlayerQuery) []*PlayerSession {
	view := s.st.View()
	if q.PlayerSessionID != "" {
		if p := s.t.players.Get(view, q.PlayerSessionID); p != nil && q.wants(p) {
			return []*PlayerSession{p}
		}
		return nil
	}
	all := s.t.ofGame.Equal(view, q.GameSessionID)
	if q.PlayerID != "" {
		all = s.t.ofPlayer.Equal(view, q.PlayerID)
	}
	var found []*PlayerSession
	for p := range all {
		if q.wants(p) {
			found = append(found, p)
		}
		if len(found) > q.Limit {
			break
		}
	}
	return found
}

func (s *Service) archivedPlayers(ctx context.Context, q PlayerQuery, where store.Eq) ([]*PlayerSession, error) {
	if q.Status.HoldsSlot() {
		return nil, nil // those that hold a slot are in memory
	}
	read := store.Query{Where: []store.Eq{where}, Limit: q.Limit + 1, AfterKey: q.After}
	var found []*PlayerSession
	for {
		rows, err := s.t.players.Archived(ctx, read)
		if err != nil {
			return nil, err
		}
		for _, p := range rows {
			if q.wants(p) {
				found = append(found, p)
			}
		}
		if len(rows) < read.Limit || len(found) > q.Limit {
			return found, nil
		}
		read.AfterKey = rows[len(rows)-1].ID
	}
}

// PlayersOf returns an iterator over the player sessions of a game session that are in
// memory.
func (s *Service) PlayersOf(r store.Reader, gameSessionID string) iter.Seq[*PlayerSession] {
	return s.t.ofGame.Equal(r, gameSessionID)
}
