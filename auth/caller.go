package auth

import "github.com/musterhq/muster/internal/fault"

// Caller is the sender of a request. The zero Caller may do nothing.
type Caller struct {
	KeyID  string // access key id, or a person's id; "" for Local
	Name   string // of the key or person
	Role   Role
	Scope  Scope
	Local  bool // the server does not require credentials
	Person bool // has no key, but an account of an identity provider

	tags func(resource string) map[string]string // tags of existing resources
}

// Anybody returns the caller of every request to a server that does not require
// credentials.
func Anybody() Caller { return Caller{Name: "local", Role: Admin, Local: true} }

// Actor returns the caller's name in the audit log and as the actor of commands: the
// access key id, a person's id, or "local".
func (c Caller) Actor() string {
	if c.KeyID != "" {
		return c.KeyID
	}
	return c.Name
}

// Who returns the caller in words, for messages.
func (c Caller) Who() string {
	if c.Person {
		return c.Name + " (" + c.KeyID + ")"
	}
	return "access key " + c.KeyID
}

// Scoped reports whether the caller has a scope.
func (c Caller) Scoped() bool { return !c.Scope.IsZero() }

// Has returns nil if the caller's role allows the action, regardless of resources;
// otherwise a fault that names the key, the role, the action and the roles that allow it.
// Errors: AccessDenied.
func (c Caller) Has(action Action) error {
	if c.Role.Allows(action) {
		return nil
	}
	return fault.New(fault.AccessDenied, "%s has the role %s, which may not call %s; %s may", c.Who(), c.Role, action, rolesFor(action))
}

// May returns nil if the caller may perform the action on all of the resources, which
// are ARNs. Without resources the action concerns the whole account, and a caller with
// a scope may not do it. The fault names the key, and the role or the resource. Errors:
// AccessDenied.
func (c Caller) May(action Action, resources ...string) error {
	if err := c.Has(action); err != nil || !c.Scoped() {
		return err
	}
	if len(resources) == 0 {
		return fault.New(fault.AccessDenied, "%s has a scope (%s), and %s concerns the whole account; name a resource in the scope, or use a key without a scope",
			c.Who(), c.Scope, action)
	}
	for _, resource := range resources {
		if !c.Reaches(resource) {
			return fault.New(fault.AccessDenied, "%s has a scope (%s), and %s is not in it: %s may not be called there",
				c.Who(), c.Scope, resource, action)
		}
	}
	return nil
}

// Reaches reports whether a resource is in the caller's scope.
func (c Caller) Reaches(resource string) bool {
	if !c.Scoped() {
		return true
	}
	var tags map[string]string
	if len(c.Scope.Tags) > 0 && c.tags != nil {
		tags = c.tags(resource)
	}
	return c.Scope.holds(resource, tags)
}

// ReachesBeside reports whether the caller's scope allows a location that a request
// combines with another resource: only a scope with patterns of locations restricts
// that.
func (c Caller) ReachesBeside(location string) bool {
	return !c.Scope.names("location") || c.Reaches(location)
}
