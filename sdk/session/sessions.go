package session

import (
	"context"
	"iter"
	"time"
)

// SearchRequest asks for game sessions that players can find (API reference,
// SearchGameSessions).
type SearchRequest struct {
	Target
	Filter   string // see package filter; "" finds all; at most 1024 bytes
	Sort     string // such as "creationTimeMillis ASC"; "" leaves the order to the service
	PageSize int    // sessions a request, 1 to 20; 0 is 20
	Max      int    // sessions in all; 0 is no bound
	// NextToken, for SearchPage only, is where the page before ended.
	NextToken string
}

// Validate checks what can be checked without the service.
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

// JoinRequest asks for a place in a game session (API reference,
// CreatePlayerSession).
type JoinRequest struct {
	SessionID  string // game session ARN
	PlayerID   string // 1 to 1024 bytes
	PlayerData string // for the game server; at most 2048 bytes
	// WaitActive is how long to wait for a session that is still ACTIVATING; 0 does
	// not wait. A process may take minutes to load a level; 52 seconds cover eight
	// looks, each after twice the time of the one before.
	WaitActive time.Duration
}

// Validate checks what can be checked without the service.
func (r JoinRequest) Validate() error {
	if r.SessionID == "" || len(r.SessionID) > 256 {
		return invalid("SessionID has %d bytes; it must have 1 to 256", len(r.SessionID))
	}
	if r.WaitActive < 0 {
		return invalid("WaitActive is %v; it must be at least 0", r.WaitActive)
	}
	return validatePlayer("PlayerID", r.PlayerID, r.PlayerData)
}

// Sessions is all that a player does with game sessions (in O3DE
// ISessionRequests). Implementations may be called by many goroutines.
type Sessions interface {
	// Create makes a game session on an alias or fleet and gives it, mostly still
	// ACTIVATING; on a queue it starts a placement and gives its id at once. Errors:
	// ErrInvalid, ErrNotFound, ErrNoCapacity, ErrConflict, ErrLimit,
	// *TerminalAliasError.
	Create(ctx context.Context, r CreateRequest) (Created, error)
	// WaitPlacement waits until a placement has a game session. A placement that
	// ended without one gives a *PlacementError (ErrPlacementEnded). The end of ctx
	// ends the waiting, not the placement.
	WaitPlacement(ctx context.Context, placementID string) (Placement, error)
	// CancelPlacement ends a placement. One that has ended already gives no error.
	CancelPlacement(ctx context.Context, placementID string) error
	// Search gives the ACTIVE game sessions that the request describes, page by
	// page as they are read; each page is a picture of its moment. On a queue it
	// goes through the queue's destinations in their order and gives no session
	// twice. It ends after Max, or after giving an error once.
	Search(ctx context.Context, r SearchRequest) iter.Seq2[Info, error]
	// SearchPage gives one page. A queue has no pages: ErrInvalid.
	SearchPage(ctx context.Context, r SearchRequest) (Page, error)
	// Describe gives a game session in whatever status. Errors: ErrNotFound.
	Describe(ctx context.Context, sessionID string) (Info, error)
	// Reserve takes a place for a player and holds it for 60 seconds. Errors:
	// ErrFull, ErrNotActive (also when WaitActive is over), ErrNotFound.
	Reserve(ctx context.Context, r JoinRequest) (Connection, error)
	// Join reserves and connects. If only connecting failed, the error is
	// ErrConnect and the Connection is given as well: it can be tried again with
	// no second reservation. A second Join before Leave gives ErrAlreadyJoined.
	Join(ctx context.Context, r JoinRequest) (Connection, error)
	// Leave disconnects. The game server, not the client, tells the service that
	// the player has gone. Not joined, it does nothing.
	Leave(ctx context.Context) error
}
