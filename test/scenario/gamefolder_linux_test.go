package scenario

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// A build that names /local/game, as those for Amazon's hosts do: in its install script, which
// notes who it is and what it could write, and in its program.
const (
	gameScript = `set -e
mkdir -p /local/game/logs
id -u > /local/game/script
for place in / /local /etc /var; do (echo x > $place/muster-was-here) 2>/dev/null && echo wrote $place >> /local/game/script; done
exit 0
`
	gameProgram = "#!/bin/sh\ncat /local/game/script > /local/game/logs/said && exec /local/game/plain \"$@\"\n"
)

// gameBuild returns the files of the build, or skips the test where a process cannot have a
// /local/game that the machine does not have.
func gameBuild(t *testing.T) map[string][]byte {
	t.Helper()
	if _, err := os.Lstat("/local"); !errors.Is(err, fs.ErrNotExist) {
		t.Skip("this machine has a folder /local")
	}
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil || os.Geteuid() != 0 {
		t.Skipf("no namespace can be made here: %v; run this as root with the right to make namespaces and mounts", err)
	}
	plain, err := os.ReadFile(node.Compiled(t, "test/scenario/plain"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"install.sh": []byte(gameScript), "server.sh": []byte(gameProgram), "plain": plain}
}

// alone checks that the machine is as it was.
func alone(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/local", "/muster-was-here", "/etc/muster-was-here", "/var/muster-was-here"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is on this machine", path)
			os.RemoveAll(path)
		}
	}
}

// checkScript checks what the install script notes: it is a user of its own, and wrote to its
// folder alone.
func checkScript(t *testing.T, said string) {
	t.Helper()
	if !strings.HasPrefix(said, "1") || strings.Count(said, "\n") != 1 || len(said) != len("1900000000\n") {
		t.Errorf("the install script says %q, want the number of a user of instances alone", said)
	}
}

// TestGameFolder_Local hosts such a build on muster local by root: its fleet becomes ACTIVE, and
// the script, which is isolated, has written to its data directory alone.
func TestGameFolder_Local(t *testing.T) {
	t.Parallel()
	files := gameBuild(t)
	data := t.TempDir()
	p := node.Start(t, "--listen", "127.0.0.1:0", "--data", data, "--log-level", "warn")
	c := node.Client(p.URL)
	build, err := node.Upload(t.Context(), p.URL, c, files)
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := c.CreateFleet(t.Context(), &gamelift.CreateFleetInput{
		Name: aws.String("game"), BuildId: &build, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{
			LaunchPath: aws.String("/local/game/server.sh"), Parameters: aws.String("{{.NoSDK}} -port {{.GamePort}}"), ConcurrentExecutions: aws.Int32(1),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	place := &node.Place{Client: c, FleetID: *fleet.FleetAttributes.FleetId}
	wait.For(t, "a game session is created", func() error {
		_, err := place.TryCreate(t.Context(), 2)
		return err
	})
	said := wait.Value(t, "the program has written to /local/game/logs", func() (string, error) {
		found, err := filepath.Glob(filepath.Join(data, "agent", "instances", "*", "game", "logs", "said"))
		if err != nil || len(found) != 1 {
			return "", fmt.Errorf("there are %v, %v", found, err)
		}
		text, err := os.ReadFile(found[0])
		return string(text), err
	})
	checkScript(t, said)
	alone(t)
}

// TestGameFolder_Preflight tries such a build: its script and its program see it at /local/game, and
// the machine is as it was.
func TestGameFolder_Preflight(t *testing.T) {
	t.Parallel()
	files := gameBuild(t)
	path := filepath.Join(t.TempDir(), "build.zip")
	if err := archive(path, files); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node.Path(t), "preflight", path, "--launch-path", "/local/game/server.sh", "--parameters", "{{.NoSDK}} -port {{.GamePort}}").CombinedOutput()
	for _, want := range []string{"ok    /local/game is the build's folder", "plain: open", "ActivateGameSession"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("it ends with %v, and without %q:\n%s", err, want, out)
		}
	}
	alone(t)
}

// archive writes an archive of executable files.
func archive(path string, files map[string][]byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	z := zip.NewWriter(file)
	for name, content := range files {
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(z.Close(), file.Close())
}
