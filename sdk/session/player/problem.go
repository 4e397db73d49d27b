package player

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

var errInvalid = session.ErrInvalid

// Problem is an error response of the API (RFC 9457). errors.Is matches the error of
// package session that it means.
type Problem struct {
	Status     int    // HTTP status
	Code       string // the kind of problem, see docs/players.md
	Detail     string
	RetryAfter time.Duration // how long to wait before a retry; 0 if not stated
	Until      time.Time     // when a ban ends
	TicketID   string        // with ticket-active: the existing ticket
	// ConflictToken, with identity-in-use, allows one Merge of the two players within
	// five minutes; "" if the other player cannot be merged. Keep it secret.
	ConflictToken string
}

// Error returns the code and the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Code
	}
	return p.Code + ": " + p.Detail
}

// meanings maps codes to errors of package session.
var meanings = map[string]error{
	"not-found": session.ErrNotFound, "provider-disabled": session.ErrNotFound,
	"banned": session.ErrUnauthorized, "scope-insufficient": session.ErrUnauthorized, "reauth-required": session.ErrUnauthorized,
	"not-leader": session.ErrUnauthorized, "not-allowed": session.ErrUnauthorized,
	"ticket-active": session.ErrConflict, "identity-in-use": session.ErrConflict, "last-credential": session.ErrConflict,
	"conflict-token-invalid": session.ErrConflict, "not-guest": session.ErrConflict, "merged-too-often": session.ErrConflict,
	"party-not-ready": session.ErrConflict, "placement-ended": session.ErrConflict,
	"precondition-failed": session.ErrConflict, "already-joined": session.ErrConflict,
	"session-full": session.ErrFull, "party-full": session.ErrFull, "session-not-active": session.ErrNotActive,
	"no-capacity": session.ErrNoCapacity, "rate-limited": session.ErrThrottled, "locked-out": session.ErrThrottled,
}

// Unwrap returns the error of package session that the problem means.
func (p *Problem) Unwrap() error {
	if err, ok := meanings[p.Code]; ok {
		return err
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		return session.ErrUnauthorized
	case p.Status == http.StatusTooManyRequests:
		return session.ErrThrottled
	case p.Status >= http.StatusInternalServerError:
		return session.ErrUnavailable
	}
	return session.ErrInvalid
}

func problemOf(r *http.Response, text []byte) *Problem {
	var p protocol.Problem
	if json.Unmarshal(text, &p) != nil || p.Code == "" { // a proxy answered
		wait, _ := strconv.Atoi(r.Header.Get("Retry-After"))
		return &Problem{Status: r.StatusCode, Code: http.StatusText(r.StatusCode), RetryAfter: time.Duration(max(wait, 0)) * time.Second}
	}
	return &Problem{
		Status: r.StatusCode, Code: p.Code, Detail: p.Detail, TicketID: p.TicketID, Until: p.Until,
		ConflictToken: p.ConflictToken,
		RetryAfter:    time.Duration(p.RetryAfterSeconds) * time.Second,
	}
}
