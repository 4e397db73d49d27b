package filter

import "time"

// Subject is what an expression can ask of a game session. Only the facts that
// the expression names are asked for, and only until its outcome is known.
type Subject interface {
	// GameSessionID gives the full ARN.
	GameSessionID() string
	// GameSessionName gives the Name the session was created with, or "".
	GameSessionName() string
	// Property gives the value of a game property and whether the session has it.
	Property(key string) (string, bool)
	// MaximumSessions gives MaximumPlayerSessionCount.
	MaximumSessions() int
	// CreationTime gives the time the session was created.
	CreationTime() time.Time
	// PlayerSessionCount gives CurrentPlayerSessionCount; it may be found by counting.
	PlayerSessionCount() int
}
