package app_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/notify"
)

// A standby on PostgreSQL has the state in memory, finds that it is the database's, takes over with
// it when the owner stops, and serves the same state, with what the console recorded. A backup
// moves the state to SQLite.
func TestPostgres_TakeOver(t *testing.T) {
	url := pgtest.Database(t)
	log, asked := new(screen), new(screen)
	o := options(t, func(o *app.Options) { o.Store, o.Logger = url, timelessLog(log) })
	first := begin(t, o)
	populate(t, first)
	fails(t, first)
	o.StandbyCheck = 50 * time.Millisecond
	second := begin(t, o)
	const warm, same = `level=INFO msg="the state is in memory, ready to take over"`, `level=INFO msg="the state in memory is the database's"`
	log.await(t, warm)
	if status, body := get(t, second.URL()+"/readyz"); status != 200 || !strings.Contains(body, `"standby"`) || !strings.Contains(body, `"state":"warm"`) {
		t.Errorf("/readyz of the standby is %d %s", status, body)
	}
	call(t, second, "CreateLocation", map[string]any{"LocationName": "custom-through-second"})
	log.await(t, same)
	third := start(t, func(c *app.Options) { *c = o; c.StandbyCheck, c.Logger = 0, timelessLog(asked) })
	asked.await(t, warm)
	third.CheckStandbys()
	asked.await(t, same)
	stop(t, third)
	stop(t, first)
	call(t, second, "ListLocations", map[string]any{}) // held until the second node serves
	log.await(t, `level=INFO msg="the state was in memory"`)
	if second.Digest() != first.Digest() {
		t.Error("the second node has another state than the first wrote")
	}
	if status, body := get(t, second.URL()+"/readyz"); status != 200 || !strings.Contains(body, `"owner"`) || strings.Contains(body, `"state"`) {
		t.Errorf("/readyz of the owner is %d %s", status, body)
	}
	wait.Until(t, "history is restored", func() bool { return canceled(t, second)["7d"].Counts["placement CANCELLED"] == 1 })
	call(t, second, "CreateLocation", map[string]any{"LocationName": "custom-second"})
	file := filepath.Join(t.TempDir(), "backup.db")
	check(t, app.Backup(t.Context(), o, file))
	embedded := options(t, func(o *app.Options) { o.Store = "sqlite" })
	check(t, app.Restore(t.Context(), embedded, file))
	report, err := app.Verify(t.Context(), embedded, "")
	if err != nil || len(report.Problems) > 0 || report.Digest != second.Digest() {
		t.Errorf("moved to SQLite: %+v, %v", report, err)
	}
	if strings.Contains(log.String()+asked.String(), url) {
		t.Error("the log tells the database's URL, which may hold a password")
	}
}

// A standby that is told to keeps nothing in memory.
func TestPostgres_ColdStandby(t *testing.T) {
	o := options(t, func(o *app.Options) { o.Store = pgtest.Database(t) })
	first := begin(t, o)
	populate(t, first)
	log := new(screen)
	second := start(t, func(c *app.Options) { *c = o; c.ColdStandby, c.Logger = true, timelessLog(log) })
	if status, body := get(t, second.URL()+"/readyz"); status != 200 || !strings.Contains(body, `"state":"cold"`) {
		t.Errorf("/readyz of the standby is %d %s", status, body)
	}
	stop(t, first)
	call(t, second, "ListLocations", map[string]any{})
	if second.Digest() != first.Digest() || strings.Contains(log.String(), "in memory") {
		t.Errorf("the second node took over with %s", log)
	}
}

// TestReadyz_TakingOver checks that a node that owns the cell and still reads its state is
// not ready.
func TestReadyz_TakingOver(t *testing.T) {
	url := pgtest.Database(t)
	log := new(screen)
	o := options(t, func(o *app.Options) { o.Store = url })
	first := begin(t, o)
	second := start(t, func(c *app.Options) { *c, c.Logger = o, timelessLog(log) })
	base := second.URL()
	open := shut(t, url)
	stop(t, first)
	log.await(t, `level=INFO msg="this node owns the cell"`)
	if status, body := get(t, base+"/readyz"); status != 503 {
		t.Errorf("/readyz of a node that reads its state is %d %s", status, body)
	}
	open()
	call(t, second, "ListLocations", map[string]any{})
	if status, body := get(t, base+"/readyz"); status != 200 || !strings.Contains(body, `"owner"`) {
		t.Errorf("/readyz of the node that took over is %d %s", status, body)
	}
}

// TestOwn_LeaseOver checks that a node that got the lease and was paused until it may have
// expired does not disturb the new owner.
func TestOwn_LeaseOver(t *testing.T) {
	o := options(t, func(o *app.Options) { o.Store = pgtest.Database(t) })
	owner := begin(t, o)
	if err := must(app.New(o))(t).OwnWithoutLease(t.Context()); err == nil {
		t.Error("a node without the lease opens the state")
	}
	call(t, owner, "CreateLocation", map[string]any{"LocationName": "custom-a"})
}

