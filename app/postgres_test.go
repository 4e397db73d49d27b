package app_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/notify"
)

// TestPostgres_RestartAndTakeOver has a second node stand by on PostgreSQL, take over
// when the first stops and serve the same state, and then moves it to SQLite with a
// backup.
func TestPostgres_RestartAndTakeOver(t *testing.T) {
	url := pgtest.Database(t)
	log := newScreen()
	o := options(t, func(o *app.Options) { o.Store, o.Logger = url, jsonLog(log) })
	first := start(t, func(c *app.Options) { *c = o })
	populate(t, first)
	second := start(t, func(c *app.Options) { *c = o })
	if status, body := get(t, second.URL()+"/readyz"); status != 200 || !strings.Contains(body, `"standby"`) {
		t.Errorf("/readyz of the second node is %d %s", status, body)
	}
	call(t, second, "CreateLocation", map[string]any{"LocationName": "custom-through-second"})
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	digest := first.Digest()
	call(t, second, "ListLocations", map[string]any{}) // held until the second node serves
	if status, body := get(t, second.URL()+"/readyz"); status != 200 || !strings.Contains(body, `"owner"`) {
		t.Errorf("/readyz of the second node is %d %s", status, body)
	}
	if second.Digest() != digest {
		t.Error("the second node reads another state than the first wrote")
	}
	call(t, second, "CreateLocation", map[string]any{"LocationName": "custom-second"})
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := app.Backup(t.Context(), o, file); err != nil {
		t.Fatal(err)
	}
	embedded := options(t, func(o *app.Options) { o.Store = "sqlite" })
	if err := app.Restore(t.Context(), embedded, file); err != nil {
		t.Fatal(err)
	}
	report, err := app.Verify(t.Context(), embedded, "")
	if err != nil || len(report.Problems) > 0 || report.Digest != second.Digest() {
		t.Errorf("moved to SQLite: %+v, %v", report, err)
	}
	if strings.Contains(log.String(), url) {
		t.Error("the log tells the database's URL, which may hold a password")
	}
}

// A login to the console that is ended through one node is ended on every node, and stays so
// when another takes over.
func TestPostgres_EndLogins(t *testing.T) {
	t.Parallel()
	url, dir := pgtest.Database(t), t.TempDir()
	node := func() *app.App {
		return start(t, func(o *app.Options) {
			o.Store, o.AcceptAny, o.DataDir = url, false, dir
		})
	}
	first := node()
	second := node()
	admin := firstKey(t, first)
	through := &client.Client{Endpoint: second.URL(), Credentials: admin.Credentials}
	b := &browser{T: t, url: first.URL()}
	b.logIn(admin.Credentials)
	expect := func(node string, want int) {
		t.Helper()
		b.url = node
		if status, text := b.send(http.MethodGet, "/console/api/me", "", nil); status != want {
			t.Errorf("/console/api/me: %d %s, want %d", status, text, want)
		}
	}
	expect(second.URL(), http.StatusOK)
	all, err := through.Logins().List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("logged in are %+v, %v", all, err)
	}
	if n, err := through.Logins().End(t.Context(), all[0].ID); n != 1 || err != nil {
		t.Errorf("ended: %d, %v", n, err)
	}
	expect(first.URL(), http.StatusUnauthorized)
	expect(second.URL(), http.StatusUnauthorized)
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(second.URL(), http.StatusUnauthorized)
}

// A password given separately from the URL opens the state, the lease and a backup.
func TestPostgres_PasswordBesideTheURL(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = pgtest.Own(t).Login(t, "careful", "right") })
	refused, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := refused.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("with the URL's password: %v", err)
	}
	o.StorePassword = "right"
	a := start(t, func(c *app.Options) { *c = o })
	call(t, a, "CreateLocation", map[string]any{"LocationName": "custom-a"})
	if err := app.Backup(t.Context(), o, filepath.Join(t.TempDir(), "backup.db")); err != nil {
		t.Error(err)
	}
}

// ask sends a request on a connection and returns the status of the answer.
func ask(t *testing.T, c net.Conn, head, body string) (status int, err error) {
	t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	return answer.StatusCode, err
}

