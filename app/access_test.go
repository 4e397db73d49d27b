package app_test

import (
	"encoding/hex"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/cli/client"
)

// serve runs an app that requires keys, and returns a client with a key of each role.
func serve(t *testing.T, roles ...string) (a *app.App, clients map[string]*client.Client, log *screen) {
	t.Helper()
	log = new(screen)
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
	values := map[string]string{}
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(a.DataDir(), "admin-credentials")))(t))) {
		name, value, _ := strings.Cut(line, "=")
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return &client.Client{Endpoint: a.URL(), Credentials: client.Credentials{
		AccessKeyID: values["aws_access_key_id"], SecretAccessKey: values["aws_secret_access_key"]}}
}

// with creates a key and returns a client with it.
func with(t *testing.T, a *app.App, admin *client.Client, spec client.KeySpec) *client.Client {
	t.Helper()
	made := must(admin.Keys().Create(t.Context(), spec))(t)
	return &client.Client{Endpoint: a.URL(), Credentials: client.Credentials{AccessKeyID: made.ID, SecretAccessKey: made.Secret}}
}

// code returns the code of a refusal.
func code(err error) string {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Code
	}
	return ""
}

// A key whose secret and signing key are in use is refused from the moment at which it is
// disabled or deleted, and its login ends for good.
func TestServe_RevokesKeysInUse(t *testing.T) {
	t.Parallel()
	a, clients, _ := serve(t, "admin", "operator")
	keys, user := clients["admin"].Keys(), clients["operator"]
	id := user.Credentials.AccessKeyID
	b := newBrowser(t, a.URL()).logIn(user.Credentials)
	use := func(want string, login int) {
		t.Helper()
		if err := list(t, user); code(err) != want {
			t.Errorf("the API: %v, want %q", err, want)
		}
		if _, err := user.Fleets(t.Context()); (err != nil) != (want != "") {
			t.Errorf("the console: %v, want %q", err, want)
		}
		if status, text := b.view("now"); status != login {
			t.Errorf("the login: %d %s, want %d", status, text, login)
		}
	}
	use("", http.StatusOK)
	use("", http.StatusOK)
	must(keys.Disable(t.Context(), id))(t)
	use("UnrecognizedClientException", http.StatusUnauthorized)
	must(keys.Enable(t.Context(), id))(t)
	use("", http.StatusUnauthorized)
	check(t, keys.Delete(t.Context(), id))
	use("UnrecognizedClientException", http.StatusUnauthorized)
}

// The first key is in a file for its owner alone, which the log names, and what is done with it is
// recorded with its id.
func TestServe_FirstKey(t *testing.T) {
	t.Parallel()
	a, _, log := serve(t)
	path := filepath.Join(a.DataDir(), "admin-credentials")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v; want 0600", info.Mode(), err)
	}
	c := firstKey(t, a)
	answered(t, c, "CreateLocation", map[string]any{"LocationName": "custom-a"})
	must(c.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "custom-a"}))(t)
	made := map[string]string{}
	check(t, c.Events(t.Context(), client.EventQuery{Last: 2}, func(e client.Event) error {
		made[e.Code] = e.Principal
		return nil
	}))
	if id := c.Credentials.AccessKeyID; made["LOCATION_CREATED"] != id || made["HOST_JOIN_TOKEN_CREATED"] != id {
		t.Errorf("the last events are by %v, want %s", made, id)
	}
	if secret := c.Credentials.SecretAccessKey; secret == "" || strings.Contains(log.String(), secret) {
		t.Error("the log tells the secret")
	}
	if !strings.Contains(log.String(), path) {
		t.Error("the log does not tell where the first key is")
	}
}

// A key that nobody can read is not left behind.
func TestServe_FirstKeyNotKept(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	path := filepath.Join(o.DataDir, "admin-credentials")
	check(t, os.WriteFile(path, nil, 0o600))
	if err := try(t, o); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("start gives %v", err)
	}
	check(t, os.Remove(path))
	begin(t, o)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the next start left no key: %v", err)
	}
}

