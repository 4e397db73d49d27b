package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files count by name, size and time, those of folders below, too; hidden ones do not.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	write("game.py", "one", begin)
	now := func() uint64 {
		t.Helper()
		n, err := fingerprint([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := now()
	for _, c := range []struct {
		what    string
		do      func()
		changes bool
	}{
		{"nothing", func() {}, false},
		{"a hidden file", func() { write(".swap", "x", begin) }, false},
		{"a hidden folder", func() { write(".git/index", "x", begin) }, false},
		{"another time", func() { write("game.py", "one", begin.Add(time.Nanosecond)) }, true},
		{"another size", func() { write("game.py", "three", begin.Add(time.Nanosecond)) }, true},
		{"a file below", func() { write("maps/a/b", "", begin) }, true},
		{"another name", func() {
			if err := os.Rename(filepath.Join(dir, "game.py"), filepath.Join(dir, "play.py")); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		c.do()
		after := now()
		if (after != before) != c.changes {
			t.Errorf("%s: changed %v, want %v", c.what, after != before, c.changes)
		}
		before = after
	}
	if err := CheckReload([]string{filepath.Join(dir, "play.py"), filepath.Join(dir, "absent")}); err == nil {
		t.Error("a file that is absent is accepted")
	}
}
