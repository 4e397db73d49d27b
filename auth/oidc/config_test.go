package oidc

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/auth"
)

func TestParseRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rule{
		"platform-team=admin":                  {Value: "platform-team", Role: auth.Admin},
		" live ops = operator ":                {Value: "live ops", Role: auth.Operator},
		"*=read-only":                          {Value: Anyone, Role: auth.ReadOnly},
		"CN=ops,OU=eu,DC=example=remote-shell": {Value: "CN=ops,OU=eu,DC=example", Role: auth.RemoteShell},
		"eu=operator arn:aws:gamelift:*:*:location/custom-eu team=red k==v": {Value: "eu", Role: auth.Operator,
			Scope: auth.Scope{Resources: []string{"arn:aws:gamelift:*:*:location/custom-eu"}, Tags: map[string]string{"team": "red", "k": "=v"}}},
	} {
		got, err := ParseRule(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                 "is not VALUE=ROLE",
		"ops":              "is not VALUE=ROLE",
		"ops=":             "is not VALUE=ROLE",
		"ops=boss":         "the roles are [admin operator",
		"ops=operator red": "neither an ARN nor KEY=VALUE",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "oidc-rules: ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// fine returns a valid configuration.
func fine() Config {
	return Config{Issuer: "https://login.example.com/realms/a", ClientID: "muster", Rules: []Rule{{Value: "ops", Role: auth.Operator}}}
}

func TestNew_Defaults(t *testing.T) {
	t.Parallel()
	p, err := New(fine(), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if c := p.config; c.Claim != "groups" || p.Name() != "login.example.com" || p.Lifetime() != auth.LoginLifetime || strings.Join(c.Scopes, " ") != "openid profile email" {
		t.Errorf("%+v", c)
	}
}

// What is invalid is refused with the option's name.
func TestNew_Refused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		`oidc-issuer: "login.example.com" is no URL`: func(c *Config) { c.Issuer = "login.example.com" },
		"oidc-issuer: \"http://login.example.com\"":  func(c *Config) { c.Issuer = "http://login.example.com" },
		"must have no query":                         func(c *Config) { c.Issuer += "?a=b" },
		"oidc-client-id: is missing":                 func(c *Config) { c.ClientID = "" },
		"oidc-rules: are missing":                    func(c *Config) { c.Rules = nil },
		"no value before":                            func(c *Config) { c.Rules[0].Value = "" },
		"is none of":                                 func(c *Config) { c.Rules[0].Role = "boss" },
		"is for programs alone":                      func(c *Config) { c.Rules[0].Role = auth.GameServer },
		"oidc-rules: ops: scope: the role admin": func(c *Config) {
			c.Rules[0].Role, c.Rules[0].Scope.Tags = auth.Admin, map[string]string{"team": "red"}
		},
		"oidc-rules: ops: scope: resources":    func(c *Config) { c.Rules[0].Scope.Resources = []string{"arn:aws:s3:::bucket"} },
		"oidc-email-domains: \"@example.com\"": func(c *Config) { c.EmailDomains = []string{"@example.com"} },
		"oidc-lifetime: 13h0m0s":               func(c *Config) { c.Lifetime = 13 * time.Hour },
		"oidc-lifetime: 1s":                    func(c *Config) { c.Lifetime = time.Second },
	} {
		c := fine()
		change(&c)
		if _, err := New(c, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A fingerprint changes with all that leads to its rule, and with nothing else.
func TestRules_Fingerprints(t *testing.T) {
	t.Parallel()
	with := func(change func(*Config)) *rules {
		c := fine()
		c.Rules = []Rule{{Value: "a", Role: auth.Operator}, {Value: "b", Role: auth.ReadOnly}}
		change(&c)
		if err := c.complete(); err != nil {
			t.Fatal(err)
		}
		return newRules(&c)
	}
	before := with(func(*Config) {})
	kept := func(r *rules, i int) bool { _, _, ok := r.of(before.prints[i]); return ok }
	for name, change := range map[string]func(*Config){
		"issuer":   func(c *Config) { c.Issuer = "https://elsewhere.example" },
		"client":   func(c *Config) { c.ClientID = "other" },
		"claim":    func(c *Config) { c.Claim = "roles" },
		"domains":  func(c *Config) { c.EmailDomains = []string{"example.com"} },
		"lifetime": func(c *Config) { c.Lifetime = time.Hour },
		"value":    func(c *Config) { c.Rules[0].Value = "c" },
		"role":     func(c *Config) { c.Rules[0].Role = auth.Admin },
		"scope":    func(c *Config) { c.Rules[0].Scope.Tags = map[string]string{"team": "red"} },
	} {
		if after := with(change); kept(after, 0) || kept(after, 1) {
			t.Errorf("after a change of the %s a login stays", name)
		}
	}
	if after := with(func(c *Config) { c.Rules[1].Role = auth.Admin }); !kept(after, 0) || kept(after, 1) {
		t.Error("a rule counts for those before it, or not for itself")
	}
	if after := with(func(c *Config) { c.Name, c.ClientSecret, c.Scopes = "x", "y", []string{"z"} }); !kept(after, 0) || !kept(after, 1) {
		t.Error("a login ends although nothing has changed that gave it")
	}
}

// Texts of the provider are shown without what a screen would not show.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\x1b[31m\u202eb\n": "a[31mb", "äöü": "äö", "  x ": "x", "\xff\xfe": ""} {
		if got := plain(text, 5); len(got) > 5 || (got != want && text != "a\x1b[31m\u202eb\n") || strings.ContainsAny(got, "\x1b\n\u202e") {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := list([]string{"a", "b"}); got != `"a", "b"` {
		t.Error(got)
	}
	many := list(make([]string, 200))
	if !strings.HasSuffix(many, "and 190 more") {
		t.Error(many)
	}
	if name := (claims{"name": strings.Repeat("é", 100)}).name("s"); len(name) > 128 || name == "" {
		t.Errorf("%q", name)
	}
}
