package session

import "errors"

// What can go wrong, whichever service is behind. Use errors.Is; the service's
// own error is wrapped as well.
var (
	// ErrInvalid: an argument is missing or breaks a documented rule. Errors found
	// before any request name the field.
	ErrInvalid = errors.New("invalid request")
	// ErrNotFound: the named session, placement, ticket, fleet, … does not exist.
	ErrNotFound = errors.New("not found")
	// ErrFull: the game session has no free slot (GameSessionFullException).
	ErrFull = errors.New("game session is full")
	// ErrNotActive: the game session cannot take players now
	// (InvalidGameSessionStatusException).
	ErrNotActive = errors.New("game session is not active")
	// ErrNoCapacity: no game server process is free (FleetCapacityExceededException).
	ErrNoCapacity = errors.New("no free game server process")
	// ErrLimit: a quota of the account is reached (LimitExceededException).
	ErrLimit = errors.New("limit exceeded")
	// ErrConflict: the id or idempotency token is in use for something else.
	ErrConflict = errors.New("conflict with an earlier request")
	// ErrUnauthorized: credentials are missing, wrong, or not allowed to do this.
	ErrUnauthorized = errors.New("not authorized")
	// ErrThrottled: too many requests; later it may work.
	ErrThrottled = errors.New("too many requests")
	// ErrUnavailable: the service failed, or could not be reached; later it may work.
	ErrUnavailable = errors.New("service unavailable")

	// ErrPlacementEnded: the placement was cancelled, timed out or failed; see
	// *PlacementError for which.
	ErrPlacementEnded = errors.New("placement ended without a game session")
	// ErrMatchEnded: the ticket was cancelled, timed out or failed; see *MatchError
	// for which.
	ErrMatchEnded = errors.New("matchmaking ended without a match")
	// ErrNoPlayerSession: the match is made, but holds no place for the own player.
	ErrNoPlayerSession = errors.New("the match has no place for this player")
	// ErrConnect: the place is reserved, but the Connector could not reach the game
	// server. Until Connection.ReservedUntil it can be tried again.
	ErrConnect = errors.New("connection to the game server failed")
	// ErrAlreadyJoined: Join while joined; Leave comes first.
	ErrAlreadyJoined = errors.New("already in a game session")
)

// TerminalAliasError says that the alias leads to no fleet, and what its owner
// wants players to read (API reference, RoutingStrategy, TERMINAL).
type TerminalAliasError struct{ Message string }

// Error implements error.
func (e *TerminalAliasError) Error() string { return "the alias is closed: " + e.Message }

// PlacementError is how a placement ended without a game session.
type PlacementError struct{ Placement Placement }

// Error implements error.
func (e *PlacementError) Error() string {
	return ErrPlacementEnded.Error() + ": " + string(e.Placement.Status)
}

// Is makes errors.Is find ErrPlacementEnded.
func (e *PlacementError) Is(target error) bool { return target == ErrPlacementEnded }

// MatchError is how a ticket ended without a match.
type MatchError struct{ Ticket Ticket }

// Error implements error.
func (e *MatchError) Error() string {
	text := ErrMatchEnded.Error() + ": " + string(e.Ticket.State)
	if e.Ticket.StatusReason != "" {
		text += " (" + e.Ticket.StatusReason + ")"
	}
	if e.Ticket.StatusMessage != "" {
		text += ": " + e.Ticket.StatusMessage
	}
	return text
}

// Is makes errors.Is find ErrMatchEnded.
func (e *MatchError) Is(target error) bool { return target == ErrMatchEnded }
