package session

import (
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// Use is the current use of a fleet.
type Use struct {
	Processes    int // ACTIVE game server processes
	GameSessions int // ACTIVE game sessions
	Activating   int // ACTIVATING game sessions
	Players      int // player sessions that hold a slot: reserved and active ones
	MaxPlayers   int // slots of the ACTIVE game sessions
}

// Kinds of counts in the sum of game sessions.
const (
	countActive     = "active"
	countActivating = "activating"
	countSlots      = "slots"
)

// Use returns the current use of a fleet's location, "" meaning all, without iterating
// over its sessions.
func (s *Service) Use(r store.Reader, fleetID, location string) Use {
	games := func(what string) int { return s.t.gameTally.Of(r, store.Key(what, fleetID, location)) }
	return Use{
		Processes:    s.computes.Tally(r, fleetID, location).Active,
		GameSessions: games(countActive), Activating: games(countActivating), MaxPlayers: games(countSlots),
		Players: s.t.playing.Of(r, store.Key(fleetID, location)),
	}
}

// Free returns how many game sessions could be created now in a location of a fleet,
// counting up to most.
func (s *Service) Free(r store.Reader, f *fleet.Fleet, location string, most int) int {
	return s.computes.Free(r, f, location, most, s.activating)
}
