package auth_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// ada returns a person, as confirmed by the n-th answer of the provider.
func ada(n int) auth.Person {
	return auth.Person{Issuer: "https://login.example.com", Subject: "1815", Name: "ada@example.com", Rule: "r1", Once: fmt.Sprint(n)}
}

// person logs a person in, and returns the token.
func (h *house) person(p auth.Person) string {
	h.Helper()
	token, _, err := h.Logins.BeginPerson(context.Background(), p, time.Hour, "")
	if err != nil {
		h.Fatal(err)
	}
	return token
}

func TestLogInPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		_, _, err := h.Logins.BeginPerson(t.Context(), ada(0), time.Hour, "")
		h.refused("without rules", err, fault.UnrecognizedClient, "rules")

		rules := map[string]auth.Role{"r1": auth.Operator}
		scope := auth.Scope{Tags: map[string]string{"team": "red"}}
		h.Logins.SetRules(func(rule string) (auth.Role, auth.Scope, bool) {
			role, ok := rules[rule]
			return role, scope, ok
		})
		var revoked []string
		h.OnRevoked(func(id string) { revoked = append(revoked, id) })
		p := ada(1)
		token, l, err := h.Logins.BeginPerson(t.Context(), p, time.Hour, "")
		if err != nil {
			t.Fatal(err)
		}
		if l.Expires.Sub(l.Created) != time.Hour || l.KeyID != p.ID() {
			t.Errorf("%+v", l)
		}
		_, c, err := h.Logins.Of(token)
		if err != nil || c.Role != auth.Operator || !c.Person || c.Name != p.Name || c.KeyID != p.ID() || c.Scope.String() != "team=red" {
			t.Errorf("%+v, %v", c, err)
		}
		if c, err := h.Caller(p.ID()); err != nil || c.Role != auth.Operator {
			t.Errorf("by its id: %+v, %v", c, err)
		}
		if _, known := h.Secret(p.ID()); known {
			t.Error("a person has a secret, so could sign requests")
		}
		_, _, err = h.Logins.BeginPerson(t.Context(), p, time.Hour, "")
		h.refused("the same answer again", err, fault.UnrecognizedClient, "used before")

		delete(rules, "r1")
		_, _, err = h.Logins.Of(token)
		h.refused("without its rule", err, fault.UnrecognizedClient, "rules")
		_, err = h.Caller(p.ID())
		h.refused("its id, without its rule", err, fault.UnrecognizedClient, "rules")
		rules["r1"] = auth.ReadOnly
		if _, c, err := h.Logins.Of(token); err != nil || c.Role != auth.ReadOnly {
			t.Errorf("the rule's role now: %+v, %v", c, err)
		}

		if err := h.Logins.End(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if len(revoked) != 1 || revoked[0] != p.ID() {
			t.Errorf("told of %q", revoked)
		}
		_, err = h.Caller(p.ID())
		h.refused("its id, logged out", err, fault.UnrecognizedClient, "no login")

		token, l, err = h.Logins.BeginPerson(t.Context(), ada(2), 48*time.Hour, "")
		if err != nil || l.Expires.Sub(l.Created) != auth.LoginLifetime {
			t.Errorf("a long one: %+v, %v", l, err)
		}
		wait.Pass(auth.LoginLifetime)
		_, _, err = h.Logins.Of(token)
		h.refused("one that has expired", err, fault.UnrecognizedClient, "ended")
		_, err = h.Caller(p.ID())
		h.refused("its id, expired", err, fault.UnrecognizedClient, "no login")
	})
}

// A key or a person has 16 logins at most: another ends the oldest. Others are not counted.
func TestLogins_Bounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.Logins.SetRules(func(string) (auth.Role, auth.Scope, bool) { return auth.ReadOnly, auth.Scope{}, true })
		other := ada(0)
		other.Subject = "1816"
		others, key := h.person(other), h.create(auth.Spec{Name: "support", Role: auth.ReadOnly})
		var ofKey, ofPerson []string
		for i := range 17 {
			ofKey = append(ofKey, h.login(key.AccessKeyID, key.SecretAccessKey))
			ofPerson = append(ofPerson, h.person(ada(i+1)))
			wait.Pass(time.Second)
		}
		for _, tokens := range [][]string{ofKey, append(ofPerson, others)} {
			for i, token := range tokens {
				if _, _, err := h.Logins.Of(token); (err == nil) != (i > 0) {
					t.Errorf("login %d: %v", i, err)
				}
			}
		}
		if same := ada(1); other.ID() == same.ID() {
			t.Error("two accounts have the same id")
		}
	})
}
