package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// TestPostgres_RestartAndTakeOver has a second node stand by on PostgreSQL, take
// over when the first stops and serve the same state, and the backup move it to
// SQLite.
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

// The password that is given beside the URL opens the state, the lease and a backup.
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
