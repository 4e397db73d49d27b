package archtest

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	agentgroup "github.com/musterhq/muster/agent/group"
	agentinstance "github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/state"
	"github.com/musterhq/muster/notify"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

var update = flag.Bool("update", false, "write what documents show: the diagrams of docs/state-machines.md, and the files of examples")

// diagrams returns the diagrams of docs/state-machines.md by heading.
func diagrams() map[string]string {
	return map[string]string{
		"Fleet and fleet location":       diagram(fleet.Moves),
		"Container fleet":                diagram(fleet.ContainerMoves),
		"Fleet deployment":               diagram(fleet.DeploymentMoves),
		"Build":                          diagram(build.Moves),
		"Container group definition":     diagram(container.Moves),
		"Instance":                       diagram(instance.Moves),
		"Instance on its machine":        diagram(agentinstance.Moves),
		"Container group on its machine": diagram(agentgroup.Moves),
		"Game server process":            diagram(compute.Moves),
		"Game session":                   diagram(session.Moves),
		"Player session":                 diagram(session.PlayerMoves),
		"Placement":                      diagram(placement.Moves),
		"Attempt at a remote":            diagram(placement.AttemptMoves),
		"Matchmaking ticket":             diagram(life.Moves),
		"Subscription of a topic":        diagram(notify.Moves),
		"Game server group":              diagram(fleetiq.Moves),
		"Game server of a group":         diagram(fleetiq.ServerMoves),
	}
}

// diagram draws a table of moves in Mermaid.
func diagram[S ~string](moves state.Machine[S]) string {
	type move struct{ from, to, cause string }
	var all []move
	left := map[string]bool{} // states with a move out of them
	for m, cause := range moves {
		all = append(all, move{string(m[0]), string(m[1]), cause})
		left[string(m[0])] = true
	}
	slices.SortFunc(all, func(a, b move) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var b strings.Builder
	var last []string
	b.WriteString("stateDiagram-v2\n")
	for _, m := range all {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", cmp.Or(m.from, "[*]"), m.to, m.cause)
		if !left[m.to] {
			last = append(last, m.to)
		}
	}
	slices.Sort(last)
	for _, state := range slices.Compact(last) {
		fmt.Fprintf(&b, "    %s --> [*]\n", state)
	}
	return b.String()
}

func TestStateMachines(t *testing.T) {
	file := filepath.Join(root(t), "docs", "state-machines.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for heading, want := range diagrams() {
		before, got, after, ok := cutDiagram(text, heading)
		switch {
		case !ok:
			t.Errorf("docs/state-machines.md has no heading %q with a mermaid block", heading)
		case *update:
			text = before + want + after
		case got != want:
			t.Errorf("docs/state-machines.md, %s: run go test ./internal/archtest -update (-document +code):\n%s", heading, gocmp.Diff(got, want))
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// cutDiagram splits a document around the diagram that follows a heading.
func cutDiagram(text, heading string) (before, diagram, after string, ok bool) {
	const fence = "```mermaid\n"
	at := strings.Index(text, "\n## "+heading+"\n")
	if at < 0 {
		return "", "", "", false
	}
	begin := strings.Index(text[at:], fence)
	if begin < 0 {
		return "", "", "", false
	}
	begin += at + len(fence)
	end := strings.Index(text[begin:], "```")
	if end < 0 {
		return "", "", "", false
	}
	return text[:begin], text[begin : begin+end], text[begin+end:], true
}
