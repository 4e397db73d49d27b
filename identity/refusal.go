package identity

import (
	"errors"
	"fmt"
	"time"
)

// Code says what is wrong with a request, for programs.
type Code string

// The codes of refusals. Players receive these, where callers of the GameLift API
// receive the exceptions of internal/fault.
const (
	TokenMissing        Code = "token-missing"
	TokenInvalid        Code = "token-invalid"
	TokenExpired        Code = "token-expired"
	GuestSecretInvalid  Code = "guest-secret-invalid"
	ProviderInvalid     Code = "provider-token-invalid"
	ProviderDisabled    Code = "provider-disabled"
	ProviderUnavailable Code = "provider-unavailable"
	RefreshInvalid      Code = "refresh-invalid"
	RefreshReused       Code = "refresh-reused"
	Banned              Code = "banned"
	NotFound            Code = "not-found"
	IdentityInUse       Code = "identity-in-use"
	ConflictInvalid     Code = "conflict-token-invalid"
	NotGuest            Code = "not-guest"
	MergedTooOften      Code = "merged-too-often"
	LastCredential      Code = "last-credential"
	ReauthRequired      Code = "reauth-required"
	VersionConflict     Code = "precondition-failed"
	Invalid             Code = "invalid-parameter"
)

// Refusal is an error meant for the player's client.
type Refusal struct {
	Code    Code
	Message string
	Until   time.Time // of Banned: when it ends
	// ConflictToken, of IdentityInUse, lets the requesting player merge the two
	// players within five minutes, once; "" if they cannot be merged.
	ConflictToken string
}

// Error returns the code and the message.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Message }

func refuse(code Code, format string, args ...any) error {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Is reports whether err is a refusal with the code.
func Is(err error, code Code) bool {
	r, ok := errors.AsType[*Refusal](err)
	return ok && r.Code == code
}
