package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
)

func TestBackupRestoreVerify(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = "sqlite" })
	a := start(t, func(c *app.Options) { *c = o })
	populate(t, a)
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := app.Backup(t.Context(), o, file); err != nil { // while the server runs
		t.Fatal(err)
	}
	saved, err := app.Verify(t.Context(), o, file)
	if err != nil || len(saved.Problems) > 0 || saved.Digest != a.Digest() {
		t.Fatalf("the backup is %+v, %v; the state has digest %s", saved, err, a.Digest())
	}
	call(t, a, "CreateLocation", map[string]any{"LocationName": "custom-later"})
	if err := app.Restore(t.Context(), o, file); err == nil {
		t.Error("restored over a state")
	}
	if err := app.Backup(t.Context(), o, file); err == nil {
		t.Error("backed up over a file")
	}
	fresh := options(t, func(o *app.Options) { o.Store = "sqlite" })
	if err := app.Restore(t.Context(), fresh, file); err != nil {
		t.Fatal(err)
	}
	again := start(t, func(c *app.Options) { *c = fresh })
	if again.Digest() != saved.Digest {
		t.Error("the restored state is not the one that was backed up")
	}
}

func TestVerify_NamesProblems(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = "sqlite" })
	a := start(t, func(c *app.Options) { *c = o })
	populate(t, a)
	stop(t, a)
	path := filepath.Join(o.DataDir, "muster.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(data), `"name":"kept"`, `"name":"kep"!`, 1)
	if damaged == string(data) {
		t.Fatal("there is nothing to damage")
	}
	if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := app.Verify(t.Context(), o, "")
	if err == nil && len(report.Problems) == 0 {
		t.Error("a damaged document is no problem")
	}
}

func TestKeys_OnlyWhileStopped(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = "sqlite" })
	a := start(t, func(c *app.Options) { *c = o })
	if _, err := app.OpenKeys(t.Context(), o, false); err == nil || !strings.Contains(err.Error(), "process") {
		t.Errorf("keys beside a running server: %v", err)
	}
	stop(t, a)
	keys, err := app.OpenKeys(t.Context(), o, false)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	if _, err := keys.Create(t.Context(), "x", "emperor"); err == nil {
		t.Error("an unknown role is taken")
	}
	made, err := keys.Create(t.Context(), "game backend", "game-backend")
	if err != nil {
		t.Fatal(err)
	}
	list := keys.List()
	if len(list) != 1 || list[0].ID != made.AccessKeyID || list[0].Role != "game-backend" || list[0].Name != "game backend" {
		t.Errorf("keys are %+v", list)
	}
	if err := keys.Delete(t.Context(), made.AccessKeyID); err != nil || len(keys.List()) != 0 {
		t.Errorf("delete: %v, left %+v", err, keys.List())
	}
}

func TestOpenKeys_PostgresAsks(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = "postgres://localhost/none" })
	if _, err := app.OpenKeys(t.Context(), o, false); err == nil || !strings.Contains(err.Error(), "--servers-are-stopped") {
		t.Errorf("keys on PostgreSQL: %v", err)
	}
}

func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "recording")
	a := start(t, func(o *app.Options) { o.Record = file })
	populate(t, a)
	digest := a.Digest()
	stop(t, a)
	report, err := app.Replay(t.Context(), app.Options{}, file)
	if err != nil || report.Divergence != nil || !report.Ended {
		t.Fatalf("replay is %+v, %v", report, err)
	}
	if report.Digest != digest {
		t.Errorf("replay ends at %s, the server ended at %s", report.Digest, digest)
	}
	if _, err := os.Stat(app.DefaultDataDir); err == nil {
		t.Error("a replay made a data directory")
	}
}
