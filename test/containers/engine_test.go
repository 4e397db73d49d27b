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

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/test/node"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// daemon is a container engine of a test's own, and the command line of Docker, which drives
// Podman too.
type daemon struct {
	*enginetest.Daemon
	t testing.TB
}

// startDocker starts a Docker engine as it is installed, whose containers survive it.
func startDocker(t testing.TB) daemon {
	t.Helper()
	needs(t)
	return daemon{enginetest.Docker(t, "--live-restore"), t}
}

func startPodman(t testing.TB) daemon {
	t.Helper()
	needs(t)
	return daemon{enginetest.Podman(t), t}
}

// needs skips the test where containers cannot be tried.
func needs(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("docker"); err != nil {
		t.Skip("docker is not installed; apt-get install docker.io")
	}
	if os.Geteuid() != 0 {
		t.Skip("a container engine needs root")
	}
	if !enginetest.HasOwnNetwork() {
		t.Skip("engines change the machine's network, so they are tried in a network namespace only, and this machine makes none (apt-get install iproute2; a container needs CAP_SYS_ADMIN for it)")
	}
}

// try runs a command of the engine's client.
func (d daemon) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", d.Host}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, problem.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// run is try that fails the test.
func (d daemon) run(args ...string) string {
	d.t.Helper()
	out, err := d.try(args...)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// running returns the ids of the running containers.
func (d daemon) running() []string { return strings.Fields(d.run("ps", "--quiet", "--no-trunc")) }

// image makes an image that has one static program and nothing else.
func (d daemon) image(tag, program string, entrypoint ...string) {
	d.t.Helper()
	d.imageOf(tag, []string{program}, entrypoint...)
}

// imageOf makes an image that has static programs and nothing else.
func (d daemon) imageOf(tag string, programs []string, entrypoint ...string) {
	d.t.Helper()
	archive, err := os.Create(filepath.Join(d.t.TempDir(), "image.tar"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer archive.Close()
	w := tar.NewWriter(archive)
	for _, program := range programs {
		content, err := os.ReadFile(program)
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: filepath.Base(program), Mode: 0o755, Size: int64(len(content))})
		}
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
	quoted := make([]string, len(entrypoint))
	for n, part := range entrypoint {
		quoted[n] = fmt.Sprintf("%q", part)
	}
	d.run("import", "--change", "ENTRYPOINT ["+strings.Join(quoted, ",")+"]", archive.Name(), tag)
}

// built are the variables that name programs of this repository that are built, without
// libraries.
var built = map[string]string{"cmd/muster": "MUSTER_BIN", "examples/arena": "ARENA_BIN"}

// static returns a program of this repository without libraries, which it builds if it is not
// built.
func static(t testing.TB, name string) string {
	t.Helper()
	if path := os.Getenv(built[name]); path != "" {
		return path
	}
	return node.Compiled(t, name)
}
