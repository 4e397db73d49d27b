package session

import (
	"context"
	"iter"
	"time"
)

// SearchRequest searches for game sessions that players can find (API reference,
// SearchGameSessions).
type SearchRequest struct {
	Target
	Filter   string // see package filter; "" matches all; at most 1024 bytes
	Sort     string // such as "creationTimeMillis ASC", at most 1024 bytes; "" leaves the order to the service
	PageSize int    // sessions per request, 1 to 20; 0 means 20
	Max      int    // sessions in total; 0 means no limit
	// NextToken, for SearchPage only, is the NextToken of the previous page.
	NextToken string
}

// Validate checks what can be checked without calling the service. Errors: ErrInvalid.
func (r SearchRequest) Validate() error {
	switch {
	case r.Kind() == NoTarget:
		return invalid("Target: one of QueueName, AliasID and FleetID is required")
	case r.PageSize < 0 || r.PageSize > 20:
		return invalid("PageSize is %d; it must be 1 to 20, or 0 for 20", r.PageSize)
	case r.Max < 0:
		return invalid("Max is %d; it must be at least 0", r.Max)
	case len(r.Filter) > 1024:
		return invalid("Filter has %d bytes; at most 1024 are allowed", len(r.Filter))
	case len(r.Sort) > 1024:
		return invalid("Sort has %d bytes; at most 1024 are allowed", len(r.Sort))
	}
	return nil
}

// Page is one page of a search.
type Page struct {
	Sessions  []Info
	NextToken string // "" after the last page
}

// JoinRequest requests a slot in a game session (API reference, CreatePlayerSession).
type JoinRequest struct {
	SessionID  string // game session ARN, at most 256 bytes, or an id of the player API
	PlayerID   string // 1 to 1024 bytes
	PlayerData string // for the game server; at most 2048 bytes
	// WaitActive is how long to wait for a session that is still ACTIVATING; 0 does not
	// wait. A process may take minutes to load a level. The session is read again after
	// 0.3 seconds, then after about twice the time before, up to 10 seconds.
	WaitActive time.Duration
}

// Validate checks what can be checked without calling the service. Errors: ErrInvalid.
func (r JoinRequest) Validate() error {
	if r.SessionID == "" || len(r.SessionID) > 256 {
		return invalid("SessionID has %d bytes; it must have 1 to 256", len(r.SessionID))
	}
	if r.WaitActive < 0 {
		return invalid("WaitActive is %v; it must be at least 0", r.WaitActive)
	}
	return validatePlayer("PlayerID", r.PlayerID, r.PlayerData)
}

// Sessions is everything a player does with game sessions (in O3DE ISessionRequests).
// Implementations must be safe for concurrent use.
type Sessions interface {
	// Create creates a game session on an alias or fleet and returns it, usually still
	// ACTIVATING; on a queue it starts a placement and returns its id immediately.
	// Errors: ErrInvalid, ErrNotFound, ErrNoCapacity, ErrConflict, ErrLimit,
	// *TerminalAliasError.
	Create(ctx context.Context, r CreateRequest) (Created, error)
	// WaitPlacement waits until a placement has a game session. If the placement ends
	// without one, the error is a *PlacementError (ErrPlacementEnded). When ctx ends, the
	// waiting stops, but not the placement. Other errors: ErrNotFound.
	WaitPlacement(ctx context.Context, placementID string) (Placement, error)
	// CancelPlacement ends a placement. It returns nil for one that has ended. Errors:
	// ErrNotFound.
	CancelPlacement(ctx context.Context, placementID string) error
	// Search yields the matching ACTIVE game sessions, page by page as they are read;
	// each page shows the moment it was read. On a queue it searches the queue's
	// destinations in order and yields no session twice. It ends after Max sessions or
	// after yielding an error: ErrInvalid, ErrNotFound.
	Search(ctx context.Context, r SearchRequest) iter.Seq2[Info, error]
	// SearchPage returns one page. Errors: ErrInvalid (also for a queue, which has no
	// pages), ErrNotFound.
	SearchPage(ctx context.Context, r SearchRequest) (Page, error)
	// Describe returns a game session in any status. Errors: ErrNotFound.
	Describe(ctx context.Context, sessionID string) (Info, error)
	// Reserve takes a slot for a player and holds it for 60 seconds. Errors: ErrFull,
	// ErrNotActive (also when WaitActive is over), ErrNotFound.
	Reserve(ctx context.Context, r JoinRequest) (Connection, error)
	// Join reserves and connects. If only connecting failed, the error is ErrConnect and
	// the Connection is returned as well: connecting can be retried without a second
	// reservation. A second Join before Leave returns ErrAlreadyJoined.
	Join(ctx context.Context, r JoinRequest) (Connection, error)
	// Leave disconnects. The game server, not the client, reports to the service that the
	// player has left. If not joined, it does nothing.
	Leave(ctx context.Context) error
}
