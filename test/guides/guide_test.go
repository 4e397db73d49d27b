package guides

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// guide is a document that a reader types in its order, at a terminal whose shell knows in each
// block what was set in those before.
type guide struct {
	*desk
	name    string
	left    []document.Block // claimed for this test, and not typed yet
	replace []string         // what readers replace, and by what
	shell   *exec.Cmd        // nil before the first block
	in      io.Writer
	out     *bufio.Reader
	log     bytes.Buffer // what was printed, by all blocks
	late    *time.Timer  // ends the shell when a block takes too long
}

// newGuide opens a document at its first block of those that the table claims for this test. All
// have to be typed when the test ends.
func newGuide(t *testing.T, name string) *guide {
	t.Helper()
	g := &guide{desk: newDesk(t), name: name}
	g.moves()
	g.env = append(g.env, "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_DEFAULT_REGION=us-east-1")
	for _, block := range blocksOf(t, name) {
		if c, _, _ := claimOf(name, block.Text); c.test == "test/guides/"+t.Name() {
			g.left = append(g.left, block)
		}
	}
	t.Cleanup(func() {
		if len(g.left) > 0 && !t.Failed() && !t.Skipped() {
			t.Errorf("%s:%d was not typed:\n%s", name, g.left[0].Line, g.left[0].Text)
		}
		if t.Failed() {
			t.Logf("the terminal shows:\n%s", &g.log)
		}
	})
	return g
}

// next returns the text of the next block with what readers replace in it, and fails the test if
// that is not the expected one.
func (g *guide) next(begins string) string {
	g.Helper()
	if len(g.left) == 0 || !strings.HasPrefix(g.left[0].Text, begins) {
		g.Fatalf("the next block of %s does not begin with %q: %+v", g.name, begins, g.left)
	}
	block := g.left[0]
	g.left = g.left[1:]
	for i := 0; i < len(g.replace); i += 2 {
		block.Text = strings.ReplaceAll(block.Text, g.replace[i], g.replace[i+1])
	}
	return block.Text
}

// with has later blocks typed with another text in place of one of the document.
func (g *guide) with(text, by string) { g.replace = append(g.replace, text, by) }

// serve runs a server for the rest of the guide, with these arguments of the program. Its URL
// is that of the guide.
func (g *guide) serve(args ...string) *node.Process {
	g.Helper()
	args = append(args, "--listen", "127.0.0.1:0", "--log-level", "warn")
	if !slices.Contains(args, "--data") {
		args = append(args, "--data", g.TempDir())
	}
	p := g.serves("muster " + strings.Join(args, " "))
	g.muster, g.env = p.URL, append(g.env, "MUSTER_ENDPOINT="+p.URL)
	g.with("http://127.0.0.1:9080", p.URL)
	return p
}

// What the shell prints when a block has ended, or one of its commands has failed.
const (
	done   = "-- the block has ended --\n"
	failed = "-- the block has failed --\n"
)

// types types the next block, and returns what it prints.
func (g *guide) types(begins string) string {
	g.Helper()
	return g.enter(g.next(begins))
}

// enter types a text, and returns what it prints. The test fails with the first command that does.
func (g *guide) enter(text string) string {
	g.Helper()
	if g.shell == nil {
		g.start()
	}
	g.late.Reset(patience)
	defer g.late.Stop()
	g.write(".typed", text)
	if _, err := io.WriteString(g.in, "source ./.typed </dev/null\necho '"+strings.TrimSpace(done)+"'\n"); err != nil {
		g.Fatal(err)
	}
	var printed strings.Builder
	for {
		line, err := g.out.ReadString('\n')
		before, ended := strings.CutSuffix(line, done)
		before, broken := strings.CutSuffix(before, failed)
		printed.WriteString(before)
		g.log.WriteString(before)
		switch {
		case ended:
			return printed.String()
		case broken || err != nil:
			g.Fatalf("%s:\n%s\nfails:\n%s", g.name, text, &printed)
		}
	}
}

// start starts the shell, which ends with the test, and what it has left running does.
func (g *guide) start() {
	g.Helper()
	g.shell = g.desk.shell("set -o pipefail; trap 'echo " + strings.TrimSpace(failed) + "' EXIT; while read -r line; do eval \"$line\"; done")
	read, write, err := os.Pipe()
	if err != nil {
		g.Fatal(err)
	}
	g.shell.Stdout, g.shell.Stderr = write, write
	if g.in, err = g.shell.StdinPipe(); err == nil {
		err = g.shell.Start()
	}
	write.Close()
	if err != nil {
		g.Fatal(err)
	}
	g.out = bufio.NewReader(read)
	g.late = time.AfterFunc(patience, func() { g.shell.Cancel() })
	g.Cleanup(func() {
		syscall.Kill(-g.shell.Process.Pid, syscall.SIGTERM)
		g.shell.Wait()
		g.late.Stop()
		rest, _ := io.ReadAll(g.out) // until all that it has left running has ended
		g.log.Write(rest)
		read.Close()
	})
}

// until types a command again until it prints a text: what it shows happens by itself.
func (g *guide) until(command, text string) string {
	g.Helper()
	return wait.Value(g, fmt.Sprintf("%s prints %q", command, text), func() (string, error) {
		out := g.enter(command)
		if !strings.Contains(out, text) {
			return "", fmt.Errorf("it prints\n%s", out)
		}
		return out, nil
	})
}

// prints fails the test if a text does not have the others.
func (g *guide) prints(out string, texts ...string) {
	g.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			g.Errorf("%s: no %q in\n%s", g.name, text, out)
		}
	}
}
