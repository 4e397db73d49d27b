// Package enginetest starts real container engines for tests: dockerd, Podman's service and
// a registry, each with all its files in a folder of its own. What a test starts is gone
// when the test ends: processes, mounts, networks and files.
//
// Docker and Podman skip the test with a sentence that says what is missing: they need Linux,
// root, and the Debian packages docker.io, or podman, crun and runc.
//
// A package whose TestMain calls Main has a network of its own. There engines work as they
// are installed: with rules in the packet filter, which end with the network.
//
//	docker := enginetest.Docker(t)
//	registry := enginetest.NewRegistry(t)
//	image := registry.Push(t, "game", enginetest.Puppet(t))
//	e, err := engine.Open(ctx, engine.Options{Host: docker.Host, Network: docker.Network, …})
package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Daemon is an engine of a test.
type Daemon struct {
	Host    string // its address, for engine.Options
	Network string // the network that containers should use; "": the engine's default

	t       testing.TB
	dir     string
	bridge  string // of the network, on the host
	command func() *exec.Cmd
	cmd     *exec.Cmd
	ended   <-chan struct{} // closed when cmd has ended
	log     *os.File
	api     *client.Client
}

// network is the name of the bridge network of tests.
const network = "muster-test"

// needs skips the test unless programs can be run as root.
func needs(t testing.TB, packages string, programs ...string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("container engines are tried on Linux as root; run the test with sudo")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed; apt-get install %s", p, packages)
		}
	}
}

