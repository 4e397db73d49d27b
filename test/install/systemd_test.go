package install

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/ziptest"
)

// The units' own mistakes, and how much of the machine they leave open, by systemd's count
// from 0 to 10. The agent has to be root.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skipf("systemd-analyze is missing (Debian package systemd): %v", err)
	}
	dir := t.TempDir()
	for _, unit := range []struct{ name, threshold string }{{"muster", "20"}, {"muster-agent", "80"}} {
		text, err := os.ReadFile(filepath.Join(deploy(t), "systemd", unit.name+".service"))
		if err != nil {
			t.Fatal(err)
		}
		// The program is not installed here.
		file := filepath.Join(dir, unit.name+".service")
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("/usr/bin/muster"), []byte("/bin/true")), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: verify: %v\n%s", unit.name, err, out)
		}
		if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+unit.threshold, file).CombinedOutput(); err != nil {
			t.Errorf("%s: more is left open than %s tenths: %v\n%s", unit.name, unit.threshold, err, out)
		}
	}
}

// A server and an agent run by their units, in a system where systemd is the first process:
// User Mode Linux with this machine's files. With MUSTER_DEB they come from that Debian
// package, which is removed at the end.
func TestSystemd(t *testing.T) {
	const kernel = "linux.uml"
	for program, of := range map[string]string{kernel: "user-mode-linux", "insmod": "kmod", "switch_root": "util-linux", "curl": "curl", "/lib/systemd/systemd": "systemd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing (Debian package %s), so no system with systemd can be started: %v", program, of, err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root can be other users in a system that has this one's files: run this as root")
	}
	muster, arena := os.Getenv("MUSTER_BIN"), os.Getenv("ARENA_BIN")
	if muster == "" || arena == "" {
		t.Skip("MUSTER_BIN and ARENA_BIN do not name the built programs: run this with make e2e")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	system := exec.CommandContext(ctx, kernel, "mem=1500M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
		"con=null", "con0=fd:0,fd:1", "quiet", "init="+absolute(t, "init.sh"), "CHECK="+absolute(t, "check.sh"),
		"MUSTER="+muster, "BUILD="+packed(t, arena), "DEPLOY="+deploy(t), "DEB="+os.Getenv("MUSTER_DEB"))
	var out bytes.Buffer
	system.Stdout, system.Stderr, system.WaitDelay = &out, &out, 10*time.Second
	err := system.Run()
	text := out.String()
	if !strings.Contains(text, "install: began") {
		t.Skipf("%s does not start on this machine, which must let programs trace each other: %s", kernel, text)
	}
	if !strings.Contains(text, "install: ended") {
		t.Errorf("the checks did not come to their end: %v", err)
	}
	for line := range strings.Lines(text) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "not ok - "); ok {
			t.Errorf("not so: %s", what)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func deploy(t *testing.T) string { return absolute(t, "../../deploy") }

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// packed returns the archive of a build that has a program as server.
func packed(t *testing.T, program string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "build.zip")
	if err := os.WriteFile(name, ziptest.Make(t, map[string]string{"server": string(text)}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
