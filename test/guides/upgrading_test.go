package guides

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestUpgrading types the commands of the guide. What systemctl does, the test does: it stops the
// server and starts it again, and the reload of an agent is that of test/install.
func TestUpgrading(t *testing.T) {
	t.Parallel()
	r := newReader(t, "upgrading")
	r.puts("/var/lib/muster", "data")
	server, operator := r.serve("data")
	place := node.NewPlace(t, api(operator))
	node.Join(t, operator, "machine", place.Location)
	r.follow(
		step{"muster admin backup", func(text string) {
			lines := commands(text)
			r.prints(lines[0])
			r.prints("muster admin verify state.backup")
			if lines[1] != "systemctl restart muster" || lines[2] != "systemctl reload muster-agent" {
				t.Fatalf("what this test does in place of systemctl is not what the guide says: %q", lines)
			}
			address := strings.TrimPrefix(server.URL, "http://")
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			r.runs("muster serve --log-level warn --data data --listen " + address)
		}},
		step{"muster hosts\n", func(text string) {
			lines := commands(text)
			r.prints(lines[0], "machine", "AGENT")
			shown := document.Find(t, r.guide, "", "KNOWS LEVEL").Text
			heads, _, _ := strings.Cut(shown, "\n")
			r.prints(lines[1], append(strings.Fields(heads), "owner")...)
		}},
	)
}
