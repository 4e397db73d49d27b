package containers

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// docker is a Docker engine of a test's own: with its own folders, its own bridge, and a
// socket that nothing else knows.
type docker struct {
	t       *testing.T
	dir     string
	bridge  string
	subnet  string
	process *exec.Cmd
	exited  chan struct{}
}

// startDocker starts an engine. It ends with the test, and everything in it.
func startDocker(t *testing.T) *docker {
	t.Helper()
	for _, program := range []string{"dockerd", "docker", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian packages docker.io and iproute2), so there are no containers", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("a container engine needs root")
	}
	dir, err := os.MkdirTemp("/tmp", "engine") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	d := &docker{t: t, dir: dir, bridge: fmt.Sprintf("mt%d", os.Getpid()), subnet: fmt.Sprintf("10.213.%d", os.Getpid()%200+20)}
	t.Cleanup(d.remove)
	for _, args := range [][]string{
		{"link", "add", d.bridge, "type", "bridge"}, {"addr", "add", d.subnet + ".1/24", "dev", d.bridge}, {"link", "set", d.bridge, "up"},
	} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Skipf("this machine makes no bridge: ip %s: %s", strings.Join(args, " "), out)
		}
	}
	d.start()
	return d
}

func (d *docker) socket() string { return "unix://" + filepath.Join(d.dir, "docker.sock") }

// start starts the engine, on the folders of a former one.
func (d *docker) start() {
	d.t.Helper()
	// A killed dockerd takes its containerd with it, whose number must not seem in use.
	os.Remove(filepath.Join(d.dir, "docker.pid"))
	os.Remove(filepath.Join(d.dir, "exec", "containerd", "containerd.pid"))
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	d.process = exec.Command("dockerd", "--host", d.socket(), "--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"),
		"--pidfile", filepath.Join(d.dir, "docker.pid"), "--bridge", d.bridge, "--fixed-cidr", d.subnet+".0/24", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--live-restore")
	d.process.Stdout, d.process.Stderr = log, log
	if err := d.process.Start(); err != nil {
		d.t.Fatal(err)
	}
	process, exited := d.process, make(chan struct{})
	d.exited = exited
	go func() { process.Wait(); close(exited) }()
	for {
		if _, err := d.try("version"); err == nil {
			return
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(log.Name())
			d.t.Skipf("dockerd does not work on this machine:\n%s", text[max(0, len(text)-2000):])
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// kill kills the engine as a failure would; its containers go on.
func (d *docker) kill() {
	d.process.Process.Kill()
	<-d.exited
}

// remove ends the containers and the engine, and removes everything of it.
func (d *docker) remove() {
	if d.t.Failed() {
		text, _ := os.ReadFile(filepath.Join(d.dir, "log"))
		d.t.Logf("the end of the engine's log:\n%s", text[max(0, len(text)-2000):])
	}
	if d.process != nil {
		if ids, err := d.try("ps", "--all", "--quiet"); err == nil && ids != "" {
			d.try(append([]string{"rm", "--force"}, strings.Fields(ids)...)...)
		}
		d.process.Process.Signal(os.Interrupt)
		select {
		case <-d.exited:
		case <-time.After(30 * time.Second):
			d.process.Process.Kill()
			<-d.exited
		}
	}
	exec.Command("ip", "link", "del", d.bridge).Run()
	for _, mounts := range []string{"netns", "data", "exec"} {
		out, _ := exec.Command("findmnt", "--list", "--noheadings", "--output", "TARGET").Output()
		for _, target := range strings.Fields(string(out)) {
			if strings.HasPrefix(target, d.dir) && strings.Contains(target, mounts) {
				exec.Command("umount", "--lazy", target).Run()
			}
		}
	}
	if err := os.RemoveAll(d.dir); err != nil {
		d.t.Errorf("the engine's folder is left: %v", err)
	}
}

// try runs a command of the engine's client.
func (d *docker) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", d.socket()}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, problem.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// run is try that fails the test.
func (d *docker) run(args ...string) string {
	d.t.Helper()
	out, err := d.try(args...)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// running returns the ids of the running containers.
func (d *docker) running() []string { return strings.Fields(d.run("ps", "--quiet", "--no-trunc")) }

// image makes an image that has one static program and nothing else.
func (d *docker) image(tag, program string, entrypoint ...string) {
	d.t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		d.t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(d.t.TempDir(), "image.tar"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer archive.Close()
	w := tar.NewWriter(archive)
	err = w.WriteHeader(&tar.Header{Name: filepath.Base(program), Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	quoted := make([]string, len(entrypoint))
	for n, part := range entrypoint {
		quoted[n] = fmt.Sprintf("%q", part)
	}
	d.run("import", "--change", "ENTRYPOINT ["+strings.Join(quoted, ",")+"]", archive.Name(), tag)
}

// static builds a program of this repository without libraries.
func static(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "github.com/musterhq/muster/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}
