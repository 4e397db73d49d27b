//go:build linux

package isolate

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// probeVariable names a probe: if set, the test program runs the probe and prints its
// result.
const probeVariable = "MUSTER_TEST_PROBE"

// probe runs in jails.
func probe() {
	name, argument, _ := strings.Cut(os.Getenv(probeVariable), " ")
	switch name {
	case "":
		return
	case "send":
		for _, to := range strings.Fields(argument) {
			fmt.Println(to, send(to))
		}
	case "calls":
		for name, call := range calls {
			fmt.Println(name, call())
		}
	}
	os.Exit(0)
}

// send connects or sends to NETWORK:ADDRESS and returns whether that was allowed.
func send(to string) string {
	network, address, _ := strings.Cut(to, ":")
	var conn net.Conn
	var err error
	if network == "packet" { // an unconnected socket
		var local *net.UDPConn
		if local, err = net.ListenUDP("udp", nil); err == nil {
			where, _ := net.ResolveUDPAddr("udp", address)
			_, err = local.WriteTo([]byte("x"), where)
		}
	} else if conn, err = net.DialTimeout(network, address, time.Second); err == nil {
		conn.Close()
	}
	if errors.Is(err, unix.EPERM) {
		return "refused"
	}
	if err == nil {
		return "sent"
	}
	return "tried: " + err.Error()
}

// calls are system calls with harmless arguments.
var calls = map[string]func() syscall.Errno{
	"unshare-user": func() syscall.Errno { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
	"unshare-fs":   func() syscall.Errno { return call(unix.SYS_UNSHARE, unix.CLONE_FS) },
	"setns":        func() syscall.Errno { return call(unix.SYS_SETNS, ^uintptr(0)) },
	"clone-user":   func() syscall.Errno { return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_THREAD) }, // EINVAL without a filter
	"clone3":       func() syscall.Errno { return call(unix.SYS_CLONE3) },
	"mount":        func() syscall.Errno { return call(unix.SYS_MOUNT) },
	"bpf":          func() syscall.Errno { return call(unix.SYS_BPF, ^uintptr(0)) },
	"keyctl":       func() syscall.Errno { return call(unix.SYS_KEYCTL, ^uintptr(0)) },
	"perf":         func() syscall.Errno { return call(unix.SYS_PERF_EVENT_OPEN) },
	"userfaultfd":  func() syscall.Errno { return call(unix.SYS_USERFAULTFD, ^uintptr(0)) },
	"io_uring":     func() syscall.Errno { return call(unix.SYS_IO_URING_SETUP) },
	"handle":       func() syscall.Errno { return call(unix.SYS_OPEN_BY_HANDLE_AT) },
	"ptrace":       func() syscall.Errno { return call(unix.SYS_PTRACE, unix.PTRACE_PEEKDATA, 1<<30) },
	"vsock":        func() syscall.Errno { return call(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM) },
	"sctp":         func() syscall.Errno { return call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP) },
	"tcp":          func() syscall.Errno { return call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP) },
	"udp":          func() syscall.Errno { return call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM) },
	"unix":         func() syscall.Errno { return call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM) },
	"netlink":      func() syscall.Errno { return call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
	"x32":          func() syscall.Errno { return call(0x40000000 + unix.SYS_GETPID) },
}

func call(number uintptr, arguments ...uintptr) syscall.Errno {
	a := append(arguments, 0, 0, 0, 0, 0, 0)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}

// probed runs a probe in a jail and returns its results, by the first word.
func probed(t *testing.T, j Jail, what string) map[string]string {
	t.Helper()
	j.Mounts, j.Keep = append(j.Mounts, Mount{At: os.TempDir()}), append(j.Keep, self(t))
	able(t, j, self(t))
	cmd := exec.Command(self(t))
	cmd.Dir, cmd.Env = "/", []string{probeVariable + "=" + what}
	out, err := output(t, j, cmd)
	if err != nil {
		t.Fatalf("the probe ended with %v: %s", err, out)
	}
	all := map[string]string{}
	for line := range strings.Lines(out) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = result
	}
	return all
}

