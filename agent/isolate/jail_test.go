//go:build linux

package isolate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const stranger = 1_900_000_291

// open creates a folder that every user can access.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jail")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// jailed runs a script in a jail, if this machine can make it.
func jailed(t *testing.T, j Jail, script string) (string, error) {
	t.Helper()
	able(t, j, "/bin/sh")
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH")} // the source may be below a folder that is replaced
	out, err := output(t, j, cmd)
	return strings.TrimSpace(out), err
}

// A process of another user has that user's rights and no others, and cannot get
// back.
func TestJail_User(t *testing.T) {
	dir := open(t)
	secret, build := filepath.Join(dir, "secret"), filepath.Join(dir, "build")
	for path, mode := range map[string]os.FileMode{secret: 0o600, build: 0o444} {
		if err := os.WriteFile(path, []byte("content"), mode); err != nil {
			t.Fatal(err)
		}
	}
	out, err := jailed(t, Jail{User: stranger}, `id -u; id -g; id -G
grep NoNewPrivs /proc/self/status | tr -d '\t'; grep CapEff /proc/self/status | tr -d '\t'
cat `+secret+` 2>/dev/null || echo no secret
cat `+build+`; echo
echo x > `+build+` || echo not written
rm -f `+build+` || echo not removed
env | grep -c MUSTER_ISOLATE`)
	for _, want := range []string{"1900000291\n1900000291\n1900000291\n", "NoNewPrivs:1", "CapEff:0000000000000000", "no secret", "content\n", "not written", "not removed"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if !strings.HasSuffix(out, "\n0") {
		t.Error("the order to go into the jail is in its environment")
	}
	if t.Failed() {
		t.Logf("%v:\n%s", err, out)
	}
	if left, err := os.ReadFile(build); err != nil || string(left) != "content" {
		t.Errorf("the build's file is %q, %v", left, err)
	}
}

// What a process writes to its own /tmp is not in ours, and vice versa.
func TestJail_PrivateTemp(t *testing.T) {
	own := open(t)
	if err := os.Chmod(own, 0o777); err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(os.TempDir(), filepath.Base(own)+"-ours")
	if err := os.WriteFile(ours, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(ours)
	out, err := jailed(t, Jail{User: stranger, Mounts: []Mount{{own, "/tmp"}}}, "ls /tmp; echo x > /tmp/theirs && echo written; ls "+ours)
	if err == nil || !strings.HasPrefix(out, "written") {
		t.Errorf("%v, %s; want an empty /tmp that can be written, and none of ours", err, out)
	}
	if _, err := os.Stat("/tmp/theirs"); err == nil {
		t.Error("the file is in the /tmp that all share")
	}
	if _, err := os.Stat(filepath.Join(own, "theirs")); err != nil {
		t.Error(err)
	}
}

// Try works in any working directory, also in one that the jail does not have.
func TestJail_TryFromAnywhere(t *testing.T) {
	j := Jail{Mounts: []Mount{{At: os.TempDir()}}, Keep: []string{self(t)}}
	able(t, j, self(t))
	t.Chdir(t.TempDir())
	if err := j.Try(self(t), self(t)); err != nil {
		t.Errorf("from a folder that is replaced: %v", err)
	}
}

// Try reports a path that the user cannot access.
func TestJail_TryReaches(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := open(t)
	able(t, Jail{User: stranger}, dir)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := Jail{User: stranger}.Try(self(t), dir)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v; want that the folder cannot be reached", err)
	}
	if err := (Jail{}).Try(self(t), dir); err != nil {
		t.Errorf("as ourselves: %v", err)
	}
}
