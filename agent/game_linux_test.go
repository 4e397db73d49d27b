package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/hosts/protocol"
)

// hardcoded is an install script as those of Amazon's samples: it names the build by the path that
// it has on Amazon's hosts.
const hardcoded = `set -e
cd /local/game
chmod +x /local/game/server.sh
mkdir -p /local/game/logs
cat /local/game/name > /local/game/made
id -u > /local/game/script
for place in / /local /usr /etc /var; do (echo x > $place/muster-was-here) 2>/dev/null && echo wrote $place >> /local/game/script; done
exit 0
`

// logging is a game server that does the same. It writes what it found to its log, whose path is
// its parameter.
const logging = `#!/bin/sh
export LC_ALL=C
{
cat /local/game/name /local/game/made
[ /local/game/server.sh -ef "$HOME/server.sh" ] && echo is its folder
ls /local
{ echo evil >> /local/game/server.sh; } 2>/dev/null || echo file is read-only
for place in / /local /usr /etc /var; do (echo x > $place/muster-was-here) 2>/dev/null && echo wrote $place; done
echo temp > /local/game/own.txt && echo wrote its folder
[ "$(ls -A / | sort)" = "$(cat "$HOME/root")" ] && echo sees the machine
} > "$1" 2>&1
echo done > "$HOME/done"
exec sleep 1000
`

// rootless skips the test where the machine has no /local to be left alone, or it is not root.
func rootless(t *testing.T, launcher string) {
	t.Helper()
	if _, err := os.Lstat("/local"); !errors.Is(err, fs.ErrNotExist) {
		t.Skip("this machine has a folder /local")
	}
	if err := jail.New(jail.Options{Root: t.TempDir(), Launcher: launcher}).GameFolder(); err != nil {
		t.Skipf("%v; run this as root on Linux with the right to make namespaces and mounts", err)
	}
}

// untouched checks that nothing was written to the machine.
func untouched(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/local", "/muster-was-here", "/usr/muster-was-here", "/etc/muster-was-here", "/var/muster-was-here"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is on this machine", path)
			os.RemoveAll(path)
		}
	}
}

// roots returns what is in the root of the machine, and /local.
func roots(t testing.TB) string {
	t.Helper()
	entries, err := os.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	names, added := "", false
	for _, e := range entries {
		if !added && e.Name() > "local" {
			names, added = names+"local\n", true
		}
		names += e.Name() + "\n"
	}
	return names
}

// named returns a build with a name whose script and program name /local/game.
func (m *muster) named(name string) map[string]string {
	return map[string]string{"install.sh": hardcoded, "server.sh": logging, "name": name + "\n", "root": roots(m.TB)}
}

// Install scripts and programs see their own build at /local/game, each instance another one, and
// may write there what they may write in its folder. The machine's /local is not touched.
func TestAgent_GameFolder(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	rootless(t, launcher)
	users := usersOf(t, launcher, 1_900_000_300)
	m.start(home, func(o *Options) { o.Launcher, o.Users = launcher, users })
	program := protocol.ServerProcess{LaunchPath: "/local/game/server.sh", Parameters: "/local/game/logs/server.log", Concurrent: 1}
	m.Assign(want(t, "i-1", m.offer(m.named("chess")), program), want(t, "i-2", m.offer(m.named("go")), program))
	for id, name := range map[string]string{"i-1": "chess", "i-2": "go"} {
		m.running(id, 1)
		game := filepath.Join(home, "instances", id, "game")
		content(t, filepath.Join(game, "done"))
		said := content(t, filepath.Join(game, "logs", "server.log"))
		if want := name + "\n" + name + "\nis its folder\ngame\nfile is read-only\nwrote its folder\nsees the machine\n"; said != want {
			t.Errorf("the program of %s says\n%swant\n%s", id, said, want)
		}
		if script := content(t, filepath.Join(game, "script")); strings.Count(script, "\n") != 1 || script == "0\n" {
			t.Errorf("the script of %s says %q", id, script)
		}
	}
	untouched(t)
}

// As with muster local by root: install scripts are isolated although instances are not, and both
// see the build at /local/game.
func TestAgent_ScriptUsers(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	rootless(t, launcher)
	users := usersOf(t, launcher, 1_900_000_320)
	m.start(home, func(o *Options) {
		o.Launcher, o.ScriptUsers, o.UserClaims = launcher, users, filepath.Join(home, "users")
	})
	build := m.named("chess")
	build["server.sh"] = "#!/bin/sh\ncat /local/game/made > /local/game/logs/said; id -u >> /local/game/logs/said; echo done > done\nexec sleep 1000\n"
	m.Assign(want(t, "i-1", m.offer(build), protocol.ServerProcess{LaunchPath: "/local/game/server.sh", Concurrent: 1}))
	m.running("i-1", 1)
	game := filepath.Join(home, "instances", "i-1", "game")
	content(t, filepath.Join(game, "done"))
	if said := content(t, filepath.Join(game, "logs", "said")); said != "chess\n0\n" {
		t.Errorf("the program says %q", said)
	}
	script := content(t, filepath.Join(game, "script"))
	if !strings.HasPrefix(script, "1900000") || strings.Count(script, "\n") != 1 {
		t.Errorf("the script says %q, want a user of %v alone", script, users)
	}
	untouched(t)
}

// Where nothing can be isolated, a script that must not run as root does not run at all, and the
// agent works on.
func TestAgent_ScriptUsers_Unavailable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run this as root")
	}
	m := play(t)
	home, _ := reachable(t)
	m.start(home, func(o *Options) { // what isolates cannot be started
		o.Launcher, o.ScriptUsers, o.UserClaims = "/bin/false", jail.Users{From: 1_900_000_340, To: 1_900_000_349}, filepath.Join(home, "users")
	})
	m.Assign(want(t, "i-1", m.offer(m.named("chess")), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	m.Until("the instance fails", func() bool { return m.Instance("i-1").Phase == protocol.Failed })
	if i := m.Instance("i-1"); i.Code != "FLEET_CREATION_FAILED_INSTALLER" || !strings.Contains(i.Cause, "install.sh would run as root") || !strings.Contains(i.Cause, "CAP_SYS_ADMIN") {
		t.Errorf("it failed with %s: %s", i.Code, i.Cause)
	}
	if err := jail.New(jail.Options{Root: home, Launcher: "/bin/false"}).GameFolder(); err == nil || !strings.Contains(err.Error(), isolate.GameFolder+" does not exist for game servers and install scripts: ") {
		t.Errorf("without namespaces: %v", err)
	}
	untouched(t)
}