// The filter denies what only the machine's administrator needs, and nothing that
// games use.
func TestJail_Filter(t *testing.T) {
	got := probed(t, Jail{User: stranger, Filter: true}, "calls")
	eperm := unix.EPERM.Error()
	want := map[string]string{
		"unshare-fs": "errno 0", "tcp": "errno 0", "udp": "errno 0", "unix": "errno 0", "netlink": "errno 0",
		"clone3": unix.ENOSYS.Error(), "vsock": unix.EAFNOSUPPORT.Error(), "sctp": unix.EPROTONOSUPPORT.Error(),
	}
	for name := range calls {
		if want[name] == "" {
			want[name] = eperm
		}
	}
	if runtime.GOARCH == "amd64" {
		want["x32"] = unix.ENOSYS.Error()
	} else {
		delete(want, "x32")
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %q, want %q", name, got[name], text)
		}
	}
	if got := probed(t, Jail{User: stranger, Filter: true, Apart: true}, "calls"); got["ptrace"] != unix.ESRCH.Error() {
		t.Errorf("where a process sees only what it started, ptrace says %q, want %q", got["ptrace"], unix.ESRCH)
	}
}

// The filter needs no privileges to set and leaves the process none to gain.
func TestJail_FilterWithoutRoot(t *testing.T) {
	out, err := jailed(t, Jail{Filter: true}, "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\t'")
	if err != nil || out != "NoNewPrivs:1\nSeccomp:2" {
		t.Errorf("%q, %v", out, err)
	}
}

// In a group with egress rules a process reaches the services it was given and
// players on this machine, but neither other services nor link-local addresses.
func TestGroup_Restrict(t *testing.T) {
	g := group(t, Limits{})
	listen := func(address string) (*net.TCPListener, int) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l.(*net.TCPListener), l.Addr().(*net.TCPAddr).Port
	}
	given, relay := listen("127.0.0.1:0")
	_, other := listen(":0")
	e := Egress{Services: []netip.AddrPort{given.Addr().(*net.TCPAddr).AddrPort()}, Players: [2]uint16{50000, 50010}, Allow: []netip.Prefix{netip.MustParsePrefix("169.254.7.0/24")}}
	if err := g.Restrict(e); errors.Is(err, ErrUnavailable) {
		t.Skipf("%v; run this on a kernel with programs for control groups of version 2", err)
	} else if err != nil {
		t.Fatal(err)
	}
	p := strconv.Itoa
	want := map[string]string{}
	for _, to := range []string{
		"tcp:127.0.0.1:" + p(other), "tcp:127.9.9.9:" + p(other), "tcp:0.0.0.0:" + p(other), "tcp:[::1]:" + p(other), "tcp:[::ffff:127.0.0.1]:" + p(other), "tcp:[::]:" + p(other),
		"tcp:[::1]:" + p(relay), "tcp:169.254.169.254:80", "tcp:[fe80::1%lo]:80", "tcp:[fd00:ec2::254]:80", "tcp:168.63.129.16:80",
		"udp:127.0.0.1:8125", "udp:169.254.169.254:53", "packet:127.0.0.1:8125", "packet:169.254.169.254:53", "packet:[::1]:53", "packet:[::ffff:127.0.0.1]:53",
		"tcp:127.0.0.1:50003", "udp:127.0.0.1:50011", "udp:127.0.0.1:49999",
	} {
		want[to] = "refused"
	}
	for _, to := range []string{
		"tcp:127.0.0.1:" + p(relay), "tcp:[::ffff:127.0.0.1]:" + p(relay), "udp:127.0.0.1:" + p(relay), "packet:127.0.0.1:50000", "udp:127.0.0.1:50010", "packet:[::ffff:127.0.0.1]:50010",
	} {
		want[to] = "sent"
	}
	for _, to := range []string{"tcp:192.0.2.1:80", "tcp:169.254.7.1:80", "udp:169.254.7.1:80", "tcp:[2001:db8::1]:80"} {
		want[to] = "sent or tried"
	}
	six, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		six.Close()
	}
	var all []string
	for to := range want {
		if err != nil && strings.Contains(to, "[") {
			delete(want, to) // the machine has version 4 only
			continue
		}
		all = append(all, to)
	}
	got := probed(t, Jail{User: stranger, Group: g}, "send "+strings.Join(all, " "))
	for to, want := range want {
		if got[to] != want && !(strings.Contains(want, "tried") && (got[to] == "sent" || strings.HasPrefix(got[to], "tried"))) {
			t.Errorf("%s: %s, want %s", to, got[to], want)
		}
	}
}