// TestNodes_OneAddress checks that nodes with the same host and address do not take the
// cell from each other, and that a restarted node has the same name.
func TestNodes_OneAddress(t *testing.T) {
	url := pgtest.Database(t)
	o := options(t, func(o *app.Options) { o.Store, o.NodeAddress = url, "muster.example:9443" })
	o.MasterKeyFile = filepath.Join(o.DataDir, "master.key")
	first := begin(t, o)
	name := ownerName(t, url)
	elsewhere := o
	elsewhere.DataDir = t.TempDir()
	for what, other := range map[string]app.Options{"data directory of its own": elsewhere, "the same data directory": o} {
		second := begin(t, other)
		// The address leads nowhere, and a node that would have to forward there says so.
		if status, body := get(t, second.URL()+"/readyz"); status != 503 || !strings.Contains(body, `"standby"`) || !strings.Contains(body, "cannot be reached") {
			t.Errorf("with %s: /readyz of the second node is %d %s", what, status, body)
		}
		stop(t, second)
	}
	stop(t, first)
	begin(t, o)
	if again := ownerName(t, url); again != name {
		t.Errorf("the node was %s and came back as %s", name, again)
	}
}

// ownerName returns the cell's owner in the lease.
func ownerName(t *testing.T, url string) (name string) {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), url))(t)
	defer conn.Close(t.Context())
	check(t, conn.QueryRow(t.Context(), `SELECT "node" FROM "muster"."lease"`).Scan(&name))
	return name
}

// shut prevents stores in a database from being opened until the returned function is
// called: it holds the lock under which tables are created.
func shut(t *testing.T, url string) (open func()) {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { conn.Close(context.Background()) })
	const migrateLock = 0x6d75737465720001 // as in internal/store/postgres
	must(conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", int64(migrateLock)))(t)
	return func() { conn.Close(t.Context()) }
}

func timelessLog(s *screen) *slog.Logger {
	return slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
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
	b := newBrowser(t, first.URL()).logIn(admin.Credentials)
	expect := func(node string, want int) {
		t.Helper()
		b.url = node
		if _, status := b.me(); status != want {
			t.Errorf("/console/api/me: %d, want %d", status, want)
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
	stop(t, first)
	expect(second.URL(), http.StatusUnauthorized)
}

// A password given separately from the URL opens the state, the lease and a backup.
func TestPostgres_PasswordBesideTheURL(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = pgtest.Own(t).Login(t, "careful", "right") })
	if err := try(t, o); err == nil || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("with the URL's password: %v", err)
	}
	o.StorePassword = "right"
	a := begin(t, o)
	call(t, a, "CreateLocation", map[string]any{"LocationName": "custom-a"})
	if err := app.Backup(t.Context(), o, filepath.Join(t.TempDir(), "backup.db")); err != nil {
		t.Error(err)
	}
}

// askOn sends a request on a connection and returns the status of the answer.
func askOn(t *testing.T, c net.Conn, head, body string) (status int, err error) {
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
	begin(t, o)
	standby := begin(t, o)
	dial := func() net.Conn {
		t.Helper()
		c := must(net.Dial("tcp", standby.Addr().String()))(t)
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
		if status, err := askOn(t, c, head, body); err != nil || status != want {
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
	owner := begin(t, o)
	standby := start(t, func(c *app.Options) {
		*c = o
		c.Reread = func() (app.Files, error) { return files, nil }
	})
	renewed := pair(t, cert, key)
	files = app.Files{
		Players: backend.Config{Matchmakers: []lobby.Matchmaker{{Name: "ranked"}}},
		Sinks:   []notify.SinkConfig{{Name: "hook", Kind: notify.Webhook, URL: receiver.URL, Topics: []string{notify.Everything}}},
	}
	check(t, standby.Reload(t.Context()))
	if now := shown(t, standby.Addr().String(), "127.0.0.1"); string(now) != string(renewed) {
		t.Error("the standby shows its old certificate")
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(path string) string {
		t.Helper()
		_, text := send(t, c, http.MethodGet, standby.URL()+path, "", nil)
		return text
	}
	if got := get("/player/v1/config"); strings.Contains(got, "ranked") {
		t.Errorf("the owner, whose files did not change, offers %s", got)
	}
	stop(t, owner)
	if got := get("/player/v1/config"); !strings.Contains(got, "ranked") {
		t.Errorf("after the takeover players are offered %s", got)
	}
	if got := get("/notify/sinks"); !strings.Contains(got, "hook") {
		t.Errorf("after the takeover the sinks are %s", got)
	}
	api := &client.Client{Endpoint: standby.URL(), HTTP: c}
	type in = map[string]any
	answered(t, api, "CreateMatchmakingRuleSet", in{"Name": "rules", "RuleSetBody": `{"name":"r","ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":2,"maxPlayers":2}]}`})
	answered(t, api, "CreateMatchmakingConfiguration", in{
		"Name": "ranked", "RuleSetName": "rules", "AcceptanceRequired": false, "RequestTimeoutSeconds": 60, "FlexMatchMode": "STANDALONE",
	})
	answered(t, api, "StartMatchmaking", in{"ConfigurationName": "ranked", "Players": []in{{"PlayerId": "ana"}}})
	wait.Done(t, "the sink to be told", told)
}
