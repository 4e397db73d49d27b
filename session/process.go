package session

import (
	"context"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Requests of a game server process about the game session that it hosts. Each names the
// process, which can affect only its own game session.

type processArgs struct {
	ProcessKey, GameSessionID string
}

// Activate makes the process's game session ACTIVE (ActivateGameSession). A repeated call
// is not an error. Errors: NotFound, Conflict (not ACTIVATING).
func (s *Service) Activate(ctx context.Context, ref compute.Ref, gameSessionID string) error {
	_, err := s.cmd.activate.Do(ctx, processArgs{ref.Key(), gameSessionID})
	return err
}

func (s *Service) runActivate(tx *store.Tx, a processArgs) (struct{}, error) {
	old, err := s.hostedBy(tx, a.ProcessKey, a.GameSessionID)
	if err != nil || old.Status == Active {
		return struct{}{}, err
	}
	if old.Status != Activating {
		return struct{}{}, fault.New(fault.Conflict, "GameSessionId: game session %s is %s; it must be ACTIVATING", old.ID, old.Status)
	}
	g := *old
	g.move(Active)
	s.put(tx, &g)
	s.settle(tx, old)
	s.record(tx, event.GameSessionActivated, &g, "")
	for _, f := range s.activated {
		f(tx, &g)
	}
	return struct{}{}, nil
}

type policyArgs struct {
	ProcessKey, GameSessionID string
	Policy                    JoinPolicy
}

// SetJoinPolicy changes whether the process's game session accepts new players.
// Errors: NotFound, InvalidRequest.
func (s *Service) SetJoinPolicy(ctx context.Context, ref compute.Ref, gameSessionID string, policy JoinPolicy) error {
	if policy != AcceptAll && policy != DenyAll {
		return fault.Invalid("PlayerSessionPolicy: must be one of %s, %s", AcceptAll, DenyAll)
	}
	_, err := s.cmd.joinPolicy.Do(ctx, policyArgs{ref.Key(), gameSessionID, policy})
	return err
}

func (s *Service) runJoinPolicy(tx *store.Tx, a policyArgs) (struct{}, error) {
	old, err := s.hostedBy(tx, a.ProcessKey, a.GameSessionID)
	if err != nil || old.JoinPolicy == a.Policy {
		return struct{}{}, err
	}
	g := *old
	g.JoinPolicy = a.Policy
	s.put(tx, &g)
	s.record(tx, event.GameSessionUpdated, &g, "player session creation policy is "+string(a.Policy))
	for _, f := range s.updated {
		f(tx, &g)
	}
	return struct{}{}, nil
}

type playerArgs struct {
	ProcessKey, GameSessionID, PlayerSessionID string
}

// AcceptPlayer validates a player who connected: the RESERVED player session becomes
// ACTIVE.
// Errors: NotFound, InvalidRequest (not RESERVED, or of another session).
func (s *Service) AcceptPlayer(ctx context.Context, ref compute.Ref, gameSessionID, playerSessionID string) (*PlayerSession, error) {
	return s.cmd.accept.Do(ctx, playerArgs{ref.Key(), gameSessionID, playerSessionID})
}

func (s *Service) runAccept(tx *store.Tx, a playerArgs) (*PlayerSession, error) {
	old, err := s.playerOf(tx, a)
	if err != nil {
		return nil, err
	}
	if old.Status != Reserved {
		return nil, fault.Invalid("PlayerSessionId: player session %s is %s; it must be RESERVED", old.ID, old.Status)
	}
	if !tx.Now().Before(old.ReservedUntil) {
		return nil, fault.Invalid("PlayerSessionId: the reservation of player session %s ended", old.ID)
	}
	p := *old
	p.move(Playing)
	s.t.players.Put(tx, &p)
	s.recordPlayer(tx, event.PlayerSessionAccepted, &p)
	return &p, nil
}

// RemovePlayer ends the player session of a player who left, which frees the slot.
// Errors: NotFound, InvalidRequest (ended already, or of another session).
func (s *Service) RemovePlayer(ctx context.Context, ref compute.Ref, gameSessionID, playerSessionID string) error {
	_, err := s.cmd.remove.Do(ctx, playerArgs{ref.Key(), gameSessionID, playerSessionID})
	return err
}

func (s *Service) runRemove(tx *store.Tx, a playerArgs) (struct{}, error) {
	p, err := s.playerOf(tx, a)
	if err != nil {
		return struct{}{}, err
	}
	if !p.Status.HoldsSlot() {
		return struct{}{}, fault.Invalid("PlayerSessionId: player session %s is %s; it must be ACTIVE", p.ID, p.Status)
	}
	s.closeSlot(tx, p, Completed)
	s.recordPlayer(tx, event.PlayerSessionRemoved, p)
	return struct{}{}, nil
}

// hostedBy returns the game session if the process hosts it.
func (s *Service) hostedBy(r store.Reader, processKey, gameSessionID string) (*GameSession, error) {
	g := s.t.games.Get(r, gameSessionID)
	if g == nil || g.ProcessKey != processKey || g.Status.Ended() {
		return nil, fault.Missing("GameSessionId: the process hosts no game session %s", gameSessionID)
	}
	return g, nil
}

// playerOf returns the player session if it belongs to the process's game session.
func (s *Service) playerOf(r store.Reader, a playerArgs) (*PlayerSession, error) {
	if _, err := s.hostedBy(r, a.ProcessKey, a.GameSessionID); err != nil {
		return nil, err
	}
	p := s.t.players.Get(r, a.PlayerSessionID)
	if p == nil {
		return nil, fault.Missing("PlayerSessionId: player session %s does not exist", a.PlayerSessionID)
	}
	if p.GameSessionID != a.GameSessionID {
		return nil, fault.Invalid("PlayerSessionId: player session %s belongs to another game session", p.ID)
	}
	return p, nil
}

func (s *Service) recordPlayer(tx *store.Tx, code event.Code, p *PlayerSession) {
	s.events.Append(tx, event.Event{Code: code, FleetID: p.FleetID, GameSessionID: p.GameSessionID, PlayerSessionID: p.ID})
}
