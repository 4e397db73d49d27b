package session

import (
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/store"
)

// Use is how much of a fleet is in use.
type Use struct {
	Processes    int // ACTIVE game server processes
	GameSessions int // ACTIVE game sessions
	Players      int // reserved and active player sessions of them
	MaxPlayers   int // slots of them
}

// Use counts what runs in a fleet; location "" means all of it.
func (s *Service) Use(r store.Reader, fleetID, location string) Use {
	var use Use
	for p := range s.computes.Processes(r, fleetID, location) {
		if p.Status == compute.Active {
			use.Processes++
		}
	}
	for _, g := range s.t.active.Prefix(r, fleetPrefix(fleetID)) {
		if location != "" && g.Location != location {
			continue
		}
		use.GameSessions++
		use.Players += s.Players(r, g.ID)
		use.MaxPlayers += g.MaxPlayers
	}
	return use
}
