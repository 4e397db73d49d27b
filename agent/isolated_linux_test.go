package agent

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/hosts/protocol"
)

// prying is a game server that explores the machine: other processes, folders, how to
// gain privileges, what it can connect to at PORTS, and the files of its certificate.
const prying = `#!/bin/bash
{
cd /proc; for n in [0-9]*; do tr '\0' ' ' <$n/cmdline; echo; done >$HOME/processes 2>/dev/null; cd $HOME
grep -E 'Seccomp:|NoNewPrivs' /proc/self/status | tr -d '\t'
unshare -U true 2>/dev/null || echo no namespaces
for dir in HIDDEN; do [ -z "$(ls $dir 2>/dev/null)" ] || echo sees $dir; done
for to in 169.254.169.254/80 PORTS; do (exec 3<>/dev/tcp/$to) 2>&1 | grep -q 'not permitted' && echo refused $to || echo open $to; done
} > said 2>&1
{
for name in certificate certificateChain privateKey rootCertificate; do head -n 1 ../certificates/$name.pem; done
touch ../certificates/privateKey.pem ../certificates/other 2>/dev/null || echo refused
} > certificates 2>&1
echo done > done
exec sleep 1000
`

// parting is a game server that starts a process which outlives it, and that ends on
// SIGTERM if its parameter says so.
const parting = `#!/bin/sh
setsid sleep 1000 &
[ "$1" != handles ] || trap 'echo saved > saved; exit 0' TERM
echo done > done
while :; do sleep 1 & wait $!; done
`

// whole starts an agent with all parts of isolation, or skips the test if this machine
// does not support them.
func whole(t *testing.T, m *muster, from int) (home string, a agentUnderTest, again func() agentUnderTest) {
	t.Helper()
	home, launcher := reachable(t)
	change := func(o *Options) {
		o.Launcher, o.Users, o.KeepRunning = launcher, usersOf(t, launcher, from), true
	}
	a = m.start(home, change)
	m.Until("it has joined", func() bool { return m.Joins > 0 })
	if held := a.machine.Jailer.Held(); len(held) < 5 {
		t.Skipf("this machine allows isolation of %v alone; run this as root on Linux with control groups of version 2", held)
	}
	return home, a, func() agentUnderTest { return m.start(home, change) }
}

