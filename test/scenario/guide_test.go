package scenario

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestGuide_Players types the commands that docs/players.md shows for two players:
// they are matched, as the document says.
func TestGuide_Players(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("install curl to run the commands of the guide")
	}
	server, _ := startWithDemo(t)
	node.Follow(t, server).Code(t, "SERVER_PROCESS_ACTIVE") // the demo has created what players need
	commands := document.Find(t, "docs/players.md", "sh", "/auth/guest")
	if commands.Section != "Try it" {
		t.Fatalf("docs/players.md logs in a guest in %q first", commands.Section)
	}
	block := strings.ReplaceAll(commands.Text, "http://127.0.0.1:9080", server)
	first, second := &typist{T: t}, &typist{T: t}
	for _, player := range []*typist{first, second} {
		for line := range strings.Lines(block) {
			player.types(line)
		}
	}
	for _, player := range []*typist{first, second} { // the last command waits for changes
		for patience := time.Now().Add(time.Minute); player.answer["state"] != "completed"; player.types(player.last) {
			if time.Now().After(patience) {
				t.Fatalf("a minute after both have asked, a ticket is %v", player.answer)
			}
		}
		if player.answer["connection"] == nil {
			t.Errorf("nobody is told where to play: %v", player.answer)
		}
	}
}

// typist types the commands of a guide, line by line, into one shell.
type typist struct {
	*testing.T
	known  string // assignments typed so far
	last   string // the last command
	answer map[string]any
}

// types types a line. NAME=… takes the member that its comment names from the
// previous answer.
func (p *typist) types(line string) {
	p.Helper()
	name, rest, taken := strings.Cut(line, "=…")
	switch {
	case taken:
		_, member, _ := strings.Cut(rest, "its ")
		value, ok := p.answer[strings.TrimSpace(member)].(string)
		if !ok {
			p.Fatalf("%q: the answer before was %v", line, p.answer)
		}
		p.known += fmt.Sprintf("%s=%q\n", name, value)
		return
	case !strings.HasPrefix(line, "curl "):
		p.known += line
		return
	}
	p.last, p.answer = line, nil
	const failing = `curl() { command curl --fail-with-body "$@"; }` + "\n"
	out, err := exec.CommandContext(p.Context(), "bash", "-c", failing+p.known+line).Output()
	if err == nil {
		err = json.Unmarshal(out, &p.answer)
	}
	if err != nil {
		p.Fatalf("%s: %v\n%s", line, err, out)
	}
}
