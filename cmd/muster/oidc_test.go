package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/auth/oidc"
)

// The options for logins with a provider come from flags, variables and the file, with their
// order.
func TestOIDC_Options(t *testing.T) {
	want := oidc.Config{
		Issuer: "https://login.example.com", ClientID: "muster", ClientSecret: "s3cret", Scopes: []string{"groups", "email"}, Claim: "roles",
		Rules: []oidc.Rule{
			{Value: "CN=ops,OU=eu", Role: auth.Operator, Scope: auth.Scope{Resources: []string{"arn:aws:gamelift:*:*:fleet/*"}, Tags: map[string]string{"team": "red"}}},
			{Value: "a", Role: auth.ReadOnly},
		},
		EmailDomains: []string{"example.com", "example.org"}, Name: "Example", Lifetime: time.Hour,
	}
	file := write(t, "s3cret\n")
	o := serverOptions(t, "--oidc-issuer", "https://login.example.com", "--oidc-client-id", "muster", "--oidc-client-secret-file", file,
		"--oidc-scopes", "groups,email", "--oidc-claim", "roles", "--oidc-rules", `CN=ops\,OU=eu=operator arn:aws:gamelift:*:*:fleet/* team=red,a=read-only`,
		"--oidc-email-domains", "example.com,example.org", "--oidc-name", "Example", "--oidc-lifetime", "1h")
	if diff := cmp.Diff(want, o.OIDC); diff != "" {
		t.Errorf("from flags:\n%s", diff)
	}
	config := write(t, `
oidc-issuer: https://login.example.com
oidc-client-id: muster
oidc-scopes: [groups, email]
oidc-claim: roles
oidc-rules:
  - CN=ops,OU=eu=operator arn:aws:gamelift:*:*:fleet/* team=red
  - a=read-only
oidc-email-domains: [example.com, example.org]
oidc-lifetime: 1h
`)
	t.Setenv("MUSTER_OIDC_CLIENT_SECRET", "s3cret")
	t.Setenv("MUSTER_OIDC_NAME", "Example")
	if diff := cmp.Diff(want, serverOptions(t, "--config", config).OIDC); diff != "" {
		t.Errorf("from the file and variables:\n%s", diff)
	}
	if o := serverOptions(t); o.OIDC.Enabled() {
		t.Error("there is a provider without options")
	}
}
