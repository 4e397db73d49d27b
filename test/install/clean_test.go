package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/test/document"
)

// Each way to install a release works on a new machine, which has Debian's smallest system,
// Python and curl: two players of the game of docs/ten-minutes.md are matched and play there, by
// the commands of the documents. It logs the times.
func TestClean(t *testing.T) {
	release, archive := dist(t), os.Getenv("MUSTER_MACHINE")
	if archive == "" {
		t.Skip("MUSTER_MACHINE does not name the archive of a new machine's files: make dist-test makes it where mmdebstrap is installed")
	}
	if os.Getuid() != 0 {
		t.Skip("only root makes a new machine: run this as root")
	}
	root, commands := t.TempDir(), typed(t, release)
	if out, err := exec.Command("tar", "-xf", archive, "-C", root).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", archive, err, out)
	}
	if err := os.Chmod(root, 0o755); err != nil { // its users come through it
		t.Fatal(err)
	}
	for _, way := range []string{"archive", "script", "package"} {
		t.Run(way, func(t *testing.T) {
			machine := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child",
				"bash", absolute(t, "enter.sh"), root, release, document.Top(t), commands, way)
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

// typed returns a folder with what the documents say to type, a file for each block.
func typed(t *testing.T, release string) string {
	t.Helper()
	const tutorial = "docs/ten-minutes.md"
	script := document.Find(t, "docs/install.md", "sh", "curl -fsSL").Text
	if again := document.Find(t, "README.md", "sh", "curl -fsSL").Text; again != script {
		t.Fatalf("README.md installs by\n%s\nand docs/install.md by\n%s", again, script)
	}
	debian, _, _ := strings.Cut(document.Find(t, "docs/install.md", "sh", "apt install").Text, "\n")
	inDocument := "muster_0.1.0_amd64.deb"
	if !strings.Contains(debian, inDocument) {
		t.Fatalf("the first line installs no %s: %s", inDocument, debian)
	}
	files := map[string]string{
		"script":  script,
		"package": strings.Replace(debian, inDocument, filepath.Base(only(t, filepath.Join(release, "muster_*_"+runtime.GOARCH+".deb"))), 1),
	}
	for _, block := range document.Blocks(t, tutorial) {
		name := map[string]string{"**Terminal 1:**": "terminal-1", "**Terminals 2 and 3:**": "players", "**Afterwards:**": "afterwards"}[block.Lead]
		if name != "" {
			files[name] = block.Text
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"script", "package", "terminal-1", "players", "afterwards"} {
		if files[name] == "" {
			t.Fatalf("%s does not say what is typed for %s", tutorial, name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
