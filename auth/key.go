package auth

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Key is an access key without its secret.
type Key struct {
	ID       string    `json:"id"` // access key id, 20 characters like AWS's
	Name     string    `json:"name"`
	Role     Role      `json:"role"`
	Scope    Scope     `json:"scope,omitzero"`
	Sealed   []byte    `json:"sealed"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"` // zero: never
	Disabled bool      `json:"disabled,omitzero"`
}

// Expired reports whether the key has expired.
func (k *Key) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// lasting reports whether the key can manage keys and never expires.
func (k *Key) lasting() bool { return k.Role == Admin && !k.Disabled && k.Expires.IsZero() }

// Credentials are a new key with its secret, which is returned only once.
type Credentials struct {
	AccessKeyID, SecretAccessKey string
}

// Spec describes a new key.
type Spec struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Scope   Scope     `json:"scope"`
	Expires time.Time `json:"expires"` // zero: never
}

const maxName = 128 // bytes

// validate returns a fault if no key can be like this. Errors: InvalidRequest.
func (s *Spec) validate(now time.Time) error {
	switch {
	case s.Name == "" || len(s.Name) > maxName || !printable(s.Name):
		return fault.Invalid("name: must have 1 to %d bytes of printable UTF-8; it says what the key is for", maxName)
	case !s.Expires.IsZero() && !s.Expires.After(now):
		return fault.Invalid("expires: %s is not in the future", s.Expires.UTC().Format(time.RFC3339))
	}
	return CheckRole(s.Role, s.Scope)
}

// CheckRole returns a fault if nobody can have the role with the scope. Errors:
// InvalidRequest.
func CheckRole(role Role, scope Scope) error {
	switch {
	case !role.Valid():
		return fault.Invalid("role: %q is none of %v", role, Roles())
	case !scope.IsZero() && !role.scopable():
		return fault.Invalid("scope: the role %s cannot have one: what it is for concerns the whole account", role)
	}
	return scope.validate()
}

func newKeyID() string {
	b := make([]byte, 10)
	rand.Read(b)
	return "MSTR" + base32.StdEncoding.EncodeToString(b)
}

func newSecret() string {
	b := make([]byte, 30)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
