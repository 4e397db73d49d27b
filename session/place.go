package session

import (
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// Spec describes a game session to create on some process.
type Spec struct {
	Name, Data, MatchmakerData string
	MaxPlayers                 int
	Properties                 []Property
	CreatorID                  string
	LastPart                   string // of its id; "" generates one
	fingerprint                string
}

// Place creates a game session on a free process in a location of the fleet.
// Errors: FleetCapacityExceeded.
func (s *Service) Place(tx *store.Tx, f *fleet.Fleet, location string, spec Spec) (*GameSession, error) {
	last := spec.LastPart
	if last == "" {
		last = tx.ID("gsess-")
	}
	g := &GameSession{
		ID: s.fleets.Home().OfSession(f.ID, location, last), FleetID: f.ID, Location: location,
		Name: spec.Name, Created: tx.Now(), MaxPlayers: spec.MaxPlayers, Properties: spec.Properties,
		Data: spec.Data, Matchmaker: spec.MatchmakerData, JoinPolicy: AcceptAll, Protection: f.Protection,
		CreatorID: spec.CreatorID, Fingerprint: spec.fingerprint,
		ActivateBy: tx.Now().Add(f.Runtime.ActivationTimeoutOrDefault()),
	}
	p, c, err := s.computes.Take(tx, f, location, g.ID, s.activating)
	if err != nil {
		return nil, err
	}
	g.ProcessKey, g.Port = p.Key, p.Port
	g.IPAddress, g.DNSName = c.Address()
	g.move(Activating)
	s.put(tx, g)
	s.record(tx, event.GameSessionCreated, g, "")
	s.computes.Start(tx, p.Key, g.start())
	return g, nil
}

// Abandon ends a game session that is no longer needed, and tells its process to end.
func (s *Service) Abandon(tx *store.Tx, gameSessionID, text string) {
	g := s.t.games.Get(tx, gameSessionID)
	if g == nil || g.Status.Ended() {
		return
	}
	s.end(tx, g, text)
	s.computes.Terminate(tx, g.ProcessKey, event.GameSessionTerminating, text)
}

// ReserveNow is like Reserve inside a transaction of a package above.
func (s *Service) ReserveNow(tx *store.Tx, gameSessionID string, players []Joining) ([]*PlayerSession, error) {
	return s.runReserve(tx, ReserveInput{GameSessionID: gameSessionID, Players: players})
}

// Live returns a game session in memory, running or recently ended, or nil.
func (s *Service) Live(r store.Reader, id string) *GameSession { return s.t.games.Get(r, id) }

// OnActivated registers f to be called in each transaction that makes a game session
// ACTIVE. It must be called before the store is opened.
func (s *Service) OnActivated(f func(*store.Tx, *GameSession)) { s.activated = append(s.activated, f) }

// OnEnded registers f to be called in each transaction that ends a game session. It must
// be called before the store is opened.
func (s *Service) OnEnded(f func(*store.Tx, *GameSession)) { s.ended = append(s.ended, f) }
