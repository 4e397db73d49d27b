package scenario

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// TestGuide_Players types what docs/players.md says to try, twice: for two
// players, whom a match brings together.
func TestGuide_Players(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("install curl to run the commands of the guide")
	}
	server, _ := startWithDemo(t)
	node.Follow(t, server).Code(t, "SERVER_PROCESS_ACTIVE") // the demo has made what players need
	text, err := os.ReadFile("../../docs/players.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "## Try it")
	_, block, _ = strings.Cut(block, "```sh\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("docs/players.md has no commands to try")
	}
	block = strings.ReplaceAll(block, "http://127.0.0.1:9080", server)
	first := typed(t, block)
	typed(t, block)
	if first["ticket_id"] == nil || first["state"] == nil {
		t.Errorf("the last command shows %v, want a ticket", first)
	}
}

// typed runs the commands of a guide. A line NAME=… takes what its comment names
// from the answer before. It gives the last answer.
func typed(t *testing.T, block string) (answer map[string]any) {
	t.Helper()
	known := `curl() { command curl --fail-with-body "$@"; }` + "\n"
	for line := range strings.Lines(block) {
		name, rest, taken := strings.Cut(line, "=…")
		if taken {
			_, member, _ := strings.Cut(rest, "its ")
			value, ok := answer[strings.TrimSpace(member)].(string)
			if !ok {
				t.Fatalf("%q: the answer before was %v", line, answer)
			}
			known += fmt.Sprintf("%s=%q\n", name, value)
			continue
		}
		if !strings.HasPrefix(line, "curl ") {
			known += line
			continue
		}
		out, err := exec.CommandContext(t.Context(), "bash", "-c", known+line).Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		answer = nil
		if err := json.Unmarshal(out, &answer); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	return answer
}
