package placement

import (
	"context"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Neighbor is a remote that is another region of this deployment. Its name is that of the
// region.
type Neighbor interface {
	Remote
	// Wake requests an instance for a location that is scaled to zero; it does nothing for any
	// other.
	Wake(ctx context.Context, at Place, why string) error
}

// Region is this region as the queues of the deployment's other regions use it: what Neighbor
// has, on the spot. An error that is a *Refusal says that nothing was done.
type Region struct{ s *Service }

// Region returns this region for the others of the deployment.
func (s *Service) Region() Region { return Region{s} }

// Survey returns what a destination of this region leads to and its free processes.
func (g Region) Survey(destination string) Survey {
	view := g.s.st.View()
	f, why := g.s.resolve(view, destination)
	switch {
	case f == nil:
		return Survey{Outcome: why}
	case !f.Status.Serves():
		return Survey{FleetID: f.ID, Outcome: FleetNotActive}
	}
	found := Survey{FleetID: f.ID, Cost: price(f.Cost)}
	for _, l := range f.Locations {
		at := RemotePlace{Location: l.Location, Active: l.Status.Serves(), Asleep: l.Asleep()}
		if at.Active {
			at.Free = g.s.free(view, f, l.Location, maxProposals)
		}
		found.Places = append(found.Places, at)
	}
	return found
}

// Create creates the game session that a queue of another region, the origin, places. With a
// token that was used before it returns that game session, as it is now.
func (g Region) Create(ctx context.Context, origin string, at Place, token string, r *Request) (RemoteSession, error) {
	made, err := g.s.sessions.Create(by(ctx, origin), session.CreateInput{
		FleetID: at.FleetID, Location: at.Location, Name: r.Name, Data: r.Data, MaxPlayers: r.MaxPlayers, Properties: r.Properties,
		Token: token, Origin: origin, Matchmaker: r.MatchmakerData,
	})
	return seen(made, err)
}

// by attributes commands to the region whose queue they serve.
func by(ctx context.Context, origin string) context.Context {
	return store.WithActor(ctx, "placements of region "+origin)
}

// Find returns the game session that Create made for an origin with a token.
func (g Region) Find(ctx context.Context, origin string, at Place, token string) (RemoteSession, error) {
	made, err := g.s.sessions.Named(ctx, at.FleetID, at.Location, token)
	if err == nil && made.Origin != origin {
		err = fault.Missing("there is no game session %s of region %s in fleet %s", token, origin, at.FleetID)
	}
	return seen(made, err)
}

// Describe returns a game session.
func (g Region) Describe(ctx context.Context, gameSessionID string) (RemoteSession, error) {
	found, err := g.s.sessions.Get(ctx, gameSessionID)
	return seen(found, err)
}

// seen returns a game session as the other regions see it.
func seen(g *session.GameSession, err error) (RemoteSession, error) {
	if err != nil {
		return RemoteSession{}, refusalFor(err)
	}
	return RemoteSession{ID: g.ID, Status: g.Status, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port}, nil
}

// Reserve reserves slots for players, for all of them or for none.
func (g Region) Reserve(ctx context.Context, origin, gameSessionID string, players []session.Joining) ([]Placed, error) {
	made, err := g.s.sessions.Players.Reserve(by(ctx, origin), session.ReserveInput{GameSessionID: gameSessionID, Players: players})
	if err != nil {
		return nil, refusalFor(err)
	}
	placed := make([]Placed, len(made))
	for i, p := range made {
		placed[i] = Placed{p.PlayerID, p.ID}
	}
	return placed, nil
}

// Reserved returns the players with a slot that is reserved or used.
func (g Region) Reserved(gameSessionID string) (placed []Placed) {
	for p := range g.s.sessions.Players.Holding(g.s.st.View(), gameSessionID) {
		placed = append(placed, Placed{p.PlayerID, p.ID})
	}
	return placed
}

// Terminate ends a game session that no placement uses, at once, and orders its process to end.
func (g Region) Terminate(ctx context.Context, origin, gameSessionID string) error {
	return refusalFor(g.s.cmd.dismiss.Do(by(ctx, origin), gameSessionID))
}

func (s *Service) runDismiss(tx *store.Tx, gameSessionID string) error {
	if s.sessions.Live(tx, gameSessionID) == nil {
		return fault.Missing("there is no game session %s", gameSessionID)
	}
	s.sessions.Abandon(tx, gameSessionID, "its placement, of another region, ended")
	return nil
}

// Wake requests an instance for a location that is scaled to zero.
func (g Region) Wake(ctx context.Context, origin string, at Place, why string) error {
	return g.s.fleets.Capacities.Wake.Do(by(ctx, origin), fleet.WakeInput{FleetID: at.FleetID, Location: at.Location, Why: why + " in region " + origin})
}

// refusalKinds are what faults mean to a placement of another region. Any other is a refusal of
// the request.
var refusalKinds = map[fault.Kind]RefusalKind{
	fault.FleetCapacityExceeded:    Full,
	fault.GameSessionFull:          Full,
	fault.LimitExceeded:            Full,
	fault.NotFound:                 Missing,
	fault.InvalidFleetStatus:       WrongStatus,
	fault.InvalidGameSessionStatus: WrongStatus,
	fault.TerminalRoutingStrategy:  WrongStatus,
	fault.Throttling:               Throttled,
}

// refusalFor returns the refusal that a fault is; other errors are returned as they are.
func refusalFor(err error) error {
	f, ok := fault.As(err)
	if !ok || f.Kind == fault.InternalService {
		return err
	}
	kind := refusalKinds[f.Kind]
	if kind == "" {
		kind = Refused
	}
	return &Refusal{Kind: kind, Message: f.Error()}
}

// neighborly reports whether a remote is another region of this deployment.
func neighborly(r Remote) bool { _, ok := r.(Neighbor); return ok }

// called returns how texts name a remote.
func called(remote string) string {
	if arn.ValidRegion(remote) {
		return "region " + remote
	}
	return "remote " + remote
}
