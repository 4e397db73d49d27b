package typescript

import (
	"bytes"
	"context"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/musterhq/muster/test/node"
)

// Two people run the sample as its comment says, and are to play in the same game.
func TestSample(t *testing.T) {
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is missing; install nodejs to run the sample")
	}
	server, err := node.Run(node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo-players", "0", "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	login := t.TempDir() + "/login.json"
	outputs := [2]bytes.Buffer{}
	ended := make(chan error)
	for i := range outputs {
		args := []string{"../../clients/typescript/sample/duel.mjs", server.URL, "demo"}
		if i == 0 {
			args = append(args, login)
		}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		go func() { ended <- cmd.Run() }()
	}
	failed := false
	for range outputs {
		failed = <-ended != nil || failed
	}
	play := regexp.MustCompile(`(?m)^play: (\S+) as (psess-\S+)$`)
	first, second := play.FindSubmatch(outputs[0].Bytes()), play.FindSubmatch(outputs[1].Bytes())
	if failed || first == nil || second == nil || !bytes.Equal(first[1], second[1]) || bytes.Equal(first[2], second[2]) {
		t.Fatalf("the samples printed:\n%s\n%s", &outputs[0], &outputs[1])
	}
	// The first one starts again, as after a crash, and goes back to its game.
	text, err := exec.CommandContext(ctx, program, "../../clients/typescript/sample/duel.mjs", server.URL, "demo", login).CombinedOutput()
	if again := play.FindSubmatch(text); err != nil || again == nil || !bytes.Equal(again[0], first[0]) {
		t.Errorf("the sample, started again: %v\n%s\nafter\n%s", err, text, &outputs[0])
	}
}
