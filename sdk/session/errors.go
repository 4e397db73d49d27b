package session

import "errors"

// The errors of every implementation, to be tested with errors.Is. The service's own
// error is wrapped as well.
var (
	// ErrInvalid: an argument is missing or breaks a documented rule. Errors found before
	// anything is sent name the field.
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
	// ErrThrottled: too many requests; the call may succeed later.
	ErrThrottled = errors.New("too many requests")
	// ErrUnavailable: the service failed or could not be reached; the call may succeed
	// later.
	ErrUnavailable = errors.New("service unavailable")

	// ErrPlacementEnded: the placement was cancelled, timed out or failed; the status is
	// in *PlacementError.
	ErrPlacementEnded = errors.New("placement ended without a game session")
	// ErrMatchEnded: the ticket was cancelled, timed out or failed; the state is in
	// *MatchError.
	ErrMatchEnded = errors.New("matchmaking ended without a match")
	// ErrNoPlayerSession: the match was made, but has no player session for this player.
	ErrNoPlayerSession = errors.New("the match has no place for this player")
	// ErrConnect: the slot is reserved, but the Connector could not reach the game
	// server. Connecting can be retried until Connection.ReservedUntil.
	ErrConnect = errors.New("connection to the game server failed")
	// ErrAlreadyJoined: Join was called again before Leave.
	ErrAlreadyJoined = errors.New("already in a game session")
)

// ErrorOfCode returns the error that an error code of the Amazon GameLift API stands for,
// or nil if the code is not known.
func ErrorOfCode(code string) error { return codes[code] }

// codes maps the error codes of the Amazon GameLift API: the service's modeled exceptions,
// and AWS's common errors.
var codes = map[string]error{
	"GameSessionFullException":             ErrFull,
	"InvalidGameSessionStatusException":    ErrNotActive,
	"FleetCapacityExceededException":       ErrNoCapacity,
	"LimitExceededException":               ErrLimit,
	"ConflictException":                    ErrConflict,
	"IdempotentParameterMismatchException": ErrConflict,
	"NotFoundException":                    ErrNotFound,
	"InvalidRequestException":              ErrInvalid,
	"InvalidFleetStatusException":          ErrInvalid,
	"UnsupportedRegionException":           ErrInvalid,
	"ValidationException":                  ErrInvalid,
	"InternalServiceException":             ErrUnavailable,
	"ServiceUnavailable":                   ErrUnavailable,
	"UnauthorizedException":                ErrUnauthorized,
	"AccessDeniedException":                ErrUnauthorized,
	"UnrecognizedClientException":          ErrUnauthorized,
	"InvalidClientTokenId":                 ErrUnauthorized,
	"InvalidSignatureException":            ErrUnauthorized,
	"SignatureDoesNotMatch":                ErrUnauthorized,
	"IncompleteSignature":                  ErrUnauthorized,
	"IncompleteSignatureException":         ErrUnauthorized,
	"MissingAuthenticationToken":           ErrUnauthorized,
	"MissingAuthenticationTokenException":  ErrUnauthorized,
	"ExpiredToken":                         ErrUnauthorized,
	"ExpiredTokenException":                ErrUnauthorized,
	"RequestExpired":                       ErrUnauthorized,
	"ThrottlingException":                  ErrThrottled,
	"Throttling":                           ErrThrottled,
	"TooManyRequestsException":             ErrThrottled,
	"RequestLimitExceeded":                 ErrThrottled,
}

// TerminalAliasError reports that the alias leads to no fleet. Message is its owner's
// text for players (API reference, RoutingStrategy, TERMINAL).
type TerminalAliasError struct{ Message string }

// Error implements error.
func (e *TerminalAliasError) Error() string { return "the alias is closed: " + e.Message }

// PlacementError reports how a placement ended without a game session.
type PlacementError struct{ Placement Placement }

// Error implements error.
func (e *PlacementError) Error() string {
	return ErrPlacementEnded.Error() + ": " + string(e.Placement.Status)
}

// Is reports whether target is ErrPlacementEnded.
func (e *PlacementError) Is(target error) bool { return target == ErrPlacementEnded }

// MatchError reports how a ticket ended without a match.
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

// Is reports whether target is ErrMatchEnded.
func (e *MatchError) Is(target error) bool { return target == ErrMatchEnded }
