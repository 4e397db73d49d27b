package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// visiting is an install script that tries what it must not be able to do.
const visiting = `#!/bin/sh -eu
{
echo uid=$(id -u) groups=$(id -G) in $(basename "$(pwd)")
echo built > data/made && echo changed >> data/level && rm data/old && echo wrote the build
mkdir more && ln -s ../data/level more/link && chmod 4755 data/level
echo temp > "$TMPDIR/mine" && echo wrote its temp
cat ../../credential.json >/dev/null 2>&1 || echo no credential
ls ../../cache >/dev/null 2>&1 || echo no cache
{ echo x > ../evil; } 2>/dev/null || { echo x > ../../evil; } 2>/dev/null || echo nothing beside it
} > said 2>&1
setsid sleep 1000 >/dev/null 2>&1 &
echo left > "/var/tmp/muster-guest-$(id -u)"
`

// An install script has its own user: it can write only to the build's folder, no
// process or file of it is left elsewhere, and what it created belongs to the agent and
// is read-only.
func TestAgent_InstallScriptIsAGuest(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	users := usersOf(t, launcher, 1_900_000_140)
	users.To = users.From + 2
	a := m.start(home, func(o *Options) { o.Launcher, o.Users = launcher, users })
	b := m.offer(map[string]string{"server.sh": patient, "install.sh": visiting, "data/level": "map", "data/old": "old"})
	m.Assign(want(t, "i-1", b, protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	m.running("i-1", 1)

	build := filepath.Join(home, "cache", "builds", b.SHA256)
	said := content(t, filepath.Join(build, "said"))
	first, _, _ := strings.Cut(said, " ")
	number := strings.TrimPrefix(first, "uid=")
	for _, want := range []string{"groups=" + number + " in " + b.SHA256 + ".new", "wrote the build", "wrote its temp", "no credential", "no cache", "nothing beside it"} {
		if !strings.Contains(said, want) {
			t.Errorf("the script does not say %q:\n%s", want, said)
		}
	}
	for _, name := range []string{".", "data", "data/made", "data/level", "more/link", "said"} {
		if owner := ownerOf(filepath.Join(build, name)); owner != 0 {
			t.Errorf("%s belongs to %d in the shared build", name, owner)
		}
	}
	if info, err := os.Stat(filepath.Join(build, "data", "level")); err != nil || info.Mode() != 0o555 {
		t.Errorf("a file that the script gave more rights is %v, %v; want 0555", info.Mode(), err)
	}
	if text := content(t, filepath.Join(home, "instances", "i-1", "game", "more", "link")); text != "mapchanged\n" {
		t.Errorf("the instance finds %q", text)
	}
	uid := ownerOf(filepath.Join(home, "instances", "i-1", "game"))
	if !has(users, uid) || first == "uid=0" {
		t.Errorf("the script ran as %s, the instance has user %d", first, uid)
	}
	if _, err := os.Lstat("/var/tmp/muster-guest-" + number); err == nil {
		t.Error("a file of the script is left")
	}
	for n := users.From; n <= users.To; n++ {
		if left := isolate.ProcessesOf(n); n != uid && len(left) > 0 {
			t.Errorf("processes %v of user %d are left", left, n)
		}
	}
	if left, err := os.ReadDir(a.machine.Jailer.Staging()); err != nil || len(left) > 0 {
		t.Errorf("%d files are left where builds are installed, %v", len(left), err)
	}
	other := m.offer(map[string]string{"server.sh": patient, "install.sh": visiting, "data/level": "map", "data/old": "old", "other": ""})
	one := protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}
	m.Assign(want(t, "i-1", b, one), want(t, "i-2", other, one)) // takes three users: the guests' must be free again
	m.running("i-2", 1)
}

// asUser starts a program that sleeps, as the given user.
func asUser(t *testing.T, launcher string, uid int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "1000")
	if err := (isolate.Jail{User: uid}).Start(cmd, launcher); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	wait.Until(t, "it has changed its user", func() bool { return len(isolate.ProcessesOf(uid)) > 0 })
	return cmd
}

// What a killed agent left of an installation is removed when the next agent starts.
func TestAgent_ClearsStaging(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	users := usersOf(t, launcher, 1_900_000_150)
	left := filepath.Join(home, "staging", "sha.new")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(left, users.From, users.From); err != nil {
		t.Fatal(err)
	}
	script := asUser(t, launcher, users.From)
	m.start(home, func(o *Options) { o.Launcher, o.Users = launcher, users })
	if err := script.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the script that was left ended with %v", err)
	}
	m.Until("it works", func() bool { return m.Hellos > 0 })
	if _, err := os.Stat(left); err == nil {
		t.Error("the folder is left")
	}
}
