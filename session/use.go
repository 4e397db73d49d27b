package session

import "github.com/musterhq/muster/internal/store"

// Use is how much of a fleet is in use.
type Use struct {
	Processes    int // ACTIVE game server processes
	GameSessions int // ACTIVE game sessions
	Activating   int // ACTIVATING game sessions
	Players      int // player sessions that hold a slot: reserved and active ones
	MaxPlayers   int // slots of the ACTIVE game sessions
}

// What the sum of game sessions counts.
const (
	countActive     = "active"
	countActivating = "activating"
	countSlots      = "slots"
)

// Use returns what runs in a fleet, location "" meaning all of it, without walking
// over its sessions.
func (s *Service) Use(r store.Reader, fleetID, location string) Use {
	games := func(what string) int { return s.t.gameTally.Of(r, store.Key(what, fleetID, location)) }
	return Use{
		Processes:    s.computes.Tally(r, fleetID, location).Active,
		GameSessions: games(countActive), Activating: games(countActivating), MaxPlayers: games(countSlots),
		Players: s.t.playing.Of(r, store.Key(fleetID, location)),
	}
}
