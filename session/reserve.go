package session

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// ReserveInput says for whom to reserve slots in a game session.
type ReserveInput struct {
	GameSessionID string
	Players       []Joining
}

// Joining is one player to be.
type Joining struct {
	PlayerID, Data string
}

// Reserve makes a RESERVED player session for each player, or for none.
// Nobody accepts the players of a program without an SDK, so theirs are ACTIVE at
// once, until the game session ends.
// Errors: NotFound, InvalidGameSessionStatus (not ACTIVE, DENY_ALL, or away),
// GameSessionFull, InvalidRequest (a player is in the session already).
func (s *Service) Reserve(ctx context.Context, in ReserveInput) ([]*PlayerSession, error) {
	players, err := s.cmd.reserve.Do(ctx, in)
	return players, s.endedRather(ctx, in.GameSessionID, err)
}

func (s *Service) runReserve(tx *store.Tx, in ReserveInput) ([]*PlayerSession, error) {
	g, err := s.living(tx, in.GameSessionID)
	if err != nil {
		return nil, err
	}
	if err := s.checkReserve(tx, g, in.Players); err != nil {
		return nil, err
	}
	host := s.computes.Process(tx, g.ProcessKey)
	made := make([]*PlayerSession, 0, len(in.Players))
	for _, j := range in.Players {
		p := &PlayerSession{
			ID: tx.ID("psess-"), GameSessionID: g.ID, FleetID: g.FleetID, PlayerID: j.PlayerID, Data: j.Data,
			Created: tx.Now(), IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port,
			ReservedUntil: tx.Now().Add(s.opts.ReservationTimeout),
		}
		p.move(Reserved)
		if host != nil && host.Wrapped() {
			p.move(Playing)
			s.recordPlayer(tx, event.PlayerSessionAccepted, p)
		}
		s.putPlayer(tx, p)
		made = append(made, p)
	}
	return made, nil
}

func (s *Service) checkReserve(r store.Reader, g *GameSession, players []Joining) error {
	if g.Status != Active {
		return fault.New(fault.InvalidGameSessionStatus, "game session %s is %s; it must be ACTIVE", g.ID, g.Status)
	}
	if g.JoinPolicy == DenyAll {
		return fault.New(fault.InvalidGameSessionStatus, "game session %s takes no new players (DENY_ALL)", g.ID)
	}
	if p := s.computes.Process(r, g.ProcessKey); p != nil && p.Unreachable() {
		return fault.New(fault.InvalidGameSessionStatus,
			"game session %s is away: its game server lost its connection at %s and is waited for; try again, or another game session",
			g.ID, p.Away.UTC().Format(time.RFC3339))
	}
	used := s.Players(r, g.ID)
	if free := g.MaxPlayers - used; free < len(players) {
		return fault.New(fault.GameSessionFull, "game session %s has %d free slots; %d were asked for", g.ID, max(free, 0), len(players))
	}
	in := make(map[string]bool, used+len(players))
	for p := range s.t.slots.Equal(r, g.ID) {
		in[p.PlayerID] = true
	}
	for _, j := range players {
		if in[j.PlayerID] {
			return fault.Invalid("PlayerId: player %s holds a player session in game session %s already", j.PlayerID, g.ID)
		}
		in[j.PlayerID] = true
	}
	return nil
}
