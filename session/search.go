package session

import (
	"iter"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session/filter"
)

// Search says which ACTIVE game sessions of a fleet to find.
type Search struct {
	FleetID  string
	Location string                     // "" = all
	Places   func(location string) bool // the locations besides; nil = all
	Filter   *filter.Filter             // nil = all
	Sort     *filter.Sort               // nil = by creation
	After    string                     // id of the last session of the page before
	Skip     int                        // how many sessions were shown before; used where After has ended meanwhile
	Limit    int
}

// Offered yields the ACTIVE game sessions of a fleet, by creation, without those
// whose process is unreachable.
func (s *Service) Offered(r store.Reader, fleetID string) iter.Seq[*GameSession] {
	return func(yield func(*GameSession) bool) {
		for _, g := range s.t.active.Prefix(r, fleetPrefix(fleetID)) {
			if p := s.computes.Process(r, g.ProcessKey); p != nil && p.Unreachable() {
				continue
			}
			if !yield(g) {
				return
			}
		}
	}
}

// Search finds ACTIVE game sessions, and tells whether more follow.
func (s *Service) Search(q Search) (page []*GameSession, more bool) {
	view := s.st.View()
	var found []*subject
	for g := range s.Offered(view, q.FleetID) {
		at := &subject{g: g, s: s, view: view}
		if inPlace(g, q.Location, q.Places) && q.Filter.Match(at) {
			found = append(found, at)
		}
	}
	if q.Sort != nil {
		slices.SortStableFunc(found, func(a, b *subject) int { return q.Sort.Compare(a, b) })
	}
	rest := found[resume(found, q):]
	for _, at := range rest[:min(q.Limit, len(rest))] {
		page = append(page, at.g)
	}
	return page, len(rest) > q.Limit
}

// resume gives where the next page starts.
func resume(found []*subject, q Search) int {
	if q.After == "" {
		return 0
	}
	at := slices.IndexFunc(found, func(x *subject) bool { return x.g.ID == q.After })
	if at >= 0 {
		return at + 1
	}
	return min(q.Skip, len(found))
}

// subject shows a game session to search expressions; players are counted once.
type subject struct {
	g       *GameSession
	s       *Service
	view    *store.Snapshot
	players int
	counted bool
}

func (x *subject) GameSessionID() string              { return x.g.ID }
func (x *subject) GameSessionName() string            { return x.g.Name }
func (x *subject) Property(key string) (string, bool) { return x.g.Property(key) }
func (x *subject) MaximumSessions() int               { return x.g.MaxPlayers }
func (x *subject) CreationTime() time.Time            { return x.g.Created }

func (x *subject) PlayerSessionCount() int {
	if !x.counted {
		x.players, x.counted = x.s.Players(x.view, x.g.ID), true
	}
	return x.players
}
