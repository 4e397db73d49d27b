package app_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// TestReadyz_TakingOver checks that a node that owns the cell and still reads its state is
// not ready.
func TestReadyz_TakingOver(t *testing.T) {
	url := pgtest.Database(t)
	log := newScreen()
	o := options(t, func(o *app.Options) { o.Store = url })
	first := start(t, func(c *app.Options) { *c = o })
	second := start(t, func(c *app.Options) { *c, c.Logger = o, timelessLog(log) })
	base := second.URL()
	open := shut(t, url)
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	owner := start(t, func(c *app.Options) { *c = o })
	paused, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := paused.OwnWithoutLease(t.Context()); err == nil {
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
	first := start(t, func(c *app.Options) { *c = o })
	name := ownerName(t, url)
	elsewhere := o
	elsewhere.DataDir = t.TempDir()
	for what, other := range map[string]app.Options{"data directory of its own": elsewhere, "the same data directory": o} {
		second := start(t, func(c *app.Options) { *c = other })
		// The address leads nowhere, and a node that would have to forward there says so.
		if status, body := get(t, second.URL()+"/readyz"); status != 503 || !strings.Contains(body, `"standby"`) || !strings.Contains(body, "cannot be reached") {
			t.Errorf("with %s: /readyz of the second node is %d %s", what, status, body)
		}
		stop(t, second)
	}
	stop(t, first)
	start(t, func(c *app.Options) { *c = o })
	if again := ownerName(t, url); again != name {
		t.Errorf("the node was %s and came back as %s", name, again)
	}
}

// ownerName returns the cell's owner in the lease.
func ownerName(t *testing.T, url string) (name string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), `SELECT "node" FROM "muster"."lease"`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

// shut prevents stores in a database from being opened until the returned function is
// called: it holds the lock under which tables are created.
func shut(t *testing.T, url string) (open func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	const migrateLock = 0x6d75737465720001 // as in internal/store/postgres
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", int64(migrateLock)); err != nil {
		t.Fatal(err)
	}
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
