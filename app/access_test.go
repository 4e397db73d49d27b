package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/cli/client"
)

// serve runs an app that requires keys, and returns a client with a key of each role.
func serve(t *testing.T, roles ...string) (a *app.App, clients map[string]*client.Client, log *screen) {
	t.Helper()
	log = newScreen()
	a = start(t, func(o *app.Options) { o.Store, o.AcceptAny, o.Logger = "sqlite", false, jsonLog(log) })
	first := firstKey(t, a)
	clients = map[string]*client.Client{}
	for _, role := range roles {
		clients[role] = with(t, a, first, client.KeySpec{Name: "test " + role, Role: role})
	}
	return a, clients, log
}

// firstKey returns a client with the key that the first start created.
func firstKey(t testing.TB, a *app.App) *client.Client {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.DataDir(), "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, "=")
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return &client.Client{Endpoint: a.URL(), Credentials: client.Credentials{
		AccessKeyID: values["aws_access_key_id"], SecretAccessKey: values["aws_secret_access_key"]}}
}

// with creates a key and returns a client with it.
func with(t *testing.T, a *app.App, admin *client.Client, spec client.KeySpec) *client.Client {
	t.Helper()
	made, err := admin.Keys().Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return &client.Client{Endpoint: a.URL(), Credentials: client.Credentials{AccessKeyID: made.ID, SecretAccessKey: made.Secret}}
}

// A key whose secret and signing key are in use is refused from the moment at which it is
// disabled or deleted.
func TestServe_RevokesKeysInUse(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	first := firstKey(t, a)
	user := with(t, a, first, client.KeySpec{Name: "user", Role: "operator"})
	id := user.Credentials.AccessKeyID
	use := func(want string) {
		t.Helper()
		if err := list(t, user); code(err) != want {
			t.Errorf("the API: %v, want %q", err, want)
		}
		if _, err := user.Fleets(t.Context()); (err != nil) != (want != "") {
			t.Errorf("the console: %v, want %q", err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	use("")
	use("")
	_, err := first.Keys().Disable(t.Context(), id)
	must(err)
	use("UnrecognizedClientException")
	_, err = first.Keys().Enable(t.Context(), id)
	must(err)
	use("")
	must(first.Keys().Delete(t.Context(), id))
	use("UnrecognizedClientException")
}

// When a key was last used is known after a stop in order, as after the periodic write.
func TestServe_LastUseAfterStop(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	serve := func() *app.App { return start(t, func(own *app.Options) { *own = o }) }
	a := serve()
	user := with(t, a, firstKey(t, a), client.KeySpec{Name: "user", Role: "operator"})
	lastUse := func() time.Time {
		t.Helper()
		all, err := firstKey(t, a).Keys().List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(k client.Key) bool { return k.ID == user.Credentials.AccessKeyID })
		if i < 0 {
			t.Fatalf("the key is not listed: %+v", all)
		}
		return all[i].LastUsed
	}
	if err := list(t, user); err != nil {
		t.Fatal(err)
	}
	used := lastUse()
	stop(t, a)
	a = serve()
	if after := lastUse(); used.IsZero() || !after.Equal(used) {
		t.Errorf("last used at %s, want %s", after, used)
	}
}

func TestServe_HoldsRoles(t *testing.T) {
	t.Parallel()
	_, clients, _ := serve(t, "admin", "operator", "game-backend", "game-server", "read-only")
	location := 0
	calls := map[string]func() any{
		"ListFleets": func() any { return map[string]any{} },
		"CreateLocation": func() any {
			location++
			return map[string]any{"LocationName": fmt.Sprintf("custom-%d", location)}
		},
		"ListCompute": func() any { return map[string]any{"FleetId": "fleet-none"} },
	}
	allowed := map[string]string{
		"admin": "ListFleets CreateLocation ListCompute", "operator": "ListFleets CreateLocation ListCompute",
		"game-backend": "ListFleets ListCompute", "game-server": "ListCompute", "read-only": "ListFleets ListCompute",
	}
	for role, c := range clients {
		for operation, in := range calls {
			err := c.Call(t.Context(), operation, in(), nil)
			denied := code(err) == "AccessDeniedException"
			if want := !strings.Contains(allowed[role], operation); denied != want {
				t.Errorf("%s calls %s: %v, want denied %v", role, operation, err, want)
			}
		}
	}
	for _, role := range []string{"admin", "operator", "game-backend", "read-only"} {
		if err := clients[role].Events(t.Context(), client.EventQuery{Last: 1}, func(client.Event) error { return nil }); err != nil {
			t.Errorf("%s reads events: %v", role, err)
		}
	}
	if err := clients["game-server"].Events(t.Context(), client.EventQuery{}, nil); err == nil {
		t.Error("a game server's key reads events")
	}
}

func TestServe_RefusesStrangers(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) {
		o.Store, o.AcceptAny, o.Audit.Level = "sqlite", false, audit.Off // records of refusals would change the state
	})
	good := firstKey(t, a).Credentials
	before := a.Digest()
	for name, c := range map[string]struct {
		credentials client.Credentials
		want        string
	}{
		"unsigned":     {client.Credentials{}, "MissingAuthenticationTokenException"},
		"unknown key":  {client.Credentials{AccessKeyID: "MSTRUNKNOWN", SecretAccessKey: "x"}, "UnrecognizedClientException"},
		"wrong secret": {client.Credentials{AccessKeyID: good.AccessKeyID, SecretAccessKey: "x"}, "InvalidSignatureException"},
	} {
		stranger := &client.Client{Endpoint: a.URL(), Credentials: c.credentials}
		if err := stranger.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-a"}, nil); code(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err := stranger.Events(t.Context(), client.EventQuery{}, nil); err == nil {
			t.Errorf("%s: reads events", name)
		}
	}
	if a.Digest() != before {
		t.Error("refused calls changed the state")
	}
}

