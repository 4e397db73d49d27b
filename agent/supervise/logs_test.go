package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestRotate_CopiesAndEmptiesUnderTheWriter(t *testing.T) {
	t.Parallel()
	l := logs{dir: t.TempDir(), size: 10}
	path := filepath.Join(l.dir, "a.stdout.log")
	writer, err := l.open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, step := range []struct{ line, now, before string }{
		{"12345\n", "12345\n", ""},
		{"6789\n", "", "12345\n6789\n"},
		{"more\n", "more\n", "12345\n6789\n"},
		{"and more\n", "", "more\nand more\n"},
	} {
		if _, err := writer.WriteString(step.line); err != nil {
			t.Fatal(err)
		}
		if err := l.rotate(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(path + ".1")
		if now := read(t, path); now != step.now || string(before) != step.before {
			t.Errorf("after %q: got %q and before it %q", step.line, now, before)
		}
	}
	if err := l.rotate(filepath.Join(l.dir, "absent")); err != nil {
		t.Error(err)
	}
}

func TestPrune_KeepsTheLivingAndTheNewest(t *testing.T) {
	t.Parallel()
	l := logs{dir: t.TempDir(), keep: 2}
	for n := range 5 {
		stdout, stderr := l.paths(fmt.Sprint("run-", n))
		write(t, stdout, "")
		write(t, stdout+".1", "")
		write(t, stderr, "")
		at := time.Unix(int64(1000+n), 0)
		if err := os.Chtimes(stderr, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(l.dir, "unrelated"), "")
	if err := l.prune(func(id string) bool { return id == "run-0" }); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(l.dir, "*"))
	var names []string
	for _, path := range left {
		names = append(names, filepath.Base(path))
	}
	var want []string
	for _, n := range []int{0, 3, 4} {
		want = append(want, fmt.Sprintf("run-%d.stderr.log", n), fmt.Sprintf("run-%d.stdout.log", n), fmt.Sprintf("run-%d.stdout.log.1", n))
	}
	if want = append(want, "unrelated"); !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestTail_GivesTheLastWholeLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	var many, long strings.Builder
	for n := range 1500 {
		fmt.Fprintf(&many, "line %d\n", n)
		fmt.Fprintf(&long, "%0999d\n", n)
	}
	cases := []struct {
		name, content string
		lines         int
		last          string
	}{
		{"empty", "", 0, ""},
		{"no newline", "one\ntwo", 2, "two"},
		{"many lines", many.String(), 1000, "line 1499"},
		{"long lines", long.String(), 65, fmt.Sprintf("%0999d", 1499)},
		{"not text", "\xff\n", 1, "�"},
	}
	for _, c := range cases {
		write(t, path, c.content)
		got := tail(path)
		if len(got) != c.lines || c.lines > 0 && got[len(got)-1] != c.last {
			t.Errorf("%s: got %d lines %q", c.name, len(got), got)
		}
	}
	if got := tail(path + ".absent"); got != nil {
		t.Errorf("absent file: got %q", got)
	}
}

func TestRotate_LooksAfterLivingRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, err := New(Options{NewID: func() string { return "x" }, Spec: Spec{Name: "x", Path: "/x", LogDir: dir, StateDir: dir, LogBytes: 3}})
	if err != nil {
		t.Fatal(err)
	}
	rec := record{ID: "a"}
	rec.Stdout, rec.Stderr = g.logs.paths("a")
	write(t, rec.Stdout, "long")
	write(t, rec.Stderr, "s")
	g.set(newRun(rec, 0, nil))
	g.rotate()
	if got := read(t, rec.Stdout) + "|" + read(t, rec.Stdout+".1") + "|" + read(t, rec.Stderr); got != "|long|s" {
		t.Errorf("got %q", got)
	}
}
