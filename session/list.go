package session

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Query selects game sessions of a fleet.
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

// List returns running and ended game sessions in order of creation, and whether more
// follow.
func (s *Games) List(ctx context.Context, q Query) (page []*GameSession, more bool, err error) {
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

// inPlace reports whether a game session is in the location ("" means any) and places
// returns true for its location (nil means for any).
func inPlace(g *GameSession, location string, places func(string) bool) bool {
	return (location == "" || g.Location == location) && (places == nil || places(g.Location))
}

// liveAfter returns an iterator over the sessions in memory after the cursor.
func (s *Games) liveAfter(q Query) iter.Seq[*GameSession] {
	view := s.st.View()
	prefix := fleetPrefix(q.FleetID)
	after := ""
	if q.After.ID != "" {
		after = prefix + store.TimeKey(q.After.Created)
	}
	return func(yield func(*GameSession) bool) {
		for _, g := range s.byFleet.PrefixAfter(view, prefix, after, q.After.ID) {
			if q.wants(g) && !yield(g) {
				return
			}
		}
	}
}

// archivedAfter returns the archived sessions after the cursor, enough for one page and
// to know whether more follow. It keeps reading until filters have left enough.
func (s *Games) archivedAfter(ctx context.Context, q Query) ([]*GameSession, error) {
	prefix := fleetPrefix(q.FleetID)
	read := store.Query{OrderBy: "fleet_created", From: prefix, To: prefix + "~", Limit: q.Limit + 1}
	if q.After.ID != "" {
		read.AfterOrder, read.AfterKey = prefix+store.TimeKey(q.After.Created), q.After.ID
	}
	var found []*GameSession
	for {
		rows, err := s.table.Archived(ctx, read)
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
