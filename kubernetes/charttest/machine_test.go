package charttest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a virtual machine. Its own address is 10.0.2.15, this machine's loopback
// interface is 10.0.2.2 in it, and it reaches nothing else that a test needs.
type machine struct {
	t       testing.TB
	folder  string
	process *exec.Cmd
	exited  chan struct{}
	forward map[string]string // from "tcp:6443" in the machine to the port here
	shell   net.Conn
	lines   *bufio.Reader
}

// nodeAddress is the machine's address in its network, and hostAddress this machine's.
const (
	nodeAddress = "10.0.2.15"
	hostAddress = "10.0.2.2"
)

// boot boots the machine of a folder (kernel, initrd and disk), with the files of another
// as /node, and returns when it takes commands. ports are those that are reached from here,
// such as "tcp:6443".
func boot(t testing.TB, image, files string, ports []string) *machine {
	t.Helper()
	folder, err := os.MkdirTemp("", "node") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, folder: folder, forward: map[string]string{}, exited: make(chan struct{})}
	t.Cleanup(m.end)
	disk, socket, console := filepath.Join(folder, "node.img"), filepath.Join(folder, "shell"), filepath.Join(folder, "console")
	if out, err := exec.Command("mke2fs", "-q", "-t", "ext4", "-m", "0", "-d", files, disk, "1G").CombinedOutput(); err != nil {
		t.Fatalf("mke2fs: %v\n%s", err, out)
	}
	network := "user,id=net"
	for _, p := range ports {
		kind, inside, _ := strings.Cut(p, ":")
		here := unused(t, kind)
		m.forward[p] = here
		network += fmt.Sprintf(",hostfwd=%s:127.0.0.1:%s-%s:%s", kind, here, nodeAddress, inside)
	}
	m.process = exec.Command("qemu-system-x86_64", "-accel", accelerator(), "-cpu", "max", "-smp", "4", "-m", "3072", "-display", "none", "-nodefaults", "-no-reboot",
		"-kernel", filepath.Join(image, "vmlinuz"), "-initrd", filepath.Join(image, "initrd"), "-append", "root=/dev/vda rw console=ttyS0 panic=-1 mitigations=off",
		"-drive", "if=virtio,format=raw,snapshot=on,cache=unsafe,file="+filepath.Join(image, "disk"), "-drive", "if=virtio,format=raw,readonly=on,file="+disk,
		"-netdev", network, "-device", "virtio-net-pci,netdev=net", "-device", "virtio-rng-pci",
		"-serial", "file:"+console, "-serial", "unix:"+socket+",server=on,wait=off")
	m.process.Env = append(os.Environ(), "TMPDIR="+folder)
	var problem bytes.Buffer
	m.process.Stdout, m.process.Stderr = &problem, &problem
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = m.process.Wait(); close(m.exited) }()
	for m.shell == nil {
		if m.shell, err = net.Dial("unix", socket); err == nil {
			break
		}
		select {
		case <-m.exited:
			t.Fatalf("the machine does not start: %s", &problem)
		case <-time.After(50 * time.Millisecond):
		}
	}
	m.lines = bufio.NewReader(m.shell)
	if err := m.await(func(line string) bool { return strings.TrimSpace(line) == "ready" }); err != nil {
		text, _ := os.ReadFile(console)
		t.Fatalf("the machine does not boot: %v\n%s\n%s", err, text[max(0, len(text)-3000):], &problem)
	}
	return m
}

// end ends the machine, and removes what is left of it.
func (m *machine) end() {
	if m.shell != nil {
		if m.t.Failed() {
			m.t.Log(m.logs())
		}
		m.shell.Close()
	}
	if m.process != nil && m.process.Process != nil {
		_ = m.process.Process.Kill()
		<-m.exited
	}
	if err := os.RemoveAll(m.folder); err != nil {
		m.t.Error(err)
	}
}

// logs returns the ends of the node's logs.
func (m *machine) logs() string {
	out, err := m.try("for f in /var/log/kube*.log /var/log/containerd.log; do echo \"--- $f\"; tail -n 12 $f | cut -c -400; done; df -h /")
	return fmt.Sprint(out, err)
}

// await reads lines until one is right.
func (m *machine) await(right func(line string) bool) error {
	if err := m.shell.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		return err
	}
	for {
		line, err := m.lines.ReadString('\n')
		if err != nil {
			return err
		}
		if right(line) {
			return nil
		}
	}
}

// try runs a command of the shell as root, and returns its output.
func (m *machine) try(command string) (string, error) {
	mark := rand.Text()
	if _, err := fmt.Fprintf(m.shell, "{ %s\n} </dev/null 2>&1; echo; echo %s $?\n", command, mark); err != nil {
		return "", err
	}
	var out strings.Builder
	code := ""
	err := m.await(func(line string) bool {
		rest, ok := strings.CutPrefix(line, mark+" ")
		if !ok {
			out.WriteString(line)
			return false
		}
		code = strings.TrimSpace(rest)
		return true
	})
	text := strings.TrimSuffix(out.String(), "\n")
	if err == nil && code != "0" {
		err = errors.New("exit code " + code)
	}
	return text, err
}

// run is try that fails the test.
func (m *machine) run(command string) string {
	m.t.Helper()
	out, err := m.try(command)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// at returns the address here of a port of the machine, such as "tcp:6443".
func (m *machine) at(port string) string { return "127.0.0.1:" + m.forward[port] }

// unused returns a free port of the loopback interface.
func unused(t testing.TB, kind string) string {
	t.Helper()
	var at net.Addr
	var closer io.Closer
	if kind == "udp" {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at, closer = c.LocalAddr(), c
	} else {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at, closer = l.Addr(), l
	}
	defer closer.Close()
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// missing returns why no machine can be booted here, or "".
func missing() string {
	for _, program := range []string{"qemu-system-x86_64", "mke2fs"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed (Debian packages qemu-system-x86 and e2fsprogs)"
		}
	}
	return ""
}

// accelerator returns how the machine's processors run: by KVM with a processor's own
// virtualization, or else emulated. KVM without that cannot run every kernel.
func accelerator() string {
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return "tcg,thread=multi"
	}
	kvm.Close()
	for _, module := range []string{"kvm_intel", "kvm_amd"} {
		if _, err := os.Stat("/sys/module/" + module); err == nil {
			return "kvm"
		}
	}
	return "tcg,thread=multi"
}
