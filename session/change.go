package session

import (
	"context"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
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
	g, err := s.update.Do(ctx, in)
	return g, s.asEnded(ctx, in.GameSessionID, err)
}

func (s *Service) runUpdate(tx *store.Tx, in UpdateInput) (*GameSession, error) {
	old, err := s.changeable(tx, in.GameSessionID)
	if err != nil {
		return nil, err
	}
	g := *old
	patch.Set(&g.Name, in.Name)
	patch.Set(&g.MaxPlayers, in.MaxPlayers)
	patch.Set(&g.JoinPolicy, in.JoinPolicy)
	patch.Set(&g.Protection, in.Protection)
	g.Properties = merge(g.Properties, in.Properties)
	if n := s.Players.Count(tx, g.ID); g.MaxPlayers < n {
		return nil, fault.Invalid("MaximumPlayerSessionCount: %d is below the %d player sessions in the game session", g.MaxPlayers, n)
	}
	if n := len(g.Properties); n > MaxProperties {
		return nil, fault.Invalid("GameProperties: the game session would have %d; at most %d are allowed", n, MaxProperties)
	}
	s.put(tx, &g)
	s.record(tx, event.GameSessionUpdated, &g, "")
	call(tx, s.updated, &g)
	return &g, nil
}

// Mode is how a game session is ended (TerminationMode).
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
	if g := s.Live(s.st.View(), gameSessionID); g != nil {
		args.CanKill = s.computes.CanKill(compute.ParseRef(g.ProcessKey))
	}
	g, err := s.terminate.Do(ctx, args)
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
	return s.Live(tx, g.ID), nil
}

// force kills the process. It returns the session as TERMINATING, as the API documents,
// although it has ended.
func (s *Service) force(tx *store.Tx, g *GameSession, canKill bool) (*GameSession, error) {
	if !canKill {
		return nil, fault.Invalid("TerminationMode: FORCE_TERMINATE needs a host that runs the process; %s runs on a compute of your own, so use TRIGGER_ON_PROCESS_TERMINATE", g.ID)
	}
	s.setReason(tx, g, ReasonForced)
	s.computes.Kill(tx, g.ProcessKey, event.ServerProcessForceTerminated, "TerminateGameSession was called with FORCE_TERMINATE")
	shown := *s.Live(tx, g.ID)
	shown.Status = Terminating
	return &shown, nil
}

func (s *Service) setReason(tx *store.Tx, old *GameSession, reason string) {
	g := *old
	g.Reason = reason
	s.put(tx, &g)
}

// Requests of a game server process about the game session that it hosts. Each names the
// process, which can affect only its own game session.

type processArgs struct {
	ProcessKey, GameSessionID string
}

// Activate makes the process's game session ACTIVE (ActivateGameSession). A repeated call
// is not an error. Errors: NotFound, Conflict (not ACTIVATING).
func (s *Service) Activate(ctx context.Context, ref compute.Ref, gameSessionID string) error {
	return s.activate.Do(ctx, processArgs{ref.Key(), gameSessionID})
}

func (s *Service) runActivate(tx *store.Tx, a processArgs) error {
	old, err := s.hostedBy(tx, a.ProcessKey, a.GameSessionID)
	if err != nil || old.Status == Active {
		return err
	}
	if old.Status != Activating {
		return fault.New(fault.Conflict, "GameSessionId: game session %s is %s; it must be ACTIVATING", old.ID, old.Status)
	}
	g := *old
	g.move(Active)
	s.put(tx, &g)
	s.settle(tx, old)
	s.record(tx, event.GameSessionActivated, &g, "")
	call(tx, s.activated, &g)
	return nil
}

// Finish ends the process's game session, or whatever it hosts if gameSessionID is "". The
// process goes on, and hosts nothing before it calls ProcessReady again. Only processes
// with Server SDK 3 and 4 request it. Errors: NotFound.
func (s *Service) Finish(ctx context.Context, ref compute.Ref, gameSessionID string) error {
	return s.finish.Do(ctx, processArgs{ref.Key(), gameSessionID})
}

func (s *Service) runFinish(tx *store.Tx, a processArgs) error {
	p := s.computes.Process(tx, a.ProcessKey)
	if p == nil || p.Status == compute.Terminated {
		return fault.Missing("process %s is not known or has ended", compute.ParseRef(a.ProcessKey).ProcessID)
	}
	hosted := s.Live(tx, p.GameSessionID)
	if a.GameSessionID != "" {
		var err error
		if hosted, err = s.hostedBy(tx, a.ProcessKey, a.GameSessionID); err != nil {
			return err
		}
	}
	if hosted != nil && !hosted.Status.Ended() {
		s.end(tx, hosted, "its process ended it with TerminateGameSession")
	}
	s.computes.Rest(tx, a.ProcessKey)
	return nil
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
	return s.joinPolicy.Do(ctx, policyArgs{ref.Key(), gameSessionID, policy})
}

func (s *Service) runJoinPolicy(tx *store.Tx, a policyArgs) error {
	old, err := s.hostedBy(tx, a.ProcessKey, a.GameSessionID)
	if err != nil || old.JoinPolicy == a.Policy {
		return err
	}
	g := *old
	g.JoinPolicy = a.Policy
	s.put(tx, &g)
	s.record(tx, event.GameSessionUpdated, &g, "player session creation policy is "+string(a.Policy))
	call(tx, s.updated, &g)
	return nil
}

// SetMatchmakerData replaces the matchmaker data of a game session that a backfill has
// filled up, and notifies its process. The reason is an UpdateReason of the server SDKs.
func (s *Service) SetMatchmakerData(tx *store.Tx, gameSessionID, data, reason, backfillTicketID string) {
	old := s.Live(tx, gameSessionID)
	if old == nil || old.Status.Ended() {
		return
	}
	g := *old
	g.Matchmaker = data
	s.put(tx, &g)
	s.record(tx, event.GameSessionUpdated, &g, "filled up by backfill "+backfillTicketID)
	s.TellBackfill(tx, g.ID, reason, backfillTicketID)
}

// TellBackfill notifies the process of a game session of the result of a backfill, once
// the transaction is durable.
func (s *Service) TellBackfill(tx *store.Tx, gameSessionID, reason, backfillTicketID string) {
	g := s.Live(tx, gameSessionID)
	if g == nil || g.Status.Ended() {
		return
	}
	s.computes.Tell(tx, g.ProcessKey, compute.Update{
		Session: g.start(), FleetID: g.FleetID, Location: g.Location, Status: string(g.Status),
		Reason: reason, BackfillTicketID: backfillTicketID,
	})
}
