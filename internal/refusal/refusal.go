// Package refusal defines the errors that the clients of players receive, where callers
// of the GameLift API receive the exceptions of package fault.
package refusal

import (
	"errors"
	"time"
)

// Code identifies what is wrong with a request, for programs.
type Code string

// Refusal is an error meant for the player's client. Its message may repeat what the
// client sent.
type Refusal struct {
	Code     Code
	Message  string
	Wait     time.Duration // how long the client must wait before it tries again
	Until    time.Time     // when a ban ends
	TicketID string        // the requesting player's ticket that prevents the request
	// ConflictToken lets the requesting player merge with the player to whom the account
	// is linked; "" if the two cannot be merged.
	ConflictToken string
}

// Error returns the code and the message.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Message }

// Is reports whether err is a refusal with the code.
func Is(err error, code Code) bool {
	r, ok := errors.AsType[*Refusal](err)
	return ok && r.Code == code
}
