package app_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
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
