package session

import (
	"cmp"
	"context"
	"slices"
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
	all := s.liveAfter(q)
	if q.Status == "" || q.Status.Ended() {
		ended, err := s.archivedAfter(ctx, q)
		if err != nil {
			return nil, false, err
		}
		all = append(all, ended...)
		slices.SortStableFunc(all, inOrder)
		// A session that was archived between the two reads appears twice.
		all = slices.CompactFunc(all, func(a, b *GameSession) bool { return a.ID == b.ID })
	}
	page, more = cut(all, q.Limit)
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

// liveAfter returns the sessions in memory after the cursor, enough for one page and to
// know whether more follow.
func (s *Games) liveAfter(q Query) []*GameSession {
	prefix := fleetPrefix(q.FleetID)
	after := ""
	if q.After.ID != "" {
		after = prefix + store.TimeKey(q.After.Created)
	}
	var found []*GameSession
	for _, g := range s.byFleet.PrefixAfter(s.st.View(), prefix, after, q.After.ID) {
		if q.wants(g) {
			found = append(found, g)
		}
		if len(found) > q.Limit {
			break
		}
	}
	return found
}

// archivedAfter returns the archived sessions after the cursor, enough for one page and
// to know whether more follow.
func (s *Games) archivedAfter(ctx context.Context, q Query) ([]*GameSession, error) {
	prefix := fleetPrefix(q.FleetID)
	read := store.Query{OrderBy: "fleet_created", From: prefix, To: prefix + "~", Limit: q.Limit + 1}
	if q.After.ID != "" {
		read.AfterOrder, read.AfterKey = prefix+store.TimeKey(q.After.Created), q.After.ID
	}
	return archived(ctx, s.table, read, q.wants, func(g *GameSession) (string, string) { return fleetCreated(g), g.ID })
}

// archived reads rows from an archive until read.Limit of them are wanted or there are no
// more. position returns what follows a row: AfterOrder and AfterKey of a query.
func archived[V any](ctx context.Context, t *store.Table[V], read store.Query, wants func(*V) bool, position func(*V) (order, key string)) ([]*V, error) {
	var found []*V
	for {
		rows, err := t.Archived(ctx, read)
		if err != nil {
			return nil, err
		}
		for _, v := range rows {
			if wants(v) {
				found = append(found, v)
			}
		}
		if len(rows) < read.Limit || len(found) >= read.Limit {
			return found, nil
		}
		read.AfterOrder, read.AfterKey = position(rows[len(rows)-1])
	}
}

func inOrder(a, b *GameSession) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

// cut returns a page of a list and whether more follow.
func cut[T any](all []T, limit int) (page []T, more bool) {
	return all[:min(limit, len(all))], len(all) > limit
}
