package containers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// shipped makes the container image of Muster's own program, as an archive.
func shipped(t testing.TB) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "image.tar")
	make := exec.Command("go", "run", "github.com/musterhq/muster/tools/image", "-version", "v0.1.0", "-commit", "c0ffee", "-o", file,
		"linux/"+runtime.GOARCH+"="+static(t, "cmd/muster"))
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("make the image: %v\n%s", err, out)
	}
	return file
}

// The image serves on real engines: for any user, with files that cannot be written, and with
// its state in a volume, which outlives its containers.
func TestImage(t *testing.T) {
	needs(t)
	file := shipped(t)
	for name, c := range map[string]struct {
		start     func(testing.TB) daemon
		tag, user string
		checks    bool // the engine makes the image's health check: Podman takes none from the OCI's format
	}{
		"docker": {startDocker, "-" + runtime.GOARCH, "65532:65532", true}, // the image's own user
		"podman": {startPodman, "", "12345:54321", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.start(t)
			d.run("load", "--input", file)
			playImage(t, d, "localhost/muster:v0.1.0"+c.tag, c.user, c.checks)
			if name == "docker" {
				typeImage(t, d, file)
			}
		})
	}
}

// typeImage types the commands of the guide, which end with the list of keys.
func typeImage(t *testing.T, d daemon, file string) {
	t.Helper()
	dir := t.TempDir()
	for name, to := range map[string]string{"muster_0.1.0_image.tar": file, "muster": static(t, "cmd/muster")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	text := document.Find(t, "docs/install.md", "sh", "docker load").Text
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	typed := exec.CommandContext(ctx, "bash", "-ec", strings.ReplaceAll(text, "v0.1.0-amd64", "v0.1.0-"+runtime.GOARCH))
	typed.Dir, typed.Env = dir, append(os.Environ(), "DOCKER_HOST="+d.Host, "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
	out, err := typed.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "first") || !strings.Contains(string(out), "ENABLED") {
		t.Errorf("the guide's commands end with %v:\n%s\n%s", err, out, d.said("muster"))
	}
	d.run("rm", "--force", "muster")
}

func playImage(t *testing.T, d daemon, tag, user string, checks bool) {
	run := func(name string) {
		t.Helper()
		d.run("run", "--detach", "--name", name, "--user", user, "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
			"--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", // Podman's own may be above what this machine allows
			"--volume", "state:/data", "--publish", "127.0.0.1:9080:9080", "--health-interval", "1s",
			"--env", "MUSTER_INSECURE_PLAIN_HTTP=true", tag)
		d.healthy(name, checks)
	}
	run("first")
	if labels := d.run("inspect", "--format", `{{index .Config.Labels "org.opencontainers.image.revision"}}`, "first"); labels != "c0ffee" {
		t.Errorf("the image is said to be from commit %q", labels)
	}
	key, secret := d.firstKey("first")
	c := node.ClientAs("http://127.0.0.1:9080", key, secret)
	if _, err := c.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: aws.String("custom-kept")}); err != nil {
		t.Fatal(err)
	}
	kept := func(when string) {
		t.Helper()
		list, err := c.ListLocations(t.Context(), &gamelift.ListLocationsInput{})
		if err != nil || !strings.Contains(fmt.Sprint(names(list)), "custom-kept") {
			t.Errorf("%s: the location is not there: %v, %v", when, names(list), err)
		}
	}
	stop := func(name string) {
		t.Helper()
		d.run("stop", "--time", "30", name)
		if code := d.run("inspect", "--format", "{{.State.ExitCode}}", name); code != "0" {
			t.Errorf("told to stop, it exits with %s\n%s", code, d.said(name))
		}
	}
	stop("first")
	d.run("start", "first")
	d.healthy("first", checks)
	kept("after a restart")
	stop("first")
	d.run("rm", "first")
	run("second")
	kept("in a new container")
	stop("second")
	if !checks {
		return // Docker's client does not get the output of a container of Podman's that ends at once
	}
	if out, err := d.try("run", "--rm", tag); err == nil || !strings.Contains(err.Error(), "insecure-plain-http") {
		t.Errorf("without TLS and without being told that there is none, it says %q, %v", out, err)
	}
}

func names(list *gamelift.ListLocationsOutput) (all []string) {
	if list != nil {
		for _, l := range list.Locations {
			all = append(all, aws.ToString(l.LocationName))
		}
	}
	return all
}

// healthy waits until the image's own health check succeeds: as the engine makes it, if it
// does, and as a command in the container.
func (d daemon) healthy(name string, checks bool) {
	d.t.Helper()
	wait.For(d.t, name+" is healthy", func() error { // an engine reports its health checks only when asked
		status, err := d.try("inspect", "--format", "{{with .State.Health}}{{.Status}}{{end}}", name)
		if err == nil && (status == "healthy" || !checks) {
			if _, err = d.try("exec", name, "/muster", "health"); err == nil {
				return nil
			}
		}
		return fmt.Errorf("the container is %q, %v\n%s", status, err, d.said(name))
	})
}

// said returns what a container has written.
func (d daemon) said(name string) []byte {
	out, _ := exec.Command("docker", "--host", d.Host, "logs", name).CombinedOutput() // for a failure's message
	return out
}

// firstKey returns the key that a server has made at its first start.
func (d daemon) firstKey(name string) (id, secret string) {
	d.t.Helper()
	archive, err := exec.Command("docker", "--host", d.Host, "cp", name+":/data/muster/admin-credentials", "-").Output()
	if err != nil {
		d.t.Fatal(err)
	}
	key := node.Credentials(d.t, string(archive)) // of one file, uncompressed
	return key.AccessKeyID, key.SecretAccessKey
}
