//go:build linux

package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Enter()
	probe()
	os.Exit(m.Run())
}

// group creates a group, if this machine can.
func group(t *testing.T, l Limits) *Group {
	t.Helper()
	groups, err := Find()
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("%v; run this as root on a machine with control groups", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := groups.Make(fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ToLower(t.Name())), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// self returns the path of this program, which is the launcher of the tests.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// able skips the test if this machine cannot make a jail, in which paths are reached.
func able(t *testing.T, j Jail, paths ...string) {
	t.Helper()
	if err := j.Try(self(t), paths...); errors.Is(err, ErrUnavailable) {
		t.Skipf("%v; run this as root on Linux", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// run runs a shell script in a group and waits for its end.
func run(t *testing.T, g *Group, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = os.Environ()
	return output(t, Jail{Group: g}, cmd)
}

// output runs a command in a jail to its end and returns its output.
func output(t *testing.T, j Jail, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := j.Start(cmd, self(t)); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	return out.String(), err
}

func TestGroup_Memory(t *testing.T) {
	g := group(t, Limits{MemoryMiB: 48})
	out, err := run(t, g, `x=$(head -c 200000000 /dev/zero | tr '\0' x); echo survived ${#x}`)
	if strings.Contains(out, "survived") || g.OOMKills() == 0 {
		t.Errorf("200 MB fit into 48 MiB: %q, %v, %d kills", out, err, g.OOMKills())
	}
}

// A fork bomb stops at its limit, and nothing of it is left after the end.
func TestGroup_ForkBomb(t *testing.T) {
	g := group(t, Limits{Processes: 30})
	out, _ := run(t, g, `i=0; while [ $i -lt 200 ]; do sleep 100 >/dev/null 2>&1 & i=$((i+1)); done; echo made all`)
	if strings.Contains(out, "made all") {
		t.Errorf("200 processes fit into 30: %q", out)
	}
	if n := len(g.processes()); n == 0 {
		t.Error("nothing of the bomb was left to be ended")
	}
	if err := g.Kill(5 * time.Second); err != nil || len(g.processes()) != 0 {
		t.Errorf("after the kill: %v, %d left", err, len(g.processes()))
	}
}

func TestEnter_KeepsArgumentsAndEnvironment(t *testing.T) {
	g := group(t, Limits{})
	out, err := run(t, g, `echo "$0 [$MUSTER_ISOLATE]"`)
	if err != nil || strings.TrimSpace(out) != "/bin/sh []" {
		t.Errorf("the program sees %q, %v", out, err)
	}
}

// Processes that have left their session and parent still end with their user.
func TestKillUser(t *testing.T) {
	const user = 1_900_000_293
	if _, err := jailed(t, Jail{User: user}, `for n in 1 2 3; do setsid sleep 1000 >/dev/null 2>&1 & done`); err != nil {
		t.Fatal(err)
	}
	if n := len(ProcessesOf(user)); n != 3 {
		t.Errorf("%d processes run, want 3", n)
	}
	if err := KillUser(user, 5*time.Second); err != nil || len(ProcessesOf(user)) != 0 {
		t.Errorf("after the kill: %v, %d left", err, len(ProcessesOf(user)))
	}
}
