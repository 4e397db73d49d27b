package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Person is somebody who has logged in to the console with an account of an identity
// provider, and so has no access key.
type Person struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"` // of the account; never changes, and the issuer gives it to no other account
	Name    string `json:"name"`    // for people: 1 to 128 bytes of printable UTF-8
	// Rule identifies the rule that gave the login its role and scope, which are those of
	// the rule at each moment (SetRules).
	Rule string `json:"rule"`
	// Once identifies the answer of the provider that the login was made for: there is one
	// login for each.
	Once string `json:"once"`
}

// personPrefix is how ids of persons begin. Those of access keys begin otherwise.
const personPrefix = "oidc-"

// ID returns what stands for the person wherever other callers have an access key id.
func (p *Person) ID() string {
	sum := sha256.Sum256([]byte("muster person v1\n" + p.Issuer + "\n" + p.Subject))
	return personPrefix + hex.EncodeToString(sum[:12])
}

// SetRules sets the function that returns the role and scope that a rule grants, as long
// as the rule exists. It must be called before traffic; without it no person has a login.
func (ls *Logins) SetRules(of func(rule string) (Role, Scope, bool)) { ls.rules = of }

// BeginPerson begins a login for a person whom the identity provider has confirmed, from an
// address, and returns the token for the cookie. The login ends after its lifetime, at most
// LoginLifetime, and as soon as its rule no longer exists. Errors: UnrecognizedClient.
func (ls *Logins) BeginPerson(ctx context.Context, p Person, lifetime time.Duration, from string) (token string, l Login, err error) {
	if p.Name == "" || len(p.Name) > maxName || !printable(p.Name) {
		return "", l, fault.New(fault.UnrecognizedClient, "the account has no name of 1 to %d bytes of printable UTF-8", maxName)
	}
	token, l = newLogin(p.ID(), min(lifetime, LoginLifetime))
	l.From, l.Person = from, &p
	c, err := ls.personOf(&l)
	if err != nil {
		return "", l, err
	}
	if err := ls.begin.Do(store.WithActor(ctx, c.Actor()), l); err != nil {
		return "", l, err
	}
	return token, l, nil
}

// personOf returns the caller of a login without a key. Errors: UnrecognizedClient.
func (ls *Logins) personOf(l *Login) (Caller, error) {
	if ls.rules != nil {
		if role, scope, ok := ls.rules(l.Person.Rule); ok {
			return Caller{KeyID: l.KeyID, Name: l.Person.Name, Role: role, Scope: scope, Person: true, tags: ls.keys.tagsOf}, nil
		}
	}
	return Caller{}, fault.New(fault.UnrecognizedClient, "the login of %s to the console has ended, since the rules for logins have changed; log in again", l.Person.Name)
}

// present returns the caller of the newest login of a person who has one now. Errors:
// UnrecognizedClient.
func (ls *Logins) present(id string) (Caller, error) {
	var newest *Login
	for l := range ls.rows.All(ls.keys.st.View()) {
		if l.Person != nil && l.KeyID == id && time.Now().Before(l.Expires) && (newest == nil || l.Created.After(newest.Created)) {
			newest = l
		}
	}
	if newest == nil {
		return Caller{}, fault.New(fault.UnrecognizedClient, "%.60s has no login to the console any more", id)
	}
	return ls.personOf(newest)
}

func isPerson(id string) bool { return strings.HasPrefix(id, personPrefix) }

// answered returns a fault if a login was already made for the provider's answer that a
// new one is for.
func (ls *Logins) answered(tx *store.Tx, l *Login) error {
	if l.Person == nil {
		return nil
	}
	for old := range ls.rows.All(tx) {
		if old.Person != nil && old.Person.Once == l.Person.Once {
			return fault.New(fault.UnrecognizedClient, "the answer of the identity provider was used before; log in again")
		}
	}
	return nil
}
