package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a test leaves is found by its folder for temporary files: processes by their
// environment, working directory, program or first argument, and files. A process that has
// ended is not left, even before its parent knows.
func TestAddLeft(t *testing.T) {
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
		begin(t, cmd, "sleep", seconds)
	}
	begin(t, other, "sleep", "1004")
	// As agents start game servers: without the environment of the tests.
	program, script := filepath.Join(here, "game"), filepath.Join(here, "game.sh")
	sleep, err := os.ReadFile(look(t, "sleep"))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{program: sleep, script: []byte("read never\n")} {
		if err := os.WriteFile(file, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	input, silent, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer silent.Close()
	left["1005"] = &exec.Cmd{Path: program, Env: []string{}, Dir: elsewhere}
	left["1006"] = &exec.Cmd{Stdin: input, Env: []string{}, Dir: elsewhere}
	begin(t, left["1005"], "sleep", "1005")
	begin(t, left["1006"], "sh", script, "1006")
	ended := &exec.Cmd{Env: []string{"TMPDIR=" + dir}, Dir: elsewhere}
	begin(t, ended, "sleep", "0.1007")
	if err := unix.Waitid(unix.P_PID, ended.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
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
		if !strings.Contains(said, seconds+"\n") {
			t.Errorf("sleep %s is not named", seconds)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if want := (counts{passed: 1, failed: len(left) + 1}); c != want || !strings.Contains(said, "LEFT: "+here+"\n") || strings.Contains(said, "1004") || strings.Contains(said, "1007") {
		t.Errorf("got %v, want %v:\n%s", c, want, said)
	}
	if err := os.RemoveAll(here); err != nil {
		t.Fatal(err)
	}
	c = counts{passed: 1}
	if err := c.addLeft(dir, 0, &out); err != nil || c.failed != 0 {
		t.Errorf("with nothing left: %v, %v", c, err)
	}
}

// begin starts a program in the folder and environment of cmd, the one of its name unless cmd
// has another, and ends it with the test.
func begin(t *testing.T, cmd *exec.Cmd, args ...string) {
	t.Helper()
	if cmd.Path == "" {
		cmd.Path = look(t, args[0])
	}
	cmd.Args = args
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func look(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
