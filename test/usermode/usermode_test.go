package usermode

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kernel is the program of Debian's package user-mode-linux.
const kernel = "linux.uml"

// tests are the tests to run, by package; all must pass, and none may be skipped.
var tests = map[string]string{
	"isolate": "TestGroup|TestJail|TestKillUser",
	"agent":   "TestAgent_IsolationRequired|TestAgents_ShareUsers|TestAgent_IsolatesWhole|TestAgent_TakesOverWhatIsApart",
}

// With control groups version 2, the limits on memory, processes and users are enforced
// as documented.
func TestIsolation_ControlGroups2(t *testing.T) {
	if _, err := exec.LookPath(kernel); err != nil {
		t.Skipf("%s is missing (Debian package user-mode-linux), so there is no system with control groups of version 2: %v", kernel, err)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can be other users in a system that has this one's files: run this as root")
	}
	dir := t.TempDir()
	programs := filepath.Join(dir, "programs")
	args := []string{"mem=900M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "con=null", "con0=fd:0,fd:1", "quiet", "TESTS=" + programs}
	for name, run := range tests {
		build := exec.Command("go", "test", "-c", "-o", filepath.Join(programs, name+".test"), "github.com/musterhq/muster/agent"+strings.TrimSuffix("/"+name, "/agent"))
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v\n%s", name, err, out)
		}
		args = append(args, "RUN_"+name+"="+run)
	}
	first, err := filepath.Abs("init.sh")
	if err != nil {
		t.Fatal(err)
	}
	out := boot(t, append(args, "init="+first)...)
	if !strings.Contains(out, "usermode: began") {
		t.Skipf("%s does not start on this machine, which must let programs trace each other: %s", kernel, out)
	}
	for name := range tests {
		if !strings.Contains(out, "usermode: "+name+" ended with 0") {
			t.Errorf("the tests of %s did not pass", name)
		}
	}
	for _, sign := range []string{"--- SKIP", "--- FAIL", "no tests to run"} {
		if strings.Contains(out, sign) {
			t.Errorf("the output has %q", sign)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// boot runs a system to its end and returns the output of its first console.
func boot(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	var out bytes.Buffer
	system := exec.CommandContext(ctx, kernel, args...)
	system.Stdout, system.Stderr, system.WaitDelay = &out, &out, 10*time.Second
	if err := system.Run(); err != nil && ctx.Err() != nil {
		t.Errorf("the system did not end by itself: %v", err)
	}
	return out.String()
}
