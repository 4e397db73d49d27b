package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What a test leaves is found by its folder for temporary files: processes by their
// environment or working directory, and files.
func TestAddLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for on Linux alone")
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	here := filepath.Join(dir, "here")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	left := map[string]*exec.Cmd{
		"1001": {Env: []string{"TMPDIR=" + dir}, Dir: elsewhere},
		"1002": {Env: []string{"HOME=" + here}, Dir: elsewhere},
		"1003": {Env: []string{"HOME=" + elsewhere}, Dir: here},
	}
	other := &exec.Cmd{Env: []string{"TMPDIR=" + dir + "2"}, Dir: elsewhere}
	for seconds, cmd := range left {
		begin(t, cmd, seconds)
	}
	begin(t, other, "1004")
	for _, name := range []string{"go-build1", "hsperfdata_root"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	c := counts{passed: 1}
	if err := c.addLeft(dir, 0, &out); err != nil {
		t.Fatal(err)
	}
	said := out.String()
	for seconds, cmd := range left {
		if !strings.Contains(said, "sleep "+seconds+"\n") {
			t.Errorf("sleep %s is not named", seconds)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if want := (counts{passed: 1, failed: 4}); c != want || !strings.Contains(said, "LEFT: "+here+"\n") || strings.Contains(said, "1004") {
		t.Errorf("got %v, want %v:\n%s", c, want, said)
	}
	if err := os.Remove(here); err != nil {
		t.Fatal(err)
	}
	c = counts{passed: 1}
	if err := c.addLeft(dir, 0, &out); err != nil || c.failed != 0 {
		t.Errorf("with nothing left: %v, %v", c, err)
	}
}

// begin starts a program that sleeps, and ends it with the test.
func begin(t *testing.T, cmd *exec.Cmd, seconds string) {
	t.Helper()
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args = path, []string{"sleep", seconds}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}