// When a key was last used is known after a stop in order, as after the periodic write.
func TestServe_LastUseAfterStop(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	a := begin(t, o)
	user := with(t, a, firstKey(t, a), client.KeySpec{Name: "user", Role: "operator"})
	lastUse := func() time.Time {
		t.Helper()
		all := must(firstKey(t, a).Keys().List(t.Context()))(t)
		return all[slices.IndexFunc(all, func(k client.Key) bool { return k.ID == user.Credentials.AccessKeyID })].LastUsed
	}
	check(t, list(t, user))
	used := lastUse()
	stop(t, a)
	a = begin(t, o)
	if after := lastUse(); used.IsZero() || !after.Equal(used) {
		t.Errorf("last used at %s, want %s", after, used)
	}
}

// A key with a scope can use what is in it, but neither the rest nor everything. Scopes apply
// outside the API as well: a key lets machines join its locations and manages those, and sees its
// own fleets, queues and configurations in the console.
func TestServe_HoldsScopes(t *testing.T) {
	t.Parallel()
	a, clients, _ := serve(t, "admin")
	admin := clients["admin"]
	call := func(operation string, in map[string]any) { answered(t, admin, operation, in) }
	fleet, host, token := map[string]string{"unknown": "fleet-unknown"}, map[string]string{"unknown": "host-unknown"}, map[string]string{}
	for _, name := range []string{"red", "blue"} {
		fleet[name], _ = anywhere(t, admin, name)
		call("CreateGameSessionQueue", map[string]any{"Name": name, "Tags": []map[string]string{{"Key": "team", "Value": name}}})
		call("StartGameSessionPlacement", map[string]any{"PlacementId": "placement-" + name, "GameSessionQueueName": name, "MaximumPlayerSessionCount": 2})
		call("CreateMatchmakingRuleSet", map[string]any{"Name": name, "RuleSetBody": `{"name":"a","ruleLanguageVersion":"1.0","teams":[{"name":"t","minPlayers":2,"maxPlayers":2}]}`})
		call("CreateMatchmakingConfiguration", map[string]any{"Name": name, "RuleSetName": name, "FlexMatchMode": "STANDALONE", "RequestTimeoutSeconds": 100, "AcceptanceRequired": false})
		call("StartMatchmaking", map[string]any{"TicketId": "ticket-" + name, "ConfigurationName": name, "Players": []any{map[string]any{"PlayerId": "p"}}})
		join := must(admin.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "custom-" + name, Uses: 2}))(t)
		token[name] = join.TokenID
		_, joined := askToJoin(t, a, join.Token)
		host[name] = joined.HostID
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

	c := with(t, a, admin, client.KeySpec{Name: "red", Role: "operator", Scope: client.KeyScope{Resources: []string{
		"arn:aws:gamelift:*:*:location/custom-red", "arn:aws:gamelift:*:*:gamesessionqueue/red",
		"arn:aws:gamelift:*:*:matchmakingconfiguration/red", "arn:aws:gamelift:*:*:fleet/" + fleet["red"],
	}}})
	ctx := t.Context()
	for what, ask := range map[string]func(name string) error{
		"make a join token": func(name string) error {
			_, err := c.CreateJoinToken(ctx, client.JoinTokenInput{Location: "custom-" + name})
			return err
		},
		"see a host":   func(name string) error { _, err := c.Hosts().Get(ctx, host[name]); return err },
		"drain a host": func(name string) error { _, err := c.Hosts().Drain(ctx, host[name]); return err },
		"read events": func(name string) error {
			return c.Events(ctx, client.EventQuery{FleetID: fleet[name], Last: 10}, func(client.Event) error { return nil })
		},
		"read a session's events": func(name string) error {
			session := "arn:aws:gamelift:us-east-1::gamesession/" + fleet[name] + "/custom-" + name + "/s"
			return c.Events(ctx, client.EventQuery{GameSessionID: session, Last: 10}, func(client.Event) error { return nil })
		},
		"read a session's events of its fleet's location": func(name string) error {
			session := "arn:aws:gamelift:us-east-1::gamesession/" + fleet["red"] + "/custom-" + name + "/s"
			return c.Events(ctx, client.EventQuery{GameSessionID: session, Last: 10}, func(client.Event) error { return nil })
		},
		"find a fleet":            func(name string) error { _, err := c.FindFleet(ctx, fleet[name]); return err },
		"see processes":           func(name string) error { _, err := c.Processes(ctx, fleet[name]); return err },
		"explain a placement":     func(name string) error { _, _, err := c.Placements().Explain(ctx, "placement-"+name); return err },
		"explain a ticket":        func(name string) error { _, _, err := c.Matchmaking().ExplainTicket(ctx, "ticket-"+name); return err },
		"explain a configuration": func(name string) error { _, _, err := c.Matchmaking().Explain(ctx, name); return err },
		"trace a configuration":   func(name string) error { return c.Matchmaking().Trace(ctx, name, time.Time{}, io.Discard) },
	} {
		if err := ask("red"); err != nil {
			t.Errorf("%s in its scope: %v", what, err)
		}
		for _, name := range []string{"blue", "unknown"} {
			if err := ask(name); err == nil || !strings.Contains(err.Error(), "scope") {
				t.Errorf("%s of %s: %v, want a refusal for its scope", what, name, err)
			}
		}
	}
	for what, ask := range map[string]func() error{
		"revoke a join token": func() error { return c.RevokeJoinToken(ctx, token["blue"]) },
		"remove a host":       func() error { _, err := c.Hosts().Remove(ctx, host["blue"], true); return err },
		"rotate a host":       func() error { _, err := c.Hosts().Rotate(ctx, host["blue"]); return err },
		"make a token for the home region": func() error {
			_, err := c.CreateJoinToken(ctx, client.JoinTokenInput{})
			return err
		},
		"list hosts":     func() error { _, err := c.Hosts().List(ctx); return err },
		"list fleets":    func() error { _, err := c.Fleets(ctx); return err },
		"list queues":    func() error { _, err := c.Placements().Queues(ctx); return err },
		"list processes": func() error { _, err := c.Processes(ctx, ""); return err },
		"read all events": func() error {
			return c.Events(ctx, client.EventQuery{Last: 1}, func(client.Event) error { return nil })
		},
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "scope") {
			t.Errorf("%s: %v, want a refusal for its scope", what, err)
		}
	}
	if err := c.RevokeJoinToken(ctx, token["red"]); err != nil {
		t.Errorf("revoke a join token in its scope: %v", err)
	}
	if gone, err := c.Hosts().Remove(ctx, host["red"], true); err != nil || !gone {
		t.Errorf("remove a host in its scope: %v", err)
	}
	pages := newBrowser(t, a.URL()).logIn(c.Credentials)
	for view, want := range map[string]int{
		"queue?name=red": 200, "queue?name=blue": 403, "matchmaker?name=red": 200, "matchmaker?name=blue": 403, "quality?name=blue": 403,
		"ticket?id=ticket-red": 200, "ticket?id=ticket-blue": 403, "fleet?id=" + fleet["red"]: 200, "fleet?id=" + fleet["blue"]: 403,
		"sessions": 200, "sessions?fleet=" + fleet["blue"]: 403, "now": 403, "world": 403, "queues": 403, "matchmakers": 403, "crashes": 403,
		"host?id=" + host["blue"]: 403, "player-data?id=p": 403,
	} {
		if status, text := pages.view(view); status != want {
			t.Errorf("view %s: %d %s, want %d", view, status, text, want)
		}
	}
	// What is shown of a player, and found, is what the scope allows of it.
	for _, view := range []string{"player?id=p", "search?text=ticket-", "search?text=ticket-blue", "search?text=red", "search?text=blue"} {
		_, text := pages.view(view)
		if strings.Contains(text, "blue") || strings.Contains(text, fleet["blue"]) {
			t.Errorf("view %s tells of what is not in its scope: %s", view, text)
		}
		if view == "player?id=p" && !strings.Contains(text, "ticket-red") {
			t.Errorf("view %s lacks the ticket in its scope: %s", view, text)
		}
	}
	if _, _, err := c.Placements().Explain(ctx, "nt-blue"); err == nil || strings.Contains(err.Error(), "placement-blue") {
		t.Errorf("a beginning or end of an id that is not in its scope is answered with %v", err)
	}
	if _, _, err := admin.Placements().Explain(ctx, "placement-unknown"); err == nil || !strings.Contains(err.Error(), `there is no placement "placement-unknown"`) {
		t.Errorf("without a scope an unknown placement is answered with %v", err)
	}
}

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
