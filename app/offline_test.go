package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
)

// A backup, which is made while the server runs, and a recording of its commands both lead to the
// state; an edited one is a problem.
func TestBackupRestoreVerify(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.Record = "sqlite", filepath.Join(t.TempDir(), "commands.log") })
	a := begin(t, o)
	populate(t, a)
	file := filepath.Join(t.TempDir(), "backup.db")
	check(t, app.Backup(t.Context(), o, file))
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
	check(t, app.Restore(t.Context(), fresh, file))
	keepMasterKey(t, o, fresh)
	if begin(t, fresh).Digest() != saved.Digest {
		t.Error("the restored state is not the one that was backed up")
	}

	stop(t, a)
	report, err := app.Replay(t.Context(), app.Options{}, o.Record)
	if err != nil || report.Divergence != nil || !report.Ended || report.Digest != a.Digest() {
		t.Errorf("the replay is %+v, %v; the server ended at %s", report, err, a.Digest())
	}
	if _, err := os.Stat(app.DefaultDataDir); err == nil {
		t.Error("a replay made a data directory")
	}
	if report, err := app.Verify(t.Context(), o, ""); err != nil || len(report.Problems) > 0 {
		t.Errorf("verify of the state: %v, %v", report.Problems, err)
	}
	edit := func(file, from, to string) {
		t.Helper()
		raw := must(os.ReadFile(file))(t)
		edited := bytes.Replace(raw, []byte(from), []byte(to), 1)
		if bytes.Equal(edited, raw) {
			t.Fatalf("%s has no %s", file, from)
		}
		check(t, os.WriteFile(file, edited, 0o600))
	}
	edit(file, `"action":"CreateLocation"`, `"action":"DeleteLocation"`)
	if report, err := app.Verify(t.Context(), o, file); err != nil || !strings.Contains(strings.Join(report.Problems, " "), "audit") {
		t.Errorf("an edited record of a backup gives %v, %v", report.Problems, err)
	}
	edit(filepath.Join(o.DataDir, "muster.db"), `"name":"kept"`, `"name":"kep"!`)
	if report, err := app.Verify(t.Context(), o, ""); err == nil && len(report.Problems) == 0 {
		t.Error("a damaged document is no problem")
	}
}

// A backup of a further region is checked without saying which one it is of, and work that names
// another region than the state's is refused.
func TestBackupRestoreVerify_Regions(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.Regions = "sqlite", []string{"us-east-1", "eu-central-1"} })
	a := begin(t, o)
	populate(t, a)
	files := map[string]string{}
	for _, region := range o.Regions {
		in := o
		in.Region, files[region] = region, filepath.Join(t.TempDir(), region+".db")
		check(t, app.Backup(t.Context(), in, files[region])) // while the server runs
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
	check(t, app.Restore(t.Context(), named, files["eu-central-1"]))
	if found, err := app.Verify(t.Context(), named, ""); err != nil || found.Region != "eu-central-1" || len(found.Problems) > 0 {
		t.Errorf("the restored state is %+v, %v", found, err)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	check(t, os.WriteFile(text, []byte("nothing of Muster's"), 0o600))
	_, err = app.Verify(t.Context(), named, text)
	refused("a text", "verify: "+text+": ", err)
}

// keepMasterKey copies the master key of one deployment to the place of another's.
func keepMasterKey(t *testing.T, from, to app.Options) {
	t.Helper()
	key := must(os.ReadFile(filepath.Join(from.DataDir, "master.key")))(t)
	check(t, os.WriteFile(filepath.Join(to.DataDir, "master.key"), key, 0o600))
}

// TestOpenKeys_MakesNothing checks that offline work on a state that does not exist, or is
// elsewhere, is refused and leaves no trace.
func TestOpenKeys_MakesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, store, file, says string }{
		{"no directory", "sqlite", "", "holds no state"},
		{"directory of a server on PostgreSQL", "sqlite", "node.id", "PostgreSQL"},
		{"state without its master key", "sqlite", "muster.db", "master.key does not exist"},
		{"PostgreSQL, whose servers may run", "postgres://localhost/none", "", "--servers-are-stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options(t, func(o *app.Options) { o.Store, o.DataDir = c.store, filepath.Join(t.TempDir(), "data") })
			if c.file != "" {
				check(t, os.Mkdir(o.DataDir, 0o700))
				check(t, os.WriteFile(filepath.Join(o.DataDir, c.file), nil, 0o600))
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

// The first start makes a master key for its owner alone, and the state requires the one under
// which it is sealed.
func TestMasterKey(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	check(t, try(t, o))
	file := filepath.Join(t.TempDir(), "backup.db")
	check(t, app.Backup(t.Context(), o, file))
	path := filepath.Join(o.DataDir, "master.key")
	key := must(os.ReadFile(path))(t)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v; want 0600", info.Mode(), err)
	}
	check(t, try(t, o))
	if second := must(os.ReadFile(path))(t); !bytes.Equal(second, key) {
		t.Error("a second start changed the master key")
	}
	check(t, os.Remove(path))
	if err := try(t, o); err == nil || !strings.Contains(err.Error(), "put back the master key") {
		t.Errorf("a start without the master key: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the start made a new master key")
	}
	check(t, os.WriteFile(path, []byte("short"), 0o600))
	if _, err := app.New(o); err == nil || !strings.Contains(err.Error(), "master key") {
		t.Errorf("a broken master key gives %v", err)
	}
	check(t, os.WriteFile(path, []byte(strings.Repeat("ab", 32)), 0o600))
	if err := try(t, o); err == nil || !strings.Contains(err.Error(), "sealed under another master key") {
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
	check(t, os.WriteFile(path, key, 0o600))
	if err := try(t, o); err != nil {
		t.Errorf("a start with the master key back: %v", err)
	}
}
