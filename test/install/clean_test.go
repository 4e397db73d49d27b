package install

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/test/document"
)

// Each way to install a release works on a new machine, which has Debian's smallest system,
// Python and curl: two players of the game of docs/ten-minutes.md are matched and play there.
// It logs the times.
func TestClean(t *testing.T) {
	release, archive := dist(t), os.Getenv("MUSTER_MACHINE")
	if archive == "" {
		t.Skip("MUSTER_MACHINE does not name the archive of a new machine's files: make dist-test makes it where mmdebstrap is installed")
	}
	if os.Getuid() != 0 {
		t.Skip("only root makes a new machine: run this as root")
	}
	root := t.TempDir()
	if out, err := exec.Command("tar", "-xf", archive, "-C", root).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", archive, err, out)
	}
	if err := os.Chmod(root, 0o755); err != nil { // its users come through it
		t.Fatal(err)
	}
	for _, way := range []string{"archive", "script", "package"} {
		t.Run(way, func(t *testing.T) {
			machine := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child",
				"bash", absolute(t, "enter.sh"), root, release, document.Top(t), way)
			machine.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			out, err := machine.CombinedOutput()
			text := strings.TrimSpace(string(out))
			if strings.Contains(text, "unshare failed") {
				t.Skipf("this system makes no namespaces: %s", text)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			t.Log(text[strings.LastIndex(text, "\n")+1:])
		})
	}
}
