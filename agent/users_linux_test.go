package agent

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/hosts/protocol"
)

func TestMain(m *testing.M) {
	isolate.Enter() // this program is the launcher of the tests
	os.Exit(m.Run())
}

// reachable creates a root folder and a launcher that every user can access, outside of
// the shared folders for temporary files.
func reachable(t *testing.T) (root, launcher string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give instances users of their own")
	}
	dir, err := os.MkdirTemp("/var/tmp", "muster-agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, process := range worksIn(dir) {
			t.Errorf("process %s is left", process)
		}
		os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	launcher = filepath.Join(dir, "launcher")
	copyProgram(t, launcher)
	return filepath.Join(dir, "root"), launcher
}

// worksIn returns the processes whose working directory is below a folder.
func worksIn(dir string) []string {
	var all []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if here, err := os.Readlink(link); err == nil && strings.HasPrefix(here, dir) {
			all = append(all, filepath.Base(filepath.Dir(link)))
		}
	}
	return all
}

// copyProgram copies the test's own program. A process forked by another test during
// the copy would hold the file open for a moment, so that it could not be executed.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	copied, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(copied, self); err != nil {
		t.Fatal(err)
	}
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
}

// ownerOf returns the number of the user who owns a file or folder, -1 if that is
// unknown.
func ownerOf(path string) int {
	var info unix.Stat_t
	if err := unix.Lstat(path, &info); err != nil {
		return -1
	}
	return int(info.Uid)
}

func has(u jail.Users, uid int) bool { return uid >= u.From && uid <= u.To }

// usersOf returns ten users beginning at a number, or skips the test if this machine
// does not support them.
func usersOf(t *testing.T, launcher string, from int) jail.Users {
	t.Helper()
	if err := (isolate.Jail{User: from}).Try(launcher, "/bin/sh"); err != nil {
		t.Skipf("%v; this machine has no other users", err)
	}
	return jail.Users{From: from, To: from + 9}
}

// curious is a game server that tries what it must not be able to do.
const curious = `#!/bin/sh
{
echo uid=$(id -u) groups=$(id -G)
echo mine > own.txt && echo wrote its folder
echo log > "$GAME_LOG_DIR/game.log" && echo wrote its logs
echo temp > "$TMPDIR/mine" && echo wrote its temp $TMPDIR with $(ls "$TMPDIR" | wc -l) files
{ echo evil >> server.sh; } 2>/dev/null || echo build is read-only
for other in ../../i-*; do ls "$other/game" >/dev/null 2>&1 && echo saw $(basename "$other"); done
cat ../../../credential.json >/dev/null 2>&1 || echo no credential
ls ../../../cache/builds/* >/dev/null 2>&1 || echo no other builds
} > said 2>&1
ln -s ../../../../../secret "$GAME_LOG_DIR/exit.txt"
echo done > done
exec sleep 1000
`