// A standby learns from the owner's answers which of its connections are authenticated.
// Only a few others are kept: the oldest are closed. A WebSocket without authentication is
// one of them; one that lasts is not.
func TestPostgres_StandbyKnows(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	o := options(t, func(o *app.Options) { o.Store, o.MaxStrangers = url, 4 })
	start(t, func(c *app.Options) { *c = o })
	standby := start(t, func(c *app.Options) { *c = o })
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", standby.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	const (
		good    = "POST / HTTP/1.1\nHost: localhost\nX-Amz-Target: GameLift.ListFleets\nContent-Type: application/x-amz-json-1.1\nContent-Length: 2"
		refused = "GET /player/v1/players/me HTTP/1.1\nHost: localhost"
		socket  = "GET /player/v1/ws HTTP/1.1\nHost: localhost\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
	)
	askFor := func(c net.Conn, head string, want int) {
		t.Helper()
		body := ""
		if head == good {
			body = "{}"
		}
		if status, err := ask(t, c, head, body); err != nil || status != want {
			t.Fatalf("%.30q is answered %d, %v; want %d", head, status, err, want)
		}
	}
	known, stranger, silent := dial(), dial(), dial()
	askFor(known, good, http.StatusOK)
	askFor(stranger, refused, http.StatusUnauthorized)
	askFor(silent, socket, http.StatusSwitchingProtocols)
	for range 4 {
		askFor(dial(), refused, http.StatusUnauthorized)
	}
	for name, c := range map[string]net.Conn{"that was refused": stranger, "of a WebSocket that says nothing": silent} {
		c.SetReadDeadline(time.Now().Add(time.Minute)) // to fail if it is not closed
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("the connection %s: %v", name, err)
		}
	}
	askFor(known, good, http.StatusOK)
}

// A standby reads its files again too: its new certificate is used, and so are the new
// players and sinks when it takes over.
func TestPostgres_ReloadStandby(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pair(t, cert, key)
	told := make(chan struct{}, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case told <- struct{}{}:
		default:
		}
	}))
	defer receiver.Close()
	var files app.Files
	o := options(t, func(o *app.Options) { o.Store, o.TLSCert, o.TLSKey = url, cert, key })
	owner := start(t, func(c *app.Options) { *c = o })
	standby := start(t, func(c *app.Options) {
		*c = o
		c.Reread = func() (app.Files, error) { return files, nil }
	})
	renewed := pair(t, cert, key)
	files = app.Files{
		Players: backend.Config{Matchmakers: []lobby.Matchmaker{{Name: "ranked"}}},
		Sinks:   []notify.SinkConfig{{Name: "hook", Kind: notify.Webhook, URL: receiver.URL, Topics: []string{notify.Everything}}},
	}
	if err := standby.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := shown(t, standby.Addr().String(), "127.0.0.1"); string(now) != string(renewed) {
		t.Error("the standby shows its old certificate")
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(path string) string {
		t.Helper()
		answer, err := c.Get(standby.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := get("/player/v1/config"); strings.Contains(got, "ranked") {
		t.Errorf("the owner, whose files did not change, offers %s", got)
	}
	if err := owner.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get("/player/v1/config"); !strings.Contains(got, "ranked") {
		t.Errorf("after the takeover players are offered %s", got)
	}
	if got := get("/notify/sinks"); !strings.Contains(got, "hook") {
		t.Errorf("after the takeover the sinks are %s", got)
	}
	api := &client.Client{Endpoint: standby.URL(), HTTP: c}
	type in = map[string]any
	for _, call := range []struct {
		operation string
		in        in
	}{
		{"CreateMatchmakingRuleSet", in{"Name": "rules", "RuleSetBody": `{"name":"r","ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":2,"maxPlayers":2}]}`}},
		{"CreateMatchmakingConfiguration", in{
			"Name": "ranked", "RuleSetName": "rules", "AcceptanceRequired": false, "RequestTimeoutSeconds": 60, "FlexMatchMode": "STANDALONE",
		}},
		{"StartMatchmaking", in{"ConfigurationName": "ranked", "Players": []in{{"PlayerId": "ana"}}}},
	} {
		if err := api.Call(t.Context(), call.operation, call.in, nil); err != nil {
			t.Fatal(err)
		}
	}
	wait.Done(t, "the sink to be told", told)
}
