package guides

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestLibraries types the commands of the guide with ten bots in place of a hundred: all have
// played. A game of the reader's uses the library of the clone.
func TestLibraries(t *testing.T) {
	t.Parallel()
	r := newReader(t, "libraries")
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // as they are without the reader's home
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(value)))
	}
	r.puts("PATH-OF-THE-CLONE", document.Top(t))
	r.write("go.mod", "module example.com/game\n\ngo 1.26\n\nrequire github.com/musterhq/muster/sdk/session v0.0.0\n")
	r.write("main.go", "package main\n\nimport _ \"github.com/musterhq/muster/sdk/session\"\n\nfunc main() {}\n")
	r.follow(
		step{"go mod edit", func(text string) { r.prints(text + "go build -o game .\n") }},
		step{"bin/muster local --demo-players 0", func(text string) {
			local := r.runs(text, "--listen 127.0.0.1:0 --log-level warn --data data")
			node.Follow(t, local.URL).Code(t, "SERVER_PROCESS_ACTIVE")
			r.env = append(r.env, "MUSTER_ENDPOINT="+local.URL)
			r.puts("--players 100", "--players 10")
		}},
		r.types("bin/muster bots", "10"),
	)
}
