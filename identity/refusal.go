package identity

import (
	"fmt"

	"github.com/musterhq/muster/internal/refusal"
)

// The codes of the package's refusals.
const (
	TokenMissing        refusal.Code = "token-missing"
	TokenInvalid        refusal.Code = "token-invalid"
	TokenExpired        refusal.Code = "token-expired"
	GuestSecretInvalid  refusal.Code = "guest-secret-invalid"
	ProviderInvalid     refusal.Code = "provider-token-invalid"
	ProviderDisabled    refusal.Code = "provider-disabled"
	ProviderUnavailable refusal.Code = "provider-unavailable"
	RefreshInvalid      refusal.Code = "refresh-invalid"
	RefreshReused       refusal.Code = "refresh-reused"
	Banned              refusal.Code = "banned"
	NotFound            refusal.Code = "not-found"
	IdentityInUse       refusal.Code = "identity-in-use"
	ConflictInvalid     refusal.Code = "conflict-token-invalid"
	NotGuest            refusal.Code = "not-guest"
	MergedTooOften      refusal.Code = "merged-too-often"
	LastCredential      refusal.Code = "last-credential"
	ReauthRequired      refusal.Code = "reauth-required"
	VersionConflict     refusal.Code = "precondition-failed"
	Invalid             refusal.Code = "invalid-parameter"
)

func refuse(code refusal.Code, format string, args ...any) error {
	return &refusal.Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}
