package scenario

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/wait"
)

// lab is a network of machines: network namespaces on one bridge, whose own address
// is this machine's. It is removed with the test.
type lab struct {
	t       *testing.T
	name    string     // of the bridge; machines add a number
	address netip.Addr // of the bridge
	count   int        // number of machines so far
}

var labs atomic.Int32

// newLab returns a lab. It skips the test if namespaces cannot be created.
func newLab(t *testing.T) *lab {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("machines are network namespaces, and only root can make those: run this as root")
	}
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is missing (Debian packages iproute2 and util-linux): machines are network namespaces", tool)
		}
	}
	l := &lab{t: t, name: fmt.Sprintf("mu%x-%d", os.Getpid(), labs.Add(1)), address: unusedNetwork(t)}
	if out, err := exec.Command("ip", "link", "add", l.name, "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("this system makes no bridge, so there is no network of machines: %v: %s", err, out)
	}
	t.Cleanup(func() { l.ip("link", "del", l.name) })
	l.ip("addr", "add", l.address.String()+"/24", "dev", l.name)
	l.ip("link", "set", l.name, "up")
	return l
}

// unusedNetwork returns the first address of a private network that this machine does
// not use.
func unusedNetwork(t *testing.T) netip.Addr {
	t.Helper()
	known, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 256 {
		a := netip.AddrFrom4([4]byte{10, 231, byte(os.Getpid() + int(labs.Load()) + n), 1})
		taken := false
		for _, k := range known {
			taken = taken || k.(*net.IPNet).Contains(a.AsSlice())
		}
		if !taken {
			return a
		}
	}
	t.Skip("all networks of 10.231.0.0/16 are in use on this machine")
	return netip.Addr{}
}

// ip runs the ip command of iproute2.
func (l *lab) ip(args ...string) {
	l.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.t.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// machine is one host: a namespace with an address and a folder for its agent.
type machine struct {
	lab           *lab
	name, address string
	root          string
	agent         *exec.Cmd
}

// machine adds a host to the network.
func (l *lab) machine() *machine {
	l.t.Helper()
	l.count++
	at := l.address.As4()
	at[3] = byte(1 + l.count)
	m := &machine{lab: l, name: fmt.Sprintf("%s-%d", l.name, l.count), address: netip.AddrFrom4(at).String(), root: filepath.Join(l.t.TempDir(), "agent")}
	l.ip("netns", "add", m.name)
	l.ip("link", "add", m.name, "type", "veth", "peer", "name", "eth0", "netns", m.name)
	l.t.Cleanup(m.remove)
	l.ip("link", "set", m.name, "master", l.name, "up")
	l.ip("-n", m.name, "addr", "add", m.address+"/24", "dev", "eth0")
	l.ip("-n", m.name, "link", "set", "eth0", "up")
	l.ip("-n", m.name, "link", "set", "lo", "up")
	return m
}

// command returns a program on the machine. Only the network is separate: files and
// control groups are this system's.
func (m *machine) command(path string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + m.name, path}, args...)...)
}

// cut disconnects the machine from the network, like a pulled cable; plug reconnects
// it.
func (m *machine) cut()  { m.lab.ip("link", "set", m.name, "down") }
func (m *machine) plug() { m.lab.ip("link", "set", m.name, "up") }

// die kills every process on the machine.
func (m *machine) die() {
	defer m.reap()
	wait.For(m.lab.t, "no process is on "+m.name, func() error {
		left := m.pids()
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL) // a process that is gone already is fine
		}
		if len(left) > 0 { // or more: a fork may have happened in between
			return fmt.Errorf("there are %d", len(left))
		}
		return nil
	})
}

// pids returns the processes on the machine.
func (m *machine) pids() []int {
	out, err := exec.Command("ip", "netns", "pids", m.name).Output()
	if err != nil {
		m.lab.t.Errorf("ip netns pids %s: %v", m.name, err)
		return nil
	}
	var all []int
	for _, word := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(word); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// states returns how many processes of each program and state are on the machine, for the report of a failure.
func (m *machine) states() string {
	counts := map[string]int{}
	for _, pid := range m.pids() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if at := strings.LastIndexByte(string(text), ')'); err == nil && at > 0 && at+3 <= len(text) {
			_, name, _ := strings.Cut(string(text[:at+3]), " ")
			counts[name]++
		}
	}
	return fmt.Sprint(counts)
}

// killAgent kills only the agent, like a crash.
func (m *machine) killAgent() {
	m.agent.Process.Kill()
	m.reap()
}

func (m *machine) reap() {
	if m.agent != nil {
		m.agent.Wait()
		m.agent = nil
	}
}

// remove removes the machine, including what its agent had no time to remove.
func (m *machine) remove() {
	m.die()
	m.lab.ip("netns", "del", m.name)
	runs, _ := filepath.Glob(filepath.Join(m.root, "instances", "*", "logs", "of-*"))
	for _, run := range runs {
		id := strings.TrimPrefix(filepath.Base(run), "of-")
		groups, _ := filepath.Glob("/sys/fs/cgroup/*/muster/" + id)
		for _, group := range append(groups, "/sys/fs/cgroup/muster/"+id) {
			os.Remove(group) // most are gone
		}
	}
}
