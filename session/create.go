package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// CreateInput describes the game session to create, by fleet or alias.
type CreateInput struct {
	FleetID, AliasID string // one of them, id or ARN
	Location         string
	Name, Data       string
	MaxPlayers       int
	Properties       []Property
	CreatorID        string
	Token            string // idempotency token; becomes the last part of the id

	// Origin is the region of this deployment whose queue places the game session; "" if none
	// does. Only then may Matchmaker be set, and limits of creators do not apply.
	Origin     string
	Matchmaker string // the matchmaker data
}

// Create creates a game session on a free process and returns it ACTIVATING. With a token
// that was used before, it returns that game session in its current state.
// Errors: InvalidRequest, NotFound, TerminalRoutingStrategy, InvalidFleetStatus,
// FleetCapacityExceeded, LimitExceeded (creator), IdempotentParameterMismatch.
func (s *Service) Create(ctx context.Context, in CreateInput) (*GameSession, error) {
	if in.Token != "" {
		g, err := s.archivedTwin(ctx, in)
		if g != nil || err != nil {
			return g, err
		}
	}
	g, err := s.create.Do(ctx, in)
	if fault.Is(err, fault.FleetCapacityExceeded) {
		if err := s.miss(ctx, in); err != nil {
			return nil, err
		}
	}
	return g, err
}

// miss notes that a request found no process. It wakes the location if that is scaled to zero, so
// that a later request finds one.
func (s *Service) miss(ctx context.Context, in CreateInput) error {
	f, err := s.fleets.Aliases.Target(s.st.View(), in.FleetID, in.AliasID)
	if err != nil {
		return err
	}
	location := placeIn(f, in.Location)
	s.Refusals.add(Place{f.ID, location})
	if l := f.Place(location); l == nil || !l.Asleep() {
		return nil
	}
	return s.fleets.Capacities.Wake.Do(context.WithoutCancel(ctx), fleet.WakeInput{
		FleetID: f.ID, Location: location, Why: "CreateGameSession asked for a game session",
	})
}

// archivedTwin returns the archived session that an earlier request with the same token
// created, or nil.
func (s *Service) archivedTwin(ctx context.Context, in CreateInput) (*GameSession, error) {
	view := s.st.View()
	f, err := s.fleets.Aliases.Target(view, in.FleetID, in.AliasID)
	if err != nil {
		return nil, err
	}
	in.Location = placeIn(f, in.Location)
	ids := s.idsOf(view, f.ID, in.Location, in.Token)
	if s.firstLive(view, ids) != nil {
		return nil, nil
	}
	old, err := s.firstArchived(ctx, ids)
	if old == nil || err != nil {
		return nil, err
	}
	return sameRequest(old, in, f.ID)
}

// Named returns the game session in a location of a fleet whose id ends with a name, running or
// ended within Retention. Errors: NotFound.
func (s *Service) Named(ctx context.Context, fleetID, location, name string) (*GameSession, error) {
	view := s.st.View()
	ids := s.idsOf(view, fleetID, location, name)
	if g := s.firstLive(view, ids); g != nil {
		return g, nil
	}
	g, err := s.firstArchived(ctx, ids)
	if err == nil && g == nil {
		err = fault.Missing("there is no game session %s in fleet %s", name, fleetID)
	}
	return g, err
}

// NewID returns the id of a new game session with a name. Once the database has lost
// commits, it is another than before, since a process may still host the game session that
// had the id.
func (s *Service) NewID(r store.Reader, fleetID, location, name string) string {
	return s.idsOf(r, fleetID, location, name)[0]
}

// idsOf returns all ids that a game session with a name may have, the one of a new game
// session first.
func (s *Service) idsOf(r store.Reader, fleetID, location, name string) []string {
	ids := []string{s.fleets.Home().OfSession(fleetID, location, name)}
	for l := range s.computes.Losses(r) {
		ids = append(ids, s.fleets.Home().OfSession(fleetID, location, name+"-"+l.Salt))
	}
	slices.Reverse(ids)
	return ids
}

// firstLive returns the first of some game sessions that is in memory, or nil.
func (s *Service) firstLive(r store.Reader, ids []string) *GameSession {
	for _, id := range ids {
		if g := s.Live(r, id); g != nil {
			return g
		}
	}
	return nil
}

// firstArchived returns the first of some game sessions that is in the archive, or nil.
func (s *Service) firstArchived(ctx context.Context, ids []string) (*GameSession, error) {
	for _, id := range ids {
		if g, err := s.archived(ctx, id); g != nil || err != nil {
			return g, err
		}
	}
	return nil, nil
}

