package guides

import (
	"testing"

	"github.com/musterhq/muster/test/node"
)

// TestLibraries types the commands of the guide with ten bots in place of a hundred: all have
// played.
func TestLibraries(t *testing.T) {
	t.Parallel()
	r := newReader(t, "libraries")
	r.follow(
		step{"bin/muster local --demo-players 0", func(text string) {
			local := r.runs(text, "--listen 127.0.0.1:0 --log-level warn --data data")
			node.Follow(t, local.URL).Code(t, "SERVER_PROCESS_ACTIVE")
			r.env = append(r.env, "MUSTER_ENDPOINT="+local.URL)
			r.puts("--players 100", "--players 10")
		}},
		r.types("bin/muster bots", "10"),
	)
}
