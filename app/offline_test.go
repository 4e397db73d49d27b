package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
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
	keepMasterKey(t, o, fresh)
	again := start(t, func(c *app.Options) { *c = fresh })
	if again.Digest() != saved.Digest {
		t.Error("the restored state is not the one that was backed up")
	}
}

// A backup of a further region is checked without saying which one it is of, and work that names
// another region than the state's is refused.
func TestBackupRestoreVerify_Regions(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.Regions = "sqlite", []string{"us-east-1", "eu-central-1"} })
	a := start(t, func(c *app.Options) { *c = o })
	populate(t, a)
	files := map[string]string{}
	for _, region := range o.Regions {
		in := o
		in.Region, files[region] = region, filepath.Join(t.TempDir(), region+".db")
		if err := app.Backup(t.Context(), in, files[region]); err != nil { // while the server runs
			t.Fatal(err)
		}
	}
	elsewhere := func(change func(o *app.Options)) app.Options {
		return options(t, func(o *app.Options) { o.Store = "sqlite"; change(o) })
	}
	for region, file := range files {
		found, err := app.Verify(t.Context(), elsewhere(func(*app.Options) {}), file)
		if err != nil || len(found.Problems) > 0 || found.Region != region || found.Fence.Seq == 0 {
			t.Errorf("the backup of %s is %+v, %v", region, found, err)
		}
	}
	refused := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	named := elsewhere(func(c *app.Options) { c.Regions, c.Region = o.Regions, "eu-central-1" })
	_, err := app.Verify(t.Context(), named, files["us-east-1"])
	refused("another region's backup", "is of the region us-east-1, not of eu-central-1", err)
	alone := elsewhere(func(c *app.Options) { c.DataDir, c.Region = o.DataDir, "eu-central-1" })
	refused("a backup of a region without the others", "the state is of the region us-east-1, not of eu-central-1: name the regions",
		app.Backup(t.Context(), alone, filepath.Join(t.TempDir(), "wrong.db")))
	_, err = app.Verify(t.Context(), alone, "")
	refused("a check of it", "the state is of the region us-east-1, not of eu-central-1", err)
	refused("a region restored as another", "it is of the region eu-central-1, and the state that would be filled is that of us-east-1",
		app.Restore(t.Context(), elsewhere(func(*app.Options) {}), files["eu-central-1"]))
	if err := app.Restore(t.Context(), named, files["eu-central-1"]); err != nil {
		t.Fatal(err)
	}
	if found, err := app.Verify(t.Context(), named, ""); err != nil || found.Region != "eu-central-1" || len(found.Problems) > 0 {
		t.Errorf("the restored state is %+v, %v", found, err)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte("nothing of Muster's"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = app.Verify(t.Context(), named, text)
	refused("a text", "verify: "+text+": ", err)
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

// keepMasterKey copies the master key of one deployment to the place of another's.
func keepMasterKey(t *testing.T, from, to app.Options) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from.DataDir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to.DataDir, "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenKeys_OnlyWhileStopped(t *testing.T) {
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
	c := &client.Client{Endpoint: "http://offline", HTTP: &http.Client{Transport: keys}}
	if _, err := c.Keys().Create(t.Context(), client.KeySpec{Name: "x", Role: "emperor"}); err == nil {
		t.Error("an unknown role is taken")
	}
	made, err := c.Keys().Create(t.Context(), client.KeySpec{Name: "game backend", Role: "game-backend"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Keys().List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != made.ID || list[0].Role != "game-backend" || list[0].Name != "game backend" {
		t.Errorf("keys are %+v, %v", list, err)
	}
	if err := c.Keys().Delete(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if list, err := c.Keys().List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after the delete: %+v, %v", list, err)
	}
}

// TestOpenKeys_MakesNothing checks that offline work on a state that does not exist, or is
// elsewhere, is refused and leaves no trace.
func TestOpenKeys_MakesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, says string }{
		{"no directory", "", "holds no state"},
		{"directory of a server on PostgreSQL", "node.id", "PostgreSQL"},
		{"state without its master key", "muster.db", "master.key does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options(t, func(o *app.Options) { o.Store, o.DataDir = "sqlite", filepath.Join(t.TempDir(), "data") })
			if c.file != "" {
				if err := os.Mkdir(o.DataDir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(o.DataDir, c.file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := app.OpenKeys(t.Context(), o, false); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("open: %v, want words about %q", err, c.says)
			}
			left, _ := os.ReadDir(o.DataDir)
			if want := len(c.file) > 0; len(left) > 1 || (len(left) == 1) != want || want && left[0].Name() != c.file {
				t.Errorf("left %v in the data directory", left)
			}
		})
	}
}

// TestMasterKey checks that a state requires the master key under which it is sealed.
func TestMasterKey(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	stop(t, start(t, func(c *app.Options) { *c = o }))
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := app.Backup(t.Context(), o, file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.DataDir, "master.key")
	key, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(o app.Options) error {
		a, err := app.New(o)
		if err != nil {
			return err
		}
		if err := a.Start(t.Context()); err != nil {
			return err
		}
		return a.Stop(t.Context())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := begin(o); err == nil || !strings.Contains(err.Error(), "put back the master key") {
		t.Errorf("a start without the master key: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the start made a new master key")
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := begin(o); err == nil || !strings.Contains(err.Error(), "sealed under another master key") {
		t.Errorf("a start with another master key: %v", err)
	}
	if _, err := app.OpenKeys(t.Context(), o, false); err == nil || !strings.Contains(err.Error(), "sealed under another master key") {
		t.Errorf("keys with another master key: %v", err)
	}
	other := options(t, func(o *app.Options) { o.Store = "sqlite" })
	keepMasterKey(t, o, other)
	if err := app.Restore(t.Context(), other, file); err == nil || !strings.Contains(err.Error(), "sealed under another master key") {
		t.Errorf("a restore beside another master key: %v", err)
	}
	if _, err := os.Stat(filepath.Join(other.DataDir, "muster.db")); err == nil {
		t.Error("the refused restore left a state")
	}
	if err := os.WriteFile(path, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := begin(o); err != nil {
		t.Errorf("a start with the master key back: %v", err)
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
	stop(t, a)
	digest := a.Digest()
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