// Instances have their own users: they can write to their own folders, but not to the
// build, each other's folders or the agent's.
func TestAgent_UsersOfTheirOwn(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	secret := filepath.Join(filepath.Dir(home), "secret") // the target of game servers' links
	if err := os.WriteFile(secret, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	users := usersOf(t, launcher, 1_900_000_100)
	if err := os.MkdirAll(filepath.Join(home, "cache"), 0o755); err != nil { // as older agents created it
		t.Fatal(err)
	}
	m.start(home, func(o *Options) { o.Launcher, o.Users = launcher, users })
	b := m.offer(map[string]string{"server.sh": curious, "data/level": "map"})
	one := protocol.ServerProcess{LaunchPath: "/local/game/server.sh", Concurrent: 1}
	m.Assign(want(t, "i-1", b, one), want(t, "i-2", b, one))
	seen := map[string]bool{}
	for _, id := range []string{"i-1", "i-2"} {
		p := m.running(id, 1)[0]
		dir := filepath.Join(home, "instances", id)
		content(t, filepath.Join(dir, "game", "done"))
		said := content(t, filepath.Join(dir, "game", "said"))
		uid, _, _ := strings.Cut(said, " ")
		if seen[uid] || uid == "uid=0" {
			t.Errorf("%s runs as %s, which is not its own", id, uid)
		}
		seen[uid] = true
		number := strings.TrimPrefix(uid, "uid=")
		for _, want := range []string{
			"groups=" + number + "\n", "wrote its folder", "wrote its logs", "wrote its temp /", "with 1 files",
			"build is read-only", "saw " + id, "no credential", "no other builds",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q:\n%s", id, want, said)
			}
		}
		if strings.Count(said, "saw ") != 1 {
			t.Errorf("%s sees into other instances:\n%s", id, said)
		}
		if _, err := os.Stat(filepath.Join(dir, "temp-"+p.ProcessID, "mine")); err != nil {
			t.Error(err)
		}
	}
	kept := m.running("i-1", 1)[0]
	m.Assign(want(t, "i-1", b, one))
	m.Until("the other instance is gone", func() bool { return m.Instance("i-2").Phase == protocol.Gone || m.Instance("i-2").InstanceID == "" })
	left, err := filepath.Glob(filepath.Join(home, "instances", "i-2", "temp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "ours" {
		t.Errorf("through a link in a log folder a file of ours became %q, %v", text, err)
	}
	if m.running("i-1", 1)[0].ProcessID != kept.ProcessID {
		t.Error("the instance that stays was disturbed")
	}
}

// An agent that takes over game servers does not hand over their tree again: it could
// hand over a file that they put in the place of a folder.
func TestAgent_HandsTreeOverOnce(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	users := usersOf(t, launcher, 1_900_000_110)
	isolated := func(o *Options) { o.Launcher, o.Users, o.KeepRunning = launcher, users, true }
	a := m.start(home, isolated)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": patient, "data/level": "map"}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1})
	m.Assign(w)
	kept := m.running("i-1", 1)[0]
	game := filepath.Join(home, "instances", "i-1", "game")
	for _, dir := range []string{game, filepath.Join(game, "data")} {
		if !has(users, ownerOf(dir)) {
			t.Errorf("%s belongs to %d, want one of %v", dir, ownerOf(dir), users)
		}
	}
	a.stop()
	ours := filepath.Join(game, "ours")
	if err := os.Mkdir(ours, 0o755); err != nil {
		t.Fatal(err)
	}
	m.Forget()
	m.start(home, isolated)
	m.Until("the tree is looked after again", func() bool { return m.Instance("i-1").Phase == protocol.Activating })
	if list := m.running("i-1", 1); list[0].ProcessID != kept.ProcessID {
		t.Errorf("%+v runs, want %+v", list[0], kept)
	}
	if owner := ownerOf(ours); owner != 0 {
		t.Errorf("a folder of ours in the tree was given to %d", owner)
	}
	m.Assign()
	m.Until("the game server is gone", func() bool { return len(m.Exits) == 1 })
}

// Agents on one machine share users: none gets a user of another, and the users of an
// agent whose folder is gone are free again.
func TestAgents_ShareUsers(t *testing.T) {
	t.Parallel()
	m, other := play(t), play(t)
	home, launcher := reachable(t)
	elsewhere, _ := reachable(t)
	users := usersOf(t, launcher, 1_900_000_160)
	users.To = users.From + 1
	shared := func(o *Options) { o.Launcher, o.Users, o.UserClaims = launcher, users, home+"-claims" }
	one := protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}
	owner := func(home, id string) int { return ownerOf(filepath.Join(home, "instances", id, "game")) }

	m.start(home, shared)
	build := m.offer(map[string]string{"server.sh": patient})
	m.Assign(want(t, "i-1", build, one))
	m.running("i-1", 1)
	a := other.start(elsewhere, shared)
	b := other.offer(map[string]string{"server.sh": patient})
	other.Assign(want(t, "i-2", b, one))
	other.running("i-2", 1)
	if first, second := owner(home, "i-1"), owner(elsewhere, "i-2"); first == second || !has(users, first) || !has(users, second) {
		t.Errorf("the instances of two agents have users %d and %d of %v", first, second, users)
	}
	other.Assign(want(t, "i-2", b, one), want(t, "i-3", b, one))
	other.Until("the third instance fails", func() bool { return other.Instance("i-3").Phase == protocol.Failed })
	if cause := other.Instance("i-3").Cause; !strings.Contains(cause, "no user is left") {
		t.Errorf("the third instance fails because of %q", cause)
	}

	freed := owner(elsewhere, "i-2")
	other.Assign()
	other.Until("the others are gone", func() bool {
		return other.Instance("i-2").Phase == protocol.Gone && other.Instance("i-3").Phase == protocol.Gone
	})
	a.stop()
	if err := os.RemoveAll(elsewhere); err != nil {
		t.Fatal(err)
	}
	m.Assign(want(t, "i-4", build, one))
	m.running("i-4", 1)
	if now := owner(home, "i-4"); now != freed {
		t.Errorf("the next instance has user %d, want %d, which is free again", now, freed)
	}
}

