package backend

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/lobby"
)

// absentFor is for how long a player whose last WebSocket has ended may send nothing until the
// search for a match ends: nobody should be matched with somebody who is gone.
const absentFor = time.Minute

const stopWithin = 10 * time.Second // to end the searches of one player

// absences are players who search, whose last WebSocket has ended, and who have not opened
// another one.
type absences struct {
	many atomic.Int64 // of them; most requests need to look no further

	mu     sync.Mutex
	of     map[string]*time.Timer // by player; fires when the search ends
	closed bool
}

func newAbsences() *absences { return &absences{of: map[string]*time.Timer{}} }

// begin has gone called unless the player sends a request or opens a WebSocket in time.
func (a *absences) begin(player string, gone func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.of[player] != nil {
		return
	}
	a.many.Add(1)
	a.of[player] = time.AfterFunc(absentFor, func() {
		if a.end(player) {
			gone()
		}
	})
}

// heard is called with each request of a player: the time begins again.
func (a *absences) heard(player string) {
	if a.many.Load() == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.of[player]; t != nil {
		t.Reset(absentFor)
	}
}

// end forgets a player's absence, and reports whether there was one.
func (a *absences) end(player string) bool {
	if a.many.Load() == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.of[player]
	if t == nil {
		return false
	}
	t.Stop()
	delete(a.of, player)
	a.many.Add(-1)
	return true
}

// close forgets all absences.
func (a *absences) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for player, t := range a.of {
		t.Stop()
		delete(a.of, player)
	}
	a.many.Store(0)
}

// left is called when the last WebSocket of a player has ended.
func (s *sockets) left(player string) {
	if s.searches(player) != nil {
		s.absent.begin(player, func() { s.stopSearches(player) })
	}
}

// searches returns the tickets with which a player is searching.
func (s *sockets) searches(player string) (ids []string) {
	for t := range s.Lobby.Tickets.Of(s.Store.View(), player) {
		if state := t.Found.State; state == lobby.Queued || state == lobby.Searching {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// stopSearches cancels the tickets with which a player is searching who is absent.
func (s *sockets) stopSearches(player string) {
	if s.door.has(player) {
		return
	}
	ctx, cancel := context.WithTimeout(store.WithActor(context.Background(), "player/"+player), stopWithin)
	defer cancel()
	for _, id := range s.searches(player) {
		if _, err := s.Lobby.Tickets.Cancel(ctx, player, id); err != nil {
			s.log.Warn("the search of a player who is gone goes on", "player_id", player, "ticket_id", id, "error", err)
			continue
		}
		s.log.Info("the search of a player who is gone has ended", "player_id", player, "ticket_id", id)
	}
}
