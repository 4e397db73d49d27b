package oidc

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/fault"
)

// claims are the members of an ID token, and of the UserInfo endpoint's answer.
type claims map[string]any

// values returns the texts of a claim: it is a text or a list of texts. An email address
// counts only if the provider has verified that it is the account's.
func (c claims) values(name string) (values []string, present bool) {
	if name == "email" {
		address, ok := c.email()
		if !ok {
			return nil, c["email"] != nil
		}
		return []string{address}, true
	}
	switch v := c.at(name).(type) {
	case nil:
		return nil, false
	case string:
		return []string{v}, true
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok {
				values = append(values, text)
			}
		}
	}
	return values, true
}

// at returns a member by its name, or by a path of names with dots between them.
func (c claims) at(name string) any {
	if v, ok := c[name]; ok {
		return v
	}
	first, rest, more := strings.Cut(name, ".")
	inner, ok := c[first].(map[string]any)
	if !more || !ok {
		return nil
	}
	return claims(inner).at(rest)
}

// email returns the verified email address.
func (c claims) email() (address string, ok bool) {
	address, _ = c["email"].(string)
	verified := c["email_verified"] == true || c["email_verified"] == "true" // some providers write a text
	return address, verified && address != ""
}

// name returns what people call the account: what it can choose itself only if there is
// nothing better.
func (c claims) name(subject string) string {
	address, _ := c.email()
	for _, name := range []any{address, c["preferred_username"], c["name"], subject} {
		if text, ok := name.(string); ok {
			if text = plain(text, 128); text != "" {
				return text
			}
		}
	}
	return "an account without a name"
}

// in returns a fault unless the email address has one of the domains, if there are any.
func (c claims) in(domains []string) error {
	if len(domains) == 0 {
		return nil
	}
	address, ok := c.email()
	if !ok {
		return fault.New(fault.AccessDenied, "only verified email addresses of %s are let in (--oidc-email-domains), and the provider names none as verified for this account (claims email, email_verified); verify it there", strings.Join(domains, ", "))
	}
	for _, d := range domains {
		if at := strings.LastIndexByte(address, '@'); at > 0 && strings.EqualFold(address[at+1:], d) {
			return nil
		}
	}
	return fault.New(fault.AccessDenied, "%s is no address of %s, which alone are let in (--oidc-email-domains); log in with another account", plain(address, 128), strings.Join(domains, ", "))
}

// unruled returns the fault for an account for which there is no rule.
func (c claims) unruled(who, claim string) error {
	values, present := c.values(claim)
	switch {
	case !present:
		return fault.New(fault.AccessDenied, "%s is logged in to the provider, which sends no claim %q to find the role by; its administrator has to add the claim to ID tokens, or yours to ask for the scope that brings it (--oidc-scopes) or for another claim (--oidc-claim)", who, claim)
	case claim == "email" && len(values) == 0:
		return fault.New(fault.AccessDenied, "%s is logged in to the provider, which does not say that the email address is verified (claim email_verified); verify it there, or have the rules use another claim (--oidc-claim)", who)
	}
	return fault.New(fault.AccessDenied, "%s is logged in to the provider, but has no role here: the claim %q has %s, and no rule is for that; ask an administrator of this server for a rule (--oidc-rules), or to be given a value that has one", who, claim, list(values))
}

// list returns values for a message.
func list(values []string) string {
	if len(values) == 0 {
		return "no values"
	}
	const most = 10
	var parts []string
	for _, v := range values[:min(len(values), most)] {
		parts = append(parts, fmt.Sprintf("%q", plain(v, 64)))
	}
	text := strings.Join(parts, ", ")
	if len(values) > most {
		text += fmt.Sprintf(" and %d more", len(values)-most)
	}
	return text
}

// plain returns the printable part of a text of others, of at most n bytes.
func plain(text string, n int) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text))
	for len(text) > n {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// parse returns the claims in a JSON document.
func parse(document []byte) (claims, error) {
	var c claims
	err := json.Unmarshal(document, &c)
	return c, err
}