// An instance that had its own user is never launched as the agent's.
func TestAgent_KeepsToUsers(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	users := usersOf(t, launcher, 1_900_000_120)
	a := m.start(home, func(o *Options) { o.Launcher, o.Users, o.KeepRunning = launcher, users, true })
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	m.running("i-1", 1)
	a.stop()
	m.Forget()
	m.start(home, func(o *Options) { o.Launcher, o.Users = "/bin/false", users })
	m.Until("it is looked after again", func() bool { return m.Instance("i-1").Phase == protocol.Activating })
	kept := m.running("i-1", 1)[0]
	m.Send(protocol.Message{Kill: &protocol.Kill{InstanceID: "i-1", ProcessID: kept.ProcessID}})
	var next protocol.Exited
	m.Until("it ended, and something came of the next", func() bool {
		if len(m.Exits) < 2 {
			return len(m.Instance("i-1").Processes) == 1 && m.Instance("i-1").Processes[0].ProcessID != kept.ProcessID
		}
		next = m.Exits[1]
		return true
	})
	if want := "which this agent cannot become"; !strings.Contains(next.Cause, want) {
		t.Errorf("the next one is reported as %q, want %q", next.Cause, want)
	}
}

// leaving is a game server that leaves processes and files behind.
const leaving = `#!/bin/sh
setsid sleep 1000 >/dev/null 2>&1 &
echo "$$" > "/var/tmp/muster-left-$GAMELIFT_SDK_PROCESS_ID"
echo done > done
exec sleep 1000
`

// When an instance ends, what its user left on the machine is removed, and its folder
// once its logs are no longer kept; the next instance has another user.
func TestAgent_DismissesUsers(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	users := usersOf(t, launcher, 1_900_000_130)
	m.start(home, func(o *Options) { o.Launcher, o.Users, o.keepLogs = launcher, users, time.Millisecond })
	b := m.offer(map[string]string{"server.sh": leaving})
	seen := map[int]bool{}
	for _, id := range []string{"i-1", "i-2", "i-3"} {
		m.Assign(want(t, id, b, protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
		p := m.running(id, 1)[0]
		dir := filepath.Join(home, "instances", id)
		content(t, filepath.Join(dir, "game", "done"))
		uid := ownerOf(filepath.Join(dir, "game"))
		if seen[uid] || !has(users, uid) {
			t.Errorf("%s has user %d, of another one before or of none of %v", id, uid, users)
		}
		seen[uid] = true
		m.Assign()
		m.Until("the instance is gone", func() bool { return m.Instance(id).InstanceID == "" })
		if left := isolate.ProcessesOf(uid); len(left) > 0 {
			t.Errorf("processes %v of %s are left", left, id)
		}
		if _, err := os.Lstat("/var/tmp/muster-left-" + p.ProcessID); err == nil {
			t.Errorf("a file of %s is left", id)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("the folder of %s is left", id)
		}
	}
}