func (s *Service) runCreate(tx *store.Tx, in CreateInput) (*GameSession, error) {
	f, err := s.fleets.Aliases.Target(tx, in.FleetID, in.AliasID)
	if err != nil {
		return nil, err
	}
	in.Location = placeIn(f, in.Location)
	if err := checkPlace(f, in.Location); err != nil {
		return nil, err
	}
	if in.Token != "" {
		if old := s.firstLive(tx, s.idsOf(tx, f.ID, in.Location, in.Token)); old != nil {
			return sameRequest(old, in, f.ID)
		}
	}
	if !f.Status.Serves() {
		return nil, fault.New(fault.InvalidFleetStatus, "fleet %s is in status %s; it must be ACTIVE", f.ID, f.Status)
	}
	if in.Origin == "" {
		if err := s.checkCreator(tx, f, in.CreatorID); err != nil {
			return nil, err
		}
	}
	g := GameSession{Name: in.Name, Data: in.Data, Matchmaker: in.Matchmaker, MaxPlayers: in.MaxPlayers, Properties: in.Properties, CreatorID: in.CreatorID, Origin: in.Origin}
	if in.Token != "" {
		g.Fingerprint = fingerprint(in, f.ID)
	}
	return s.Place(tx, f, in.Location, in.Token, g)
}

// placeIn returns the location of a request. For a managed fleet the default is its home
// region.
func placeIn(f *fleet.Fleet, location string) string {
	if location == "" && f.Managed != nil {
		return f.Home
	}
	return location
}

// checkPlace checks that the fleet has the location. An Anywhere fleet has no processes
// in its home region, so the location is required.
func checkPlace(f *fleet.Fleet, location string) error {
	if location == "" {
		return fault.Invalid("Location: required for an ANYWHERE fleet")
	}
	l := f.Place(location)
	switch {
	case l == nil || f.Managed == nil && !l.Status.Serves():
		return fault.Invalid("Location: %s is not a location of fleet %s", location, f.ID)
	case !l.Status.Serves() && f.Status.Serves():
		return fault.New(fault.InvalidFleetStatus, "Location: %s of fleet %s is in status %s; it must be ACTIVE", location, f.ID, l.Status)
	}
	return nil
}

// checkCreator enforces the fleet's ResourceCreationLimitPolicy.
func (s *Service) checkCreator(r *store.Tx, f *fleet.Fleet, creator string) error {
	limit := f.CreationLimit
	if limit == nil || limit.Sessions == 0 || limit.Period == 0 {
		return nil
	}
	if creator == "" {
		return fault.Invalid("CreatorId: required, because fleet %s limits game sessions a creator", f.ID)
	}
	since, n := store.TimeKey(r.Now().Add(-limit.Period)), 0
	prefix := store.Key(f.ID, creator)
	for range s.byCreator.PrefixAfter(r, prefix, prefix+since, "\uffff") {
		n++
	}
	if n >= limit.Sessions {
		return fault.New(fault.LimitExceeded, "CreatorId: %s has made %d game sessions within %s on fleet %s, which is the limit of its ResourceCreationLimitPolicy", creator, n, limit.Period, f.ID)
	}
	return nil
}

// sameRequest returns the earlier session if the request equals the one that created it,
// and otherwise IdempotentParameterMismatch.
func sameRequest(old *GameSession, in CreateInput, fleetID string) (*GameSession, error) {
	if old.Fingerprint != fingerprint(in, fleetID) {
		return nil, fault.New(fault.IdempotentParameterMismatch, "IdempotencyToken: %s was used in fleet %s with other parameters", in.Token, fleetID)
	}
	return old, nil
}

// fingerprint returns a hash of the members that a repeated request must repeat.
func fingerprint(in CreateInput, fleetID string) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:", len(s)); io.WriteString(h, s) }
	part(fleetID)
	part(in.Location)
	part(in.Name)
	part(in.Data)
	part(in.CreatorID)
	fmt.Fprint(h, in.MaxPlayers, "/", len(in.Properties), "/")
	for _, p := range in.Properties {
		part(p.Key)
		part(p.Value)
	}
	if in.Origin != "" {
		part(in.Origin)
		part(in.Matchmaker)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Place creates a game session on a free process in a location of the fleet. name is the
// last part of its id; "" generates one. g has the members that its creator decides; Place
// sets the others. Errors: FleetCapacityExceeded.
func (s *Service) Place(tx *store.Tx, f *fleet.Fleet, location, name string, g GameSession) (*GameSession, error) {
	if name == "" {
		name = tx.ID("gsess-")
	}
	g.ID, g.FleetID, g.Location = s.NewID(tx, f.ID, location, name), f.ID, location
	g.JoinPolicy, g.Protection = AcceptAll, f.Protection
	g.Created = tx.Now()
	g.ActivateBy = tx.Now().Add(f.Runtime.ActivationTimeoutOrDefault())
	p, c, err := s.computes.Take(tx, f, location, g.ID, s.counted)
	if err != nil {
		return nil, err
	}
	g.ProcessKey, g.Port = p.Key, p.Port
	g.Address = c.Address.Shown()
	g.move(Activating)
	s.put(tx, &g)
	s.record(tx, event.GameSessionCreated, &g, "")
	s.computes.Start(tx, p.Key, g.start())
	return &g, nil
}

// Abandon ends a game session that is no longer needed, and orders its process to end.
func (s *Service) Abandon(tx *store.Tx, gameSessionID, text string) {
	g := s.Live(tx, gameSessionID)
	if g == nil || g.Status.Ended() {
		return
	}
	s.end(tx, g, text)
	s.computes.Terminate(tx, g.ProcessKey, event.GameSessionTerminating, text)
}
