package session

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// ReserveInput lists the players for whom to reserve slots in a game session.
type ReserveInput struct {
	GameSessionID string
	Players       []Joining
}

// Joining is a player who is about to join.
type Joining struct {
	PlayerID, Data string
}

// Reserve creates a RESERVED player session for each player, or for none. For a player
// who holds a reservation with the same data it returns that one, so that a request whose
// response was lost can be repeated. A program without an SDK does not accept players, so
// its player sessions are ACTIVE immediately, until the game session ends.
// Errors: NotFound, InvalidGameSessionStatus (not ACTIVE, DENY_ALL, or away),
// GameSessionFull, InvalidRequest (a player is in the session already).
func (s *Service) Reserve(ctx context.Context, in ReserveInput) ([]*PlayerSession, error) {
	players, err := s.cmd.reserve.Do(ctx, in)
	return players, s.asEnded(ctx, in.GameSessionID, err)
}

func (s *Service) runReserve(tx *store.Tx, in ReserveInput) ([]*PlayerSession, error) {
	g, err := s.living(tx, in.GameSessionID)
	if err != nil {
		return nil, err
	}
	held, err := s.checkReserve(tx, g, in.Players)
	if err != nil {
		return nil, err
	}
	host := s.computes.Process(tx, g.ProcessKey)
	players := make([]*PlayerSession, 0, len(in.Players))
	for _, j := range in.Players {
		if p := held[j.PlayerID]; p != nil {
			players = append(players, p)
			continue
		}
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
		players = append(players, p)
	}
	return players, nil
}

// checkReserve validates a request, and returns the reservations that its players hold
// already.
func (s *Service) checkReserve(tx *store.Tx, g *GameSession, players []Joining) (held map[string]*PlayerSession, err error) {
	if g.Status != Active {
		return nil, fault.New(fault.InvalidGameSessionStatus, "game session %s is %s; it must be ACTIVE", g.ID, g.Status)
	}
	if held, err = s.heldBy(tx, g, players); err != nil {
		return nil, err
	}
	wanted := len(players) - len(held)
	if wanted > 0 && g.JoinPolicy == DenyAll {
		return nil, fault.New(fault.InvalidGameSessionStatus, "game session %s takes no new players (DENY_ALL)", g.ID)
	}
	if p := s.computes.Process(tx, g.ProcessKey); wanted > 0 && p != nil && p.Unreachable() {
		return nil, fault.New(fault.InvalidGameSessionStatus,
			"game session %s is away: its game server lost its connection at %s and is waited for; try again, or another game session",
			g.ID, p.Away.UTC().Format(time.RFC3339))
	}
	if free := g.MaxPlayers - s.Players(tx, g.ID); free < wanted {
		return nil, fault.New(fault.GameSessionFull, "game session %s has %d free slots; %d were asked for", g.ID, max(free, 0), wanted)
	}
	return held, nil
}

// heldBy returns the reservations that players of a repeated request hold: for the same
// player with the same data, and still RESERVED. It refuses players who hold any other
// player session in the game session, and players who are listed twice.
func (s *Service) heldBy(tx *store.Tx, g *GameSession, players []Joining) (map[string]*PlayerSession, error) {
	asking := make(map[string]string, len(players))
	for _, j := range players {
		if _, twice := asking[j.PlayerID]; twice {
			return nil, fault.Invalid("PlayerIds: player %s is listed twice", j.PlayerID)
		}
		asking[j.PlayerID] = j.Data
	}
	held := map[string]*PlayerSession{}
	for p := range s.t.slots.Equal(tx, g.ID) {
		data, asks := asking[p.PlayerID]
		if !asks {
			continue
		}
		if p.Status != Reserved || p.Data != data || !tx.Now().Before(p.ReservedUntil) {
			return nil, fault.Invalid("PlayerId: player %s holds player session %s in game session %s already", p.PlayerID, p.ID, g.ID)
		}
		held[p.PlayerID] = p
	}
	return held, nil
}
