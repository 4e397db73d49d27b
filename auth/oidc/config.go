// Package oidc lets people log in to the console with the account of an OpenID Connect
// provider: the authorization code flow with PKCE (OpenID Connect Core, RFC 7636, RFC 9700).
// It says who somebody is and which rule grants that person a role; logins are kept by
// package auth. Nothing is kept here between the beginning of a login and its end: what
// belongs to it is sealed in a cookie, so that another node can end it.
package oidc

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
)

// Anyone is the value of a rule for everybody whom the provider lets in.
const Anyone = "*"

// Config says which provider is asked, and who gets which role. The zero Config means that
// nobody logs in that way. Errors name the members by their flags.
type Config struct {
	// Issuer is the URL of the provider, exactly as it writes it (iss).
	Issuer string
	// ClientID and ClientSecret are those with which the provider knows this server. A
	// public client has no secret.
	ClientID, ClientSecret string
	// Scopes are asked for besides openid. Default: profile and email.
	Scopes []string
	// Claim is the member of the ID token that rules are compared with: a text or a list of
	// texts. Dots lead into members of members. Default: groups.
	Claim string
	// Rules give roles. The first that fits decides; without one nobody is let in.
	Rules []Rule
	// EmailDomains, if there are any, are the only domains of email addresses let in.
	EmailDomains []string
	// Name of the provider for people. Default: the issuer's host.
	Name string
	// Lifetime is how long a login is valid. Default and at most auth.LoginLifetime.
	Lifetime time.Duration
}

// Rule grants a role, and optionally a scope, to those whose claim has a value.
type Rule struct {
	Value string
	Role  auth.Role
	Scope auth.Scope
}

// ParseRule reads a rule: VALUE=ROLE, and after spaces the parts of a scope, which are
// patterns of ARNs and tags (KEY=VALUE).
func ParseRule(text string) (Rule, error) {
	for at, c := range text {
		if c != '=' {
			continue
		}
		words := strings.Fields(text[at+1:])
		if len(words) == 0 || !auth.Role(words[0]).Valid() {
			continue // a value may contain =
		}
		r := Rule{Value: strings.TrimSpace(text[:at]), Role: auth.Role(words[0])}
		for _, part := range words[1:] {
			key, value, tag := strings.Cut(part, "=")
			switch {
			case strings.HasPrefix(part, "arn:"):
				r.Scope.Resources = append(r.Scope.Resources, part)
			case !tag:
				return Rule{}, fmt.Errorf("oidc-rules: %q: %q is neither an ARN nor KEY=VALUE of a tag; a scope is written after the role, separated by spaces", text, part)
			default:
				if r.Scope.Tags == nil {
					r.Scope.Tags = map[string]string{}
				}
				r.Scope.Tags[key] = value
			}
		}
		return r, nil
	}
	return Rule{}, fmt.Errorf("oidc-rules: %q is not VALUE=ROLE, such as platform-team=admin; the roles are %v", text, peoplesRoles)
}

// peoplesRoles are the roles that rules can give. The others are for programs alone.
var peoplesRoles = []auth.Role{auth.Admin, auth.Operator, auth.GameBackend, auth.RemoteShell, auth.ReadOnly}

// Enabled reports whether anybody logs in that way.
func (c *Config) Enabled() bool { return c.Issuer != "" }

// complete fills in defaults, and returns an error if the configuration is invalid.
func (c *Config) complete() error {
	u, err := checkURL("oidc-issuer", c.Issuer)
	switch {
	case err != nil:
		return err
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("oidc-issuer: %q must have no query and no fragment: it is the URL below which the provider has .well-known/openid-configuration", c.Issuer)
	case c.ClientID == "":
		return errors.New("oidc-client-id: is missing; give the id with which the provider knows this server")
	case len(c.Rules) == 0:
		return errors.New("oidc-rules: are missing, so nobody would have a role; give rules such as platform-team=admin, or *=read-only for everybody whom the provider lets in")
	case c.Lifetime < 0 || c.Lifetime > auth.LoginLifetime || (c.Lifetime > 0 && c.Lifetime < time.Minute):
		return fmt.Errorf("oidc-lifetime: %v is not within 1m and %v", c.Lifetime, auth.LoginLifetime)
	}
	for _, r := range c.Rules {
		if err := r.validate(); err != nil {
			return err
		}
	}
	for i, d := range c.EmailDomains {
		if c.EmailDomains[i] = strings.ToLower(d); d == "" || strings.ContainsAny(d, "@/ *") {
			return fmt.Errorf("oidc-email-domains: %q is no domain such as example.com", d)
		}
	}
	c.Claim, c.Name = cmp.Or(c.Claim, "groups"), cmp.Or(c.Name, u.Host)
	if len(c.Scopes) == 0 {
		c.Scopes = []string{"profile", "email"}
	}
	if !slices.Contains(c.Scopes, "openid") {
		c.Scopes = append([]string{"openid"}, c.Scopes...)
	}
	c.Lifetime = cmp.Or(c.Lifetime, auth.LoginLifetime)
	return nil
}

func (r *Rule) validate() error {
	if r.Value == "" {
		return errors.New("oidc-rules: a rule has no value before its =; everybody whom the provider lets in is *=ROLE")
	}
	if r.Role.Valid() && !slices.Contains(peoplesRoles, r.Role) {
		return fmt.Errorf("oidc-rules: %s: the role %s is for programs alone; people can have %v", r.Value, r.Role, peoplesRoles)
	}
	if err := auth.CheckRole(r.Role, r.Scope); err != nil {
		if f, ok := fault.As(err); ok {
			return fmt.Errorf("oidc-rules: %s: %s", r.Value, f.Message)
		}
		return err
	}
	return nil
}

// checkURL requires https, and accepts http only for this machine.
func checkURL(member, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return nil, fmt.Errorf("%s: %q is no URL such as https://login.example.com", member, text)
	case u.Scheme == "https":
		return u, nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"):
		return u, nil
	}
	return nil, fmt.Errorf("%s: %q must begin with https://, since whoever can change what the provider answers can log in; http:// is for this machine alone", member, text)
}

// rules are the rules of a configuration with their fingerprints.
type rules struct {
	all    []Rule
	prints []string
}

// newRules computes the fingerprints. Each covers what leads to the rule: the provider, the
// claim, the domains, the lifetime, and all rules before it, any of which could have fitted
// instead.
func newRules(c *Config) *rules {
	r := &rules{all: c.Rules}
	h := sha256.New()
	fmt.Fprintf(h, "muster oidc rules v1\n%q %q %q %q %q\n", c.Issuer, c.ClientID, c.Claim, c.EmailDomains, c.Lifetime)
	for _, rule := range c.Rules {
		fmt.Fprintf(h, "%q %q %q\n", rule.Value, rule.Role, rule.Scope.String())
		r.prints = append(r.prints, hex.EncodeToString(h.Sum(nil)[:16]))
	}
	return r
}

// of returns what the rule with a fingerprint grants.
func (r *rules) of(fingerprint string) (auth.Role, auth.Scope, bool) {
	if i := slices.Index(r.prints, fingerprint); i >= 0 {
		return r.all[i].Role, r.all[i].Scope, true
	}
	return "", auth.Scope{}, false
}

// first returns the fingerprint of the first rule for one of the values.
func (r *rules) first(values []string) (fingerprint string, ok bool) {
	for i, rule := range r.all {
		if rule.Value == Anyone || slices.Contains(values, rule.Value) {
			return r.prints[i], true
		}
	}
	return "", false
}