func TestServe_FirstKey(t *testing.T) {
	t.Parallel()
	a, _, log := serve(t)
	path := filepath.Join(a.DataDir(), "admin-credentials")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v; want 0600", info.Mode(), err)
	}
	c := firstKey(t, a)
	if err := c.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-a"}, nil); err != nil {
		t.Errorf("the first key is refused: %v", err)
	}
	if secret := c.Credentials.SecretAccessKey; secret == "" || strings.Contains(log.String(), secret) {
		t.Error("the log tells the secret")
	}
	if !strings.Contains(log.String(), path) {
		t.Error("the log does not tell where the first key is")
	}
}

func TestServe_AuditNamesTheKey(t *testing.T) {
	t.Parallel()
	_, clients, _ := serve(t, "admin")
	c := clients["admin"]
	if err := c.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-a"}, nil); err != nil {
		t.Fatal(err)
	}
	var last client.Event
	if err := c.Events(t.Context(), client.EventQuery{Last: 1}, func(e client.Event) error { last = e; return nil }); err != nil {
		t.Fatal(err)
	}
	if last.Code != "LOCATION_CREATED" || last.Principal != c.Credentials.AccessKeyID {
		t.Errorf("the last event is %+v", last)
	}
}

func code(err error) string {
	var refused *client.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// TestServe_FirstKeyNotKept checks that a key that nobody can read is not left behind.
func TestServe_FirstKeyNotKept(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	path := filepath.Join(o.DataDir, "admin-credentials")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("start gives %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	start(t, func(c *app.Options) { *c = o })
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the next start left no key: %v", err)
	}
}

// A game server's key cannot make a machine a host, and what is done with a key is
// recorded with its name.
func TestServe_JoiningHostsIsForOperators(t *testing.T) {
	t.Parallel()
	_, clients, _ := serve(t, "admin", "operator", "game-backend", "game-server", "read-only")
	hosts := map[string]bool{"admin": true, "operator": true, "game-backend": true, "read-only": true}
	for role, c := range clients {
		_, err := c.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "us-east-1"})
		if got, want := err == nil, role == "admin" || role == "operator"; got != want {
			t.Errorf("%s makes a join token: %v, want allowed %v", role, err, want)
		}
		if _, err = c.Hosts().List(t.Context()); (err == nil) != hosts[role] {
			t.Errorf("%s sees the hosts: %v, want allowed %v", role, err, hosts[role])
		}
	}
	made := map[string]bool{}
	err := clients["admin"].Events(t.Context(), client.EventQuery{Last: 100}, func(e client.Event) error {
		if e.Code == "HOST_JOIN_TOKEN_CREATED" {
			made[e.Principal] = true
		}
		return nil
	})
	if err != nil || !made[clients["admin"].Credentials.AccessKeyID] || !made[clients["operator"].Credentials.AccessKeyID] || len(made) != 2 {
		t.Errorf("events name %v as the makers of join tokens, %v", made, err)
	}
}

