package app_test

import (
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/cli/client"
)

// masterOf returns the master key of an app.
func masterOf(t *testing.T, a *app.App) *auth.Master {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(a.DataDir(), "master.key")))(t)
	key := must(hex.DecodeString(strings.TrimSpace(string(text))))(t)
	m := must(auth.NewMaster(key))(t)
	return m
}

// visit asks for a shell with credentials, and returns the refusal.
func visit(t *testing.T, a *app.App, k client.Credentials) string {
	t.Helper()
	c := &client.Client{Endpoint: a.URL(), Credentials: k}
	_, err := c.Shell(t.Context(), client.Shell{})
	var refused *client.Error
	if !errors.As(err, &refused) {
		t.Fatalf("answered with %v, want a refusal", err)
	}
	return refused.Message
}

// Credentials for remote access are good for what they were issued for, as long as the key
// that asked for them is.
func TestRemoteAccess_Credentials(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny, o.RemoteAccess = false, true })
	admin := firstKey(t, a)
	master := masterOf(t, a)
	fleet, _ := anywhere(t, admin, "a")
	register := func() time.Time {
		t.Helper()
		made := answered(t, admin, "RegisterCompute", map[string]any{"FleetId": fleet, "ComputeName": "c", "Location": "custom-a", "IpAddress": "192.0.2.1"})
		return time.UnixMilli(int64(math.Round(made["Compute"].(map[string]any)["CreationTime"].(float64) * 1000)))
	}
	registered := register()

	role := func(spec client.KeySpec) string {
		t.Helper()
		spec.Name = t.Name()
		return with(t, a, admin, spec).Credentials.AccessKeyID
	}
	guest := role(client.KeySpec{Role: "remote-shell"})
	grant := auth.AccessGrant{KeyID: guest, FleetID: fleet, ComputeName: "c", Registered: registered, Expires: time.Now().Add(time.Minute)}
	issue := func(change func(*auth.AccessGrant)) client.Credentials {
		g := grant
		change(&g)
		c := master.IssueAccess(g)
		return client.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}
	}
	good := issue(func(*auth.AccessGrant) {})
	as := func(id string) client.Credentials { return issue(func(g *auth.AccessGrant) { g.KeyID = id }) }
	const accepted = "the instance of compute c does not exist" // it is no instance, but the caller might have a shell there
	for _, c := range []struct {
		what, want string
		k          client.Credentials
	}{
		{"good", accepted, good},
		{"of an admin", accepted, as(admin.Credentials.AccessKeyID)},
		{"with the fleet in scope", accepted, as(role(client.KeySpec{Role: "remote-shell", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:fleet/" + fleet}}}))},
		{"expired", "expired", issue(func(g *auth.AccessGrant) { g.Expires = time.Now().Add(-2 * time.Second) })},
		{"of another registration", "signature", issue(func(g *auth.AccessGrant) { g.Registered = registered.Add(-time.Second) })},
		{"for a compute that does not exist", "no credentials for remote access", issue(func(g *auth.AccessGrant) { g.ComputeName = "d" })},
		{"of an operator", "has the role operator", as(role(client.KeySpec{Role: "operator"}))},
		{"of a reader", "has the role read-only", as(role(client.KeySpec{Role: "read-only"}))},
		{"of a key for another fleet", "has a scope", as(role(client.KeySpec{Role: "remote-shell", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:fleet/other"}}}))},
		{"of a key for another location", "has a scope", as(role(client.KeySpec{Role: "remote-shell", Scope: client.KeyScope{
			Resources: []string{"arn:aws:gamelift:*:*:fleet/*", "arn:aws:gamelift:*:*:location/custom-b"}}}))},
		{"of a key that never was", "was deleted", as("MSTRAAAAAAAAAAAAAAAA")},
		{"of nobody", "was deleted", as("")},
		{"with another token", "signature", client.Credentials{AccessKeyID: good.AccessKeyID, SecretAccessKey: good.SecretAccessKey, SessionToken: admin.Credentials.AccessKeyID + ":" + fleet + ":c"}},
		{"without a token", "no credentials for remote access", client.Credentials{AccessKeyID: good.AccessKeyID, SecretAccessKey: good.SecretAccessKey}},
		{"an access key", "no credentials for remote access", admin.Credentials},
	} {
		if got := visit(t, a, c.k); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if err := (&client.Client{Endpoint: a.URL(), Credentials: good}).Call(t.Context(), "ListFleets", map[string]any{}, nil); err == nil || !strings.Contains(err.Error(), "UnrecognizedClient") {
		t.Errorf("the API answers credentials for remote access with %v", err)
	}

	must(admin.Keys().Disable(t.Context(), guest))(t)
	if got := visit(t, a, good); !strings.Contains(got, "is disabled") {
		t.Errorf("of a disabled key: %q", got)
	}
	answered(t, admin, "DeregisterCompute", map[string]any{"FleetId": fleet, "ComputeName": "c"})
	for register() == registered {
		answered(t, admin, "DeregisterCompute", map[string]any{"FleetId": fleet, "ComputeName": "c"})
	}
	if got := visit(t, a, as(admin.Credentials.AccessKeyID)); !strings.Contains(got, "signature") {
		t.Errorf("of the former registration: %q", got)
	}
}

// A server that was not started with remote access opens no shell, whatever is shown to it.
func TestRemoteAccess_Disabled(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	if got := visit(t, a, firstKey(t, a).Credentials); !strings.Contains(got, "--remote-access") {
		t.Errorf("answered %q", got)
	}
}
