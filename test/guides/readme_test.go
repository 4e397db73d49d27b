package guides

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestReadme types the commands of README.md, beside a server with the demo game as its first
// command starts it. Targets of make are only looked up, since these tests run in one; what
// installs a release is in test/install.
func TestReadme(t *testing.T) {
	t.Parallel()
	needs(t, "make aws")
	server := node.Serve(t, node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn")
	node.Follow(t, server.URL).Code(t, "SERVER_PROCESS_ACTIVE")
	d := newDesk(t)
	d.env = append(d.env, "MUSTER_ENDPOINT="+server.URL)
	says := map[string]string{ // what a block prints, by its first words
		"bin/muster demo": "SESSION",
		"export AWS":      `"FleetIds"`,
	}
	for _, block := range document.Blocks(t, "README.md") {
		switch {
		case block.Language != "sh":
		case strings.HasPrefix(block.Text, "make "):
			for line := range strings.Lines(block.Text) {
				(&desk{T: t, dir: document.Top(t), env: os.Environ()}).run("make --dry-run " + strings.TrimPrefix(line, "make "))
			}
		case strings.HasPrefix(block.Text, "curl "):
			installs(t, block.Text)
		default:
			out := d.run(strings.ReplaceAll(block.Text, "http://127.0.0.1:9080", server.URL))
			for words, want := range says {
				if strings.HasPrefix(block.Text, words) {
					delete(says, words)
					if !strings.Contains(out, want) {
						t.Errorf("README.md:%d: no %q in\n%s", block.Line, want, out)
					}
				}
			}
		}
	}
	if len(says) > 0 {
		t.Errorf("README.md has no blocks that begin with these words: %q", says)
	}
}

// installs fails the test if a command that installs a release is not that of the guide, which
// another test types.
func installs(t *testing.T, command string) {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join(document.Top(t), "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), command) {
		t.Errorf("docs/install.md does not have the command of README.md: %s", command)
	}
}