// A key with a scope can use what is in it, but neither the rest nor everything.
func TestServe_HoldsScopes(t *testing.T) {
	t.Parallel()
	a, clients, _ := serve(t, "admin")
	admin := clients["admin"]
	for _, name := range []string{"red", "blue"} {
		if err := admin.Call(t.Context(), "CreateGameSessionQueue", map[string]any{
			"Name": name, "Tags": []map[string]string{{"Key": "team", "Value": name}},
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	names := func(queue ...string) any { return map[string]any{"Names": queue} }
	for what, c := range map[string]*client.Client{
		"ARN": with(t, a, admin, client.KeySpec{Name: "a", Role: "operator", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:gamesessionqueue/re*"}}}),
		"tag": with(t, a, admin, client.KeySpec{Name: "b", Role: "operator", Scope: client.KeyScope{Tags: map[string]string{"team": "red"}}}),
	} {
		for _, call := range []struct {
			operation string
			in        any
			allowed   bool
		}{
			{"DescribeGameSessionQueues", names("red"), true},
			{"UpdateGameSessionQueue", map[string]any{"Name": "red", "TimeoutInSeconds": 20}, true},
			{"ValidateMatchmakingRuleSet", map[string]any{"RuleSetBody": `{"name":"a","ruleLanguageVersion":"1.0","teams":[{"name":"t","minPlayers":1,"maxPlayers":1}]}`}, true},
			{"DescribeGameSessionQueues", names("red", "blue"), false},
			{"DescribeGameSessionQueues", names(), true},
			{"UpdateGameSessionQueue", map[string]any{"Name": "blue", "TimeoutInSeconds": 20}, false},
			{"UpdateGameSessionQueue", map[string]any{"Name": "red", "Destinations": []any{map[string]any{"DestinationArn": "arn:aws:gamelift:us-east-1::alias/alias-1"}}}, false},
			{"ListFleets", map[string]any{}, true},
			{"CreateBuild", map[string]any{"OperatingSystem": "AMAZON_LINUX_2023"}, false},
			{"DescribeGameSessionPlacement", map[string]any{"PlacementId": "nobody-knows"}, false},
			{"DescribeMatchmaking", map[string]any{"TicketIds": []string{"nobody-knows"}}, false},
			{"TagResource", map[string]any{"ResourceARN": "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/blue", "Tags": []map[string]string{{"Key": "team", "Value": "red"}}}, false},
		} {
			err := c.Call(t.Context(), call.operation, call.in, nil)
			if denied := code(err) == "AccessDeniedException"; denied == call.allowed || call.allowed && err != nil {
				t.Errorf("by %s: %s of %v: %v, want allowed %t", what, call.operation, call.in, err, call.allowed)
			}
		}
		if err := c.Events(t.Context(), client.EventQuery{Last: 1}, nil); err == nil {
			t.Errorf("by %s: a key with a scope reads all events", what)
		}
		if _, err := c.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "us-east-1"}); err == nil {
			t.Errorf("by %s: a key with a scope lets machines join", what)
		}
	}
}
