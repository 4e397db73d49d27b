package auth

import "github.com/musterhq/muster/internal/fault"

// Caller is who sent a request. The zero Caller may do nothing.
type Caller struct {
	KeyID string // access key id; "" for Local
	Name  string // of the key
	Role  Role
	Local bool // the server asks nobody for credentials
}

// Anybody is the caller where the server asks nobody for credentials.
func Anybody() Caller { return Caller{Name: "local", Role: Admin, Local: true} }

// Actor names the caller in the audit and as the actor of commands: the access
// key id, or "local".
func (c Caller) Actor() string {
	if c.KeyID != "" {
		return c.KeyID
	}
	return c.Name
}

// May returns nil if the caller may do what action says, else a fault that names
// the key, its role and the action. Errors: AccessDenied.
func (c Caller) May(action Action, resources ...string) error {
	if c.Role.Allows(action) {
		return nil
	}
	return fault.New(fault.AccessDenied, "access key %s has the role %s, which may not call %s", c.KeyID, c.Role, action)
}
