package session

import (
	"context"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// UpdateInput patches a game session: nil members leave the value unchanged; properties
// are merged by key.
type UpdateInput struct {
	GameSessionID string
	Name          *string
	MaxPlayers    *int
	JoinPolicy    *JoinPolicy
	Protection    *fleet.Protection
	Properties    []Property
}

// MaxProperties is the most game properties of a game session (API reference).
const MaxProperties = 16

// Update changes a game session.
// Errors: NotFound, InvalidGameSessionStatus (ended), InvalidRequest (fewer slots than
// players, too many properties).
func (s *Service) Update(ctx context.Context, in UpdateInput) (*GameSession, error) {
	g, err := s.cmd.update.Do(ctx, in)
	return g, s.asEnded(ctx, in.GameSessionID, err)
}

func (s *Service) runUpdate(tx *store.Tx, in UpdateInput) (*GameSession, error) {
	old, err := s.changeable(tx, in.GameSessionID)
	if err != nil {
		return nil, err
	}
	g := *old
	set(&g.Name, in.Name)
	set(&g.MaxPlayers, in.MaxPlayers)
	set(&g.JoinPolicy, in.JoinPolicy)
	set(&g.Protection, in.Protection)
	g.Properties = merge(g.Properties, in.Properties)
	if n := s.Players(tx, g.ID); g.MaxPlayers < n {
		return nil, fault.Invalid("MaximumPlayerSessionCount: %d is below the %d player sessions in the game session", g.MaxPlayers, n)
	}
	if n := len(g.Properties); n > MaxProperties {
		return nil, fault.Invalid("GameProperties: the game session would have %d; at most %d are allowed", n, MaxProperties)
	}
	s.put(tx, &g)
	s.record(tx, event.GameSessionUpdated, &g, "")
	for _, f := range s.updated {
		f(tx, &g)
	}
	return &g, nil
}

// Mode says how a game session is ended (TerminationMode).
type Mode string

// The termination modes of the API.
const (
	Trigger Mode = "TRIGGER_ON_PROCESS_TERMINATE"
	Force   Mode = "FORCE_TERMINATE"
)

type terminateArgs struct {
	GameSessionID string
	Mode          Mode
	CanKill       bool
}

// Terminate ends a game session by telling its process to end, or by force.
// Errors: NotFound, InvalidGameSessionStatus, InvalidRequest (no host here can kill the
// process).
func (s *Service) Terminate(ctx context.Context, gameSessionID string, mode Mode) (*GameSession, error) {
	args := terminateArgs{GameSessionID: gameSessionID, Mode: mode}
	if g := s.t.games.Get(s.st.View(), gameSessionID); g != nil {
		args.CanKill = s.computes.CanKill(compute.ParseRef(g.ProcessKey))
	}
	g, err := s.cmd.terminate.Do(ctx, args)
	return g, s.asEnded(ctx, gameSessionID, err)
}

func (s *Service) runTerminate(tx *store.Tx, a terminateArgs) (*GameSession, error) {
	g, err := s.changeable(tx, a.GameSessionID)
	if err != nil {
		return nil, err
	}
	if a.Mode == Force {
		return s.force(tx, g, a.CanKill)
	}
	if g.Status == Terminating {
		return nil, fault.New(fault.InvalidGameSessionStatus, "game session %s is being terminated already", g.ID)
	}
	s.setReason(tx, g, ReasonTriggered)
	s.computes.Terminate(tx, g.ProcessKey, event.GameSessionTerminating, "TerminateGameSession was called")
	return s.t.games.Get(tx, g.ID), nil
}

// force kills the process. It returns the session as TERMINATING, as the API documents,
// although it has ended.
func (s *Service) force(tx *store.Tx, g *GameSession, canKill bool) (*GameSession, error) {
	if !canKill {
		return nil, fault.Invalid("TerminationMode: FORCE_TERMINATE needs a host that runs the process; %s runs on a compute of your own, so use TRIGGER_ON_PROCESS_TERMINATE", g.ID)
	}
	s.setReason(tx, g, ReasonForced)
	s.computes.Kill(tx, g.ProcessKey, event.ServerProcessForceTerminated, "TerminateGameSession was called with FORCE_TERMINATE")
	shown := *s.t.games.Get(tx, g.ID)
	shown.Status = Terminating
	return &shown, nil
}

func (s *Service) setReason(tx *store.Tx, old *GameSession, reason string) {
	g := *old
	g.Reason = reason
	s.put(tx, &g)
}

// changeable returns a game session that has not ended.
func (s *Service) changeable(r store.Reader, id string) (*GameSession, error) {
	g, err := s.living(r, id)
	if err != nil {
		return nil, err
	}
	if g.Status.Ended() {
		return nil, over(id)
	}
	return g, nil
}

// asEnded replaces a NotFound error by that of an ended session, if the session is
// archived.
func (s *Service) asEnded(ctx context.Context, id string, err error) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	if old, archiveErr := s.archived(ctx, id); archiveErr == nil && old != nil {
		return over(id)
	}
	return err
}

func over(id string) error {
	return fault.New(fault.InvalidGameSessionStatus, "game session %s is over", id)
}

// set assigns *v to *to unless v is nil.
func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
