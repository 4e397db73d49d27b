package session

import (
	"cmp"
	"context"
	"iter"
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
	var all []*GameSession
	for g := range s.inMemory(s.st.View(), q) {
		if all = append(all, g); len(all) > q.Limit { // enough to know whether more follow
			break
		}
	}
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

// wants reports whether a query selects the game sessions in a location that have a status.
func (q Query) wants(location string, status Status) bool {
	return (q.Location == "" || location == q.Location) && (q.Places == nil || q.Places(location)) &&
		(q.Status == "" || status == q.Status)
}

// inMemory returns an iterator over the game sessions in memory that a query selects, after
// its cursor.
func (s *Games) inMemory(r store.Reader, q Query) iter.Seq[*GameSession] {
	fleet, parts := store.Key(q.FleetID), 2
	if q.Location != "" {
		fleet, parts = store.Key(q.FleetID, q.Location), 1
	}
	groups := s.byPlace.Groups(r, fleet, parts)
	groups = slices.DeleteFunc(groups, func(group string) bool {
		names := strings.Split(group, "\x00")
		return !q.wants(names[1], Status(names[2]))
	})
	after := ""
	if q.After.ID != "" {
		after = store.TimeKey(q.After.Created)
	}
	return s.byPlace.Across(r, groups, after, q.After.ID)
}

// archivedAfter returns the archived sessions after the cursor, enough for one page and
// to know whether more follow.
func (s *Games) archivedAfter(ctx context.Context, q Query) ([]*GameSession, error) {
	prefix := fleetPrefix(q.FleetID)
	read := store.Query{OrderBy: "fleet_created", From: prefix, To: prefix + "~", Limit: q.Limit + 1}
	if q.After.ID != "" {
		read.AfterOrder, read.AfterKey = prefix+store.TimeKey(q.After.Created), q.After.ID
	}
	wants := func(g *GameSession) bool { return q.wants(g.Location, g.Status) }
	return archived(ctx, s.table, read, wants, func(g *GameSession) (string, string) { return fleetCreated(g), g.ID })
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

// All yields the game sessions of a fleet that have not ended, and those that ended within
// Options.Linger, in order of creation.
func (s *Games) All(r store.Reader, fleetID string) iter.Seq[*GameSession] {
	return s.inMemory(r, Query{FleetID: fleetID})
}
