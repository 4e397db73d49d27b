package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// CreateInput says what game session to create, by fleet or alias.
type CreateInput struct {
	FleetID, AliasID string // one of them, id or ARN
	Location         string
	Name, Data       string
	MaxPlayers       int
	Properties       []Property
	CreatorID        string
	Token            string // idempotency token; becomes the last part of the id
}

// Create makes a game session on a free process and returns it ACTIVATING.
// With a token that was used before it returns that game session, as it is now.
// Errors: InvalidRequest, NotFound, TerminalRoutingStrategy, InvalidFleetStatus,
// FleetCapacityExceeded, LimitExceeded (creator), IdempotentParameterMismatch.
func (s *Service) Create(ctx context.Context, in CreateInput) (*GameSession, error) {
	if in.Token != "" {
		g, err := s.archivedTwin(ctx, in)
		if g != nil || err != nil {
			return g, err
		}
	}
	g, err := s.cmd.create.Do(ctx, in)
	if fault.Is(err, fault.FleetCapacityExceeded) {
		if err := s.wake(ctx, in); err != nil {
			return nil, err
		}
	}
	return g, err
}

// wake has a location that scales from zero get an instance, since a game
// session was asked for there: a later request finds a process.
func (s *Service) wake(ctx context.Context, in CreateInput) error {
	f, err := s.fleets.Target(s.st.View(), in.FleetID, in.AliasID)
	if err != nil {
		return err
	}
	location := placeIn(f, in.Location)
	if l := f.Place(location); l == nil || !l.Asleep() {
		return nil
	}
	return s.fleets.Wake(context.WithoutCancel(ctx), f.ID, location, "CreateGameSession asked for a game session")
}

// archivedTwin finds the session that an earlier request with the same token
// made, where it is over and no longer in memory.
func (s *Service) archivedTwin(ctx context.Context, in CreateInput) (*GameSession, error) {
	view := s.st.View()
	f, err := s.fleets.Target(view, in.FleetID, in.AliasID)
	if err != nil {
		return nil, err
	}
	in.Location = placeIn(f, in.Location)
	id := s.fleets.Home().OfSession(f.ID, in.Location, in.Token)
	if s.t.games.Get(view, id) != nil {
		return nil, nil
	}
	old, err := s.archived(ctx, id)
	if old == nil || err != nil {
		return nil, err
	}
	return sameRequest(old, in, f.ID)
}

func (s *Service) runCreate(tx *store.Tx, in CreateInput) (*GameSession, error) {
	f, err := s.fleets.Target(tx, in.FleetID, in.AliasID)
	if err != nil {
		return nil, err
	}
	in.Location = placeIn(f, in.Location)
	if err := checkPlace(f, in.Location); err != nil {
		return nil, err
	}
	if in.Token != "" {
		if old := s.t.games.Get(tx, s.fleets.Home().OfSession(f.ID, in.Location, in.Token)); old != nil {
			return sameRequest(old, in, f.ID)
		}
	}
	if f.Status != fleet.Active {
		return nil, fault.New(fault.InvalidFleetStatus, "fleet %s is in status %s; it must be ACTIVE", f.ID, f.Status)
	}
	if err := s.checkCreator(tx, f, in.CreatorID); err != nil {
		return nil, err
	}
	return s.place(tx, f, in)
}

// place makes the game session that a request asked for.
func (s *Service) place(tx *store.Tx, f *fleet.Fleet, in CreateInput) (*GameSession, error) {
	spec := Spec{
		Name: in.Name, Data: in.Data, MaxPlayers: in.MaxPlayers, Properties: in.Properties, CreatorID: in.CreatorID, LastPart: in.Token,
	}
	if in.Token != "" {
		spec.fingerprint = fingerprint(in, f.ID)
	}
	return s.Place(tx, f, in.Location, spec)
}

// placeIn gives the location that a request means: a managed fleet is asked in
// its home region where none is named.
func placeIn(f *fleet.Fleet, location string) string {
	if location == "" && f.Managed != nil {
		return f.Home
	}
	return location
}

// checkPlace holds the location to what the fleet has. An Anywhere fleet has no
// processes in its home region, so it must be named.
func checkPlace(f *fleet.Fleet, location string) error {
	if location == "" {
		return fault.Invalid("Location: required for an ANYWHERE fleet")
	}
	l := f.Place(location)
	switch {
	case l == nil || f.Managed == nil && l.Status != fleet.Active:
		return fault.Invalid("Location: %s is not a location of fleet %s", location, f.ID)
	case l.Status != fleet.Active && f.Status == fleet.Active:
		return fault.New(fault.InvalidFleetStatus, "Location: %s of fleet %s is in status %s; it must be ACTIVE", location, f.ID, l.Status)
	}
	return nil
}

// checkCreator holds the creator to the fleet's ResourceCreationLimitPolicy.
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
	for range s.t.byCreator.PrefixAfter(r, prefix, prefix+since, "\uffff") {
		n++
	}
	if n >= limit.Sessions {
		return fault.New(fault.LimitExceeded, "CreatorId: %s has made %d game sessions within %s on fleet %s, which is the limit of its ResourceCreationLimitPolicy", creator, n, limit.Period, f.ID)
	}
	return nil
}

// sameRequest gives the earlier session if the request is the one that made it.
func sameRequest(old *GameSession, in CreateInput, fleetID string) (*GameSession, error) {
	if old.Fingerprint != fingerprint(in, fleetID) {
		return nil, fault.New(fault.IdempotentParameterMismatch, "IdempotencyToken: %s was used in fleet %s with other parameters", in.Token, fleetID)
	}
	return old, nil
}

// fingerprint stands for the members that a repeated request must repeat.
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
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// archiveAt is when an ended session leaves memory: after the linger, and not
// before its creator's limit has forgotten it.
func (s *Service) archiveAt(r store.Reader, g *GameSession, now time.Time) time.Time {
	at := now.Add(s.opts.Linger)
	if f := s.fleets.Get(r, g.FleetID); f != nil && f.CreationLimit != nil && g.CreatorID != "" {
		if until := g.Created.Add(f.CreationLimit.Period); until.After(at) {
			return until
		}
	}
	return at
}