// Docker starts a dockerd with a bridge network: without rules in the packet filter, unless
// the network is the tests' own.
func Docker(t testing.TB, args ...string) *Daemon {
	t.Helper()
	needs(t, "docker.io", "dockerd", "containerd", "runc")
	d := begin(t)
	// Plain HTTP is used with registries at loopback addresses anyway.
	all := append([]string{
		"--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"), "--pidfile", filepath.Join(d.dir, "pid"),
		"--config-file", filepath.Join(d.dir, "none.json"), "-H", d.Host,
	}, args...)
	if !hasOwnNetwork {
		all = append(all, "--iptables=false", "--ip6tables=false", "--bridge=none")
	}
	d.command = func() *exec.Cmd {
		cmd := exec.Command("dockerd", all...)
		cmd.Env = append(os.Environ(), "TMPDIR="+d.dir) // for the stacks of a containerd that ends slowly
		return cmd
	}
	if err := os.WriteFile(filepath.Join(d.dir, "none.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Start()
	if hasOwnNetwork {
		return d
	}
	made, err := d.api.NetworkCreate(t.Context(), network, client.NetworkCreateOptions{Driver: "bridge"})
	if err != nil {
		t.Fatalf("create network: %v", err)
	}
	d.bridge = "br-" + made.ID[:12]
	d.Network = network
	return d
}

// Podman starts Podman's service with its default network, in which it publishes ports by
// rules in the packet filter. Only tests with a network of their own can use it.
func Podman(t testing.TB) *Daemon {
	t.Helper()
	if !hasOwnNetwork {
		t.Skip("Podman publishes ports by rules in the machine's packet filter, so it is tried in a network namespace only, and this machine makes none")
	}
	if files := publishers(); len(files) == 0 {
		t.Skip("Podman has no program for its networks; apt-get install containernetworking-plugins, or netavark")
	}
	needs(t, "iptables", "iptables")
	return podman(t, "")
}

// PodmanOnHost starts Podman's service for containers that use the machine's own network.
func PodmanOnHost(t testing.TB) *Daemon {
	t.Helper()
	return podman(t, "host")
}

// publishers returns the programs by which Podman makes networks and publishes ports.
func publishers() (files []string) {
	for _, pattern := range []string{"/usr/lib/cni/portmap", "/usr/libexec/cni/portmap", "/opt/cni/bin/portmap", "/usr/lib*/podman/netavark", "/usr/libexec/podman/netavark"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	return files
}

func podman(t testing.TB, network string) *Daemon {
	t.Helper()
	needs(t, "podman crun runc conmon", "podman", "conmon", "runc")
	d := begin(t)
	d.Network = network
	files := map[string]string{
		"containers.conf": fmt.Sprintf("[containers]\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\ntmp_dir = %q\nvolume_path = %q\n[network]\nnetwork_config_dir = %q\n",
			d.path("run"), d.path("volumes"), d.path("networks")),
		"storage.conf":                   fmt.Sprintf("[storage]\ndriver = \"overlay\"\ngraphroot = %q\nrunroot = %q\n", d.path("graph"), d.path("storage")),
		"registries.conf":                "[[registry]]\nlocation = \"127.0.0.1\"\ninsecure = true\n",
		".config/containers/policy.json": `{"default":[{"type":"insecureAcceptAnything"}]}`,
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.path(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.command = func() *exec.Cmd {
		cmd := exec.Command("podman", "system", "service", "--time", "0", d.Host)
		cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_RUNTIME_DIR=", "CONTAINERS_CONF="+d.path("containers.conf"),
			"CONTAINERS_STORAGE_CONF="+d.path("storage.conf"), "CONTAINERS_REGISTRIES_CONF="+d.path("registries.conf"), "DISABLE_HC_SYSTEMD=true")
		return cmd
	}
	d.Start()
	return d
}

func begin(t testing.TB) *Daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{t: t, dir: dir, Host: "unix://" + filepath.Join(dir, "socket")}
	t.Cleanup(d.end)
	if d.log, err = os.Create(d.path("log")); err != nil {
		t.Fatal(err)
	}
	if d.api, err = client.New(client.WithHost(d.Host)); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *Daemon) path(name string) string { return filepath.Join(d.dir, name) }

// Client returns a client of the engine, to see what it does.
func (d *Daemon) Client() *client.Client { return d.api }

// Start starts the engine, at first and after Kill.
func (d *Daemon) Start() {
	d.t.Helper()
	// A killed dockerd takes its containerd with it, whose number must not seem in use.
	_ = os.Remove(filepath.Join(d.dir, "exec", "containerd", "containerd.pid"))
	d.cmd = d.command()
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = ownGroup()
	if err := d.cmd.Start(); err != nil {
		d.t.Fatalf("start the engine: %v", err)
	}
	cmd, ended := d.cmd, make(chan struct{})
	d.ended = ended
	go func() { _ = cmd.Wait(); close(ended) }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		if _, err := d.api.Ping(ctx, client.PingOptions{}); err == nil {
			return
		}
		select {
		case <-ended:
			d.t.Fatalf("the engine ended:\n%s", d.tail())
		case <-ctx.Done():
			d.t.Fatalf("the engine does not answer:\n%s", d.tail())
		case <-time.After(50 * time.Millisecond): // it has no event for this
		}
	}
}

// Kill kills the engine. Containers continue, as far as the engine lets them.
func (d *Daemon) Kill() {
	d.t.Helper()
	d.stop(syscall.SIGKILL)
	d.killContainerd()
}

// killContainerd ends the containerd of a dockerd that was killed. The kernel kills it too,
// but the next dockerd takes one for alive that init has not waited for.
func (d *Daemon) killContainerd() {
	file := d.path("exec/containerd/containerd.pid")
	content, err := os.ReadFile(file)
	if err != nil {
		return // Podman has none
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
	if err := os.Remove(file); err != nil {
		d.t.Fatal(err)
	}
}

// Stop ends the engine as an operator does.
func (d *Daemon) Stop() {
	d.t.Helper()
	d.stop(syscall.SIGTERM)
}

func (d *Daemon) stop(signal syscall.Signal) {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(signal)
	select {
	case <-d.ended:
	case <-time.After(time.Minute):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	d.cmd = nil
}

// OnLine calls do once the engine has logged a text from now on, "" being logged at once, and then
// closes the channel that it returns.
func (d *Daemon) OnLine(text string, do func()) <-chan struct{} {
	d.t.Helper()
	before, err := d.log.Stat()
	if err != nil {
		d.t.Fatal(err)
	}
	done := make(chan struct{})
	ctx := d.t.Context()
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			content, err := os.ReadFile(d.path("log"))
			if err == nil && strings.Contains(string(content[before.Size():]), text) {
				do()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return done
}

func (d *Daemon) tail() string {
	content, _ := os.ReadFile(d.path("log"))
	return string(content[max(0, len(content)-8000):])
}

// end removes everything.
func (d *Daemon) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if d.cmd != nil && d.api != nil {
		if list, err := d.api.ContainerList(ctx, client.ContainerListOptions{All: true}); err == nil {
			for _, c := range list.Items {
				_, _ = d.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			}
		}
		if d.Network == network {
			_, _ = d.api.NetworkRemove(ctx, network, client.NetworkRemoveOptions{})
		}
	}
	d.stop(syscall.SIGTERM)
	if d.api != nil {
		_ = d.api.Close()
	}
	if d.log != nil {
		_ = d.log.Close()
	}
	if d.t.Failed() {
		d.t.Logf("the engine's log:\n%s", d.tail())
	}
	d.killRest()
	d.removeBridge()
	d.unmount()
	if err := os.RemoveAll(d.dir); err != nil {
		d.t.Errorf("files of the engine are left: %v", err)
	}
}

// killRest kills what the engine left: processes with the folder's name among their
// arguments, and those of containers, whose control groups have the containers' ids.
func (d *Daemon) killRest() {
	var ids [][]byte
	for _, folder := range []string{"data/containers", "graph/overlay-containers"} {
		entries, _ := os.ReadDir(d.path(folder))
		for _, entry := range entries {
			if len(entry.Name()) == 64 { // an id
				ids = append(ids, []byte(entry.Name()))
			}
		}
	}
	isOurs := func(pid string) bool {
		line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if err != nil {
			return false
		}
		groups, _ := os.ReadFile(filepath.Join("/proc", pid, "cgroup"))
		return bytes.Contains(line, []byte(d.dir)) ||
			len(line) > 0 && slices.ContainsFunc(ids, func(id []byte) bool { return bytes.Contains(groups, id) })
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		left := 0
		entries, _ := os.ReadDir("/proc")
		for _, entry := range entries {
			pid, err := strconv.Atoi(entry.Name())
			if err != nil || pid == os.Getpid() || !isOurs(entry.Name()) {
				continue
			}
			left++
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill()
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Errorf("processes of the engine are left")
}

// removeBridge removes the bridge of a network that the engine could not remove.
func (d *Daemon) removeBridge() {
	if d.bridge == "" {
		return
	}
	if _, err := net.InterfaceByName(d.bridge); err == nil {
		if out, err := exec.Command("ip", "link", "delete", d.bridge).CombinedOutput(); err != nil {
			d.t.Errorf("the bridge %s is left: %s", d.bridge, out)
		}
	}
}

// unmount unmounts what is mounted in the folder, the innermost first.
func (d *Daemon) unmount() {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return
	}
	var points []string
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], d.dir+"/") {
			points = append(points, fields[1])
		}
	}
	for _, point := range slices.Backward(points) {
		unmount(point)
	}
}
