package node

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/musterhq/muster/cli/client"
)

// Compiled builds a program of this repository, which has no libraries, and returns its path.
func Compiled(t testing.TB, folder string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), filepath.Base(folder))
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "github.com/musterhq/muster/"+folder)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, out)
	}
	return path
}

// Output runs a command, and returns what it wrote and its exit code.
func Output(t testing.TB, cmd *exec.Cmd) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

var keyPattern = regexp.MustCompile(`(?s)aws_access_key_id *= *(\S+).*aws_secret_access_key *= *(\S+)`)

// Credentials returns the access key in the text of a file that a server has made, such as
// admin-credentials.
func Credentials(t testing.TB, text string) client.Credentials {
	t.Helper()
	found := keyPattern.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("there is no key in %q", text)
	}
	return client.Credentials{AccessKeyID: found[1], SecretAccessKey: found[2]}
}

// FirstKey returns the key that a server has made at its first start, in its data folder.
func FirstKey(t testing.TB, data string) client.Credentials {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	return Credentials(t, string(text))
}

// ReservePort is like Reserve, and returns the port alone.
func ReservePort(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(Reserve(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