// A Jailer finds the same as an agent does, and leaves nothing behind.
func TestJailer_FindsWhatAgentsFind(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	users := jail.Users{From: 1_900_000_230, To: 1_900_000_234}
	a := m.start(home, func(o *Options) { o.Launcher, o.Users = launcher, users })
	m.Until("it has joined", func() bool { return m.Joins > 0 })
	other, _ := reachable(t)
	found := jail.New(jail.Options{Root: other, Launcher: launcher, Users: users, Claims: filepath.Join(other, "claims")})
	lacks := found.Find()
	held := found.Held()
	if want := a.machine.Jailer.Held(); !slices.Equal(held, want) {
		t.Errorf("held to %v, an agent says %v", held, want)
	}
	if all := 5; (len(held) == all) != (len(lacks) == 0) {
		t.Errorf("held to %v, and lacks %v", held, lacks)
	}
	for _, lack := range lacks {
		if lack.Cause == "" || lack.Remedy == "" {
			t.Errorf("%+v says too little", lack)
		}
	}
	below := t.TempDir()
	jail.New(jail.Options{Root: below, Launcher: launcher, Users: users, Claims: filepath.Join(other, "claims")}).Find()
	if left, err := filepath.Glob(filepath.Join(below, "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("with a root below /tmp it leaves %q, %v", left, err)
	}
	if lacks := jail.New(jail.Options{Root: other, Launcher: "/nowhere/muster", Users: users, Claims: filepath.Join(other, "claims")}).Find(); len(lacks) == 0 {
		t.Error("isolation works without the program that makes it")
	}
}

// A game server sees only its own processes and few folders, cannot gain privileges,
// and can reach Muster, but neither other services of the machine nor metadata services
// of clouds. It reads its certificate and key, and cannot change them.
func TestAgent_IsolatesWhole(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, _, _ := whole(t, m, 1_900_000_170)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	sdk := strings.TrimPrefix(m.URL, "http://")
	ports := strings.ReplaceAll(sdk+" "+other.Addr().String(), ":", "/")
	script := strings.NewReplacer("HIDDEN", "/root /home /var/log "+filepath.Join(home, "cache"), "PORTS", ports).Replace(prying)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": script}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1})
	w.SDKURL, w.Certificate = "ws://"+sdk, &protocol.Certificate{IPAddress: "192.0.2.1"}
	m.Assign(w)
	m.running("i-1", 1)
	game := filepath.Join(home, "instances", "i-1", "game")
	content(t, filepath.Join(game, "done"))
	said := content(t, filepath.Join(game, "said"))
	to := strings.Fields(ports)
	want := fmt.Sprintf("NoNewPrivs:1\nSeccomp:2\nno namespaces\nrefused 169.254.169.254/80\nopen %s\nrefused %s\n", to[0], to[1])
	if said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	if text := content(t, filepath.Join(game, "certificates")); strings.Count(text, "BEGIN CERTIFICATE") != 3 || strings.Count(text, "BEGIN PRIVATE KEY") != 1 || !strings.Contains(text, "refused") {
		t.Errorf("of its certificate it says %s", text)
	}
	for _, line := range strings.Split(content(t, filepath.Join(game, "processes")), "\n") {
		if line != "" && !strings.HasPrefix(line, "muster-first") && !strings.Contains(line, "server.sh") && !strings.HasPrefix(line, "tr ") {
			t.Errorf("it sees the process %q", line)
		}
	}
	m.Assign()
	m.Until("the instance is gone", func() bool { return m.Instance("i-1").Phase == protocol.Gone })
}

// An isolated process is found again by the next agent, is stopped like any other, and
// ends with everything that it started.
func TestAgent_TakesOverWhatIsApart(t *testing.T) {
	t.Parallel()
	for n, c := range []struct {
		name, parameter, signal string
		stop                    func(m *muster, p protocol.Process) error
	}{
		{"handles the signal", "handles", "", nil},
		{"has no handler", "", "SIGTERM", nil},
		{"crashes", "", "SIGSEGV", func(_ *muster, p protocol.Process) error { return syscall.Kill(p.PID, unix.SIGSEGV) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := play(t)
			home, a, again := whole(t, m, 1_900_000_180+10*n)
			w := want(t, "i-1", m.offer(map[string]string{"server.sh": parting}), protocol.ServerProcess{LaunchPath: "server.sh", Parameters: c.parameter, Concurrent: 1})
			m.Assign(w)
			kept := m.running("i-1", 1)[0]
			game := filepath.Join(home, "instances", "i-1", "game")
			content(t, filepath.Join(game, "done"))
			uid := ownerOf(game)
			a.stop()
			m.Forget()
			again()
			m.Until("the process is known again", func() bool { return contains(m.Instance("i-1").Processes, kept.ProcessID) })
			if now := m.running("i-1", 1)[0]; now.PID != kept.PID {
				t.Errorf("process %d is there, want %d", now.PID, kept.PID)
			}
			if c.stop != nil {
				if err := c.stop(m, kept); err != nil {
					t.Fatal(err)
				}
			} else {
				w.Stop, w.StopBy = protocol.Drain, time.Now().Add(softStop)
				m.Assign(w)
			}
			m.Until("its end is reported", func() bool { return len(m.Exits) > 0 })
			if e := m.Exits[0]; e.ProcessID != kept.ProcessID || !e.Known || e.Signal != c.signal || c.signal == "" && e.Code != 0 {
				t.Errorf("its end is reported as %+v, want by %q", e, c.signal)
			}
			if c.parameter == "handles" {
				if _, err := os.Stat(filepath.Join(game, "saved")); err != nil {
					t.Errorf("it could not end by itself: %v", err)
				}
			}
			m.Assign()
			m.Until("the instance is gone", func() bool { return m.Instance("i-1").Phase == protocol.Gone })
			if left := isolate.ProcessesOf(uid); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}
