package gameserver

import (
	"context"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/matchdata"
)

// Handler is the game. If it implements other interfaces of this file, those are
// called too. Several handlers are called in the order given. Except for
// OnHealthCheck, no two calls run at the same time.
type Handler interface {
	// OnCreateSession prepares the game session: load the level, listen. Players can
	// join once all handlers have returned nil, and quick ones even while it runs. An
	// error ends the process. The fleet limits the time (its game session activation
	// timeout, 1 to 600 s); ctx ends when the process is to end. In O3DE
	// OnCreateSessionBegin.
	OnCreateSession(ctx context.Context, s session.Info) error
}

// SessionCreated is called when the session is ACTIVE (in O3DE OnCreateSessionEnd).
type SessionCreated interface {
	OnSessionCreated(ctx context.Context, s session.Info)
}

// HealthChecker is called about once a minute and reports whether the game works. A
// late answer counts as false: see Options.HealthTimeout. It runs on its own
// goroutine.
type HealthChecker interface {
	OnHealthCheck(ctx context.Context) bool
}

// SessionUpdater is called before an update is applied: Session and Matchmaker still
// return the previous values (in O3DE OnUpdateSessionBegin).
type SessionUpdater interface {
	OnUpdateSession(ctx context.Context, u Update)
}

// SessionUpdated is called after an update is applied (in O3DE OnUpdateSessionEnd).
type SessionUpdated interface {
	OnSessionUpdated(ctx context.Context, u Update)
}

// SessionDestroyer ends the game: notify players, save. It is called once, if
// OnCreateSession was. ctx ends when its time is over (Options.DestroyGrace); an
// error is logged and does not stop the end (in O3DE OnDestroySessionBegin).
type SessionDestroyer interface {
	OnDestroySession(ctx context.Context, r EndReason) error
}

// SessionDestroyed is called when the service has been notified of the end (in O3DE
// OnDestroySessionEnd).
type SessionDestroyed interface {
	OnSessionDestroyed(ctx context.Context)
}

// Update is a change of the game session by the service.
type Update struct {
	Session          session.Info
	Reason           UpdateReason
	BackfillTicketID string
	Match            matchdata.Data // the match of Session
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
	EndRequested      EndReason = "requested"       // End was called, or Run's context ended
	EndEmpty          EndReason = "empty"           // the last player has left
	EndTerminated     EndReason = "terminated"      // the service requested it
	EndSignal         EndReason = "signal"          // SIGTERM or SIGINT, with Options.Signals
	EndCreateFailed   EndReason = "create_failed"   // OnCreateSession returned an error
	EndActivateFailed EndReason = "activate_failed" // the service refused the activation
	EndReadyFailed    EndReason = "ready_failed"    // the service refused the process
)

// State is the state of a process.
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
