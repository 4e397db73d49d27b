package gameserver

import (
	"context"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/matchdata"
)

// Handler is the game. A handler that implements the other interfaces of this
// file as well is called for those too. Several handlers are called in their
// order. Except for OnHealthCheck, no two calls run at the same time.
type Handler interface {
	// OnCreateSession prepares the game session: load the level, listen. Players may
	// come as soon as all handlers have returned nil, and those that are quick
	// while it runs. An error ends the process. The fleet bounds the time (its
	// game session activation timeout, 1 to 600 s); ctx ends when the process is to
	// end. In O3DE OnCreateSessionBegin.
	OnCreateSession(ctx context.Context, s session.Info) error
}

// SessionCreated is told when the session is ACTIVE (in O3DE OnCreateSessionEnd).
type SessionCreated interface {
	OnSessionCreated(ctx context.Context, s session.Info)
}

// HealthChecker is asked about once a minute whether the game works. Late is no:
// see Options.HealthTimeout. It is called from goroutines of its own.
type HealthChecker interface {
	OnHealthCheck(ctx context.Context) bool
}

// SessionUpdater is told of an update before it counts: Session and Matchmaker
// still give what was before (in O3DE OnUpdateSessionBegin).
type SessionUpdater interface {
	OnUpdateSession(ctx context.Context, u Update)
}

// SessionUpdated is told of an update when it counts (in O3DE OnUpdateSessionEnd).
type SessionUpdated interface {
	OnSessionUpdated(ctx context.Context, u Update)
}

// SessionDestroyer ends the game: tell players, save. It is called if
// OnCreateSession was, once. ctx ends when the time for it is over
// (Options.DestroyGrace); an error is logged and stops nothing (in O3DE
// OnDestroySessionBegin).
type SessionDestroyer interface {
	OnDestroySession(ctx context.Context, r EndReason) error
}

// SessionDestroyed is told when the service knows of the end (in O3DE
// OnDestroySessionEnd).
type SessionDestroyed interface {
	OnSessionDestroyed(ctx context.Context)
}

// Update is a change of the game session by the service.
type Update struct {
	Session          session.Info
	Reason           UpdateReason
	BackfillTicketID string
	Match            matchdata.Data // of Session
}

// UpdateReason is why the service changed a game session (server SDK reference,
// UpdateGameSession).
type UpdateReason string

// The reasons of an update.
const (
	MatchmakingDataUpdated UpdateReason = "MATCHMAKING_DATA_UPDATED" // a backfill found players
	BackfillFailed         UpdateReason = "BACKFILL_FAILED"
	BackfillTimedOut       UpdateReason = "BACKFILL_TIMED_OUT"
	BackfillCancelled      UpdateReason = "BACKFILL_CANCELLED"
	UnknownReason          UpdateReason = "UNKNOWN"
)

// EndReason is why a process ends.
type EndReason string

// The reasons of an end.
const (
	EndRequested      EndReason = "requested"  // End was called, or Run's context ended
	EndEmpty          EndReason = "empty"      // the last player has left
	EndTerminated     EndReason = "terminated" // the service asked for it
	EndSignal         EndReason = "signal"
	EndCreateFailed   EndReason = "create_failed"   // OnCreateSession gave an error
	EndActivateFailed EndReason = "activate_failed" // the service did not take the activation
	EndReadyFailed    EndReason = "ready_failed"    // the service did not take the process
)

// State is where a process is in its life.
type State string

// The states of a process.
const (
	Created     State = "New"
	Initialised State = "Initialised"
	Ready       State = "Ready"
	Activating  State = "Activating"
	Active      State = "Active"
	Ending      State = "Ending"
	Ended       State = "Ended"
)
