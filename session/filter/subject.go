package filter

import "time"

// Subject provides the facts about a game session that an expression can use. Only
// methods for facts in the expression are called, and only until its result is known.
type Subject interface {
	// GameSessionID returns the full ARN.
	GameSessionID() string
	// GameSessionName returns the session's Name, or "".
	GameSessionName() string
	// Property returns the value of a game property, and whether the session has it.
	Property(key string) (string, bool)
	// MaximumSessions returns MaximumPlayerSessionCount.
	MaximumSessions() int
	// CreationTime returns when the session was created.
	CreationTime() time.Time
	// PlayerSessionCount returns CurrentPlayerSessionCount. It may be expensive.
	PlayerSessionCount() int
}
