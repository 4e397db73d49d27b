package guides

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// reader types the blocks of a guide, in a folder of their own that looks like a clone of the
// repository, and puts in what readers put in: ports, folders, names of hosts, ids.
type reader struct {
	*desk
	guide string
	put   []string // old and new text, in turn
}

// newReader returns the reader of a guide, docs/NAME.md.
func newReader(t *testing.T, name string) *reader {
	t.Helper()
	r := &reader{desk: newDesk(t), guide: "docs/" + name + ".md"}
	r.moves()
	for _, name := range []string{"clients", "deploy", "docs", "examples", "test"} {
		r.link(filepath.Join(document.Top(t), name), name)
	}
	return r
}

// puts adds to what is put in place of a text of the guide.
func (r *reader) puts(old, with string) { r.put = append(r.put, old, with) }

// said returns a text of the guide with what is put in.
func (r *reader) said(text string) string { return strings.NewReplacer(r.put...).Replace(text) }

// step is what is done with a block: of is how its text begins.
type step struct {
	of string
	do func(text string)
}

// follow types the commands of the guide in their order. Each block that the table claims for
// this test has a step, and each step a block.
func (r *reader) follow(steps ...step) {
	r.Helper()
	for _, block := range document.Blocks(r, r.guide) {
		if c, _, _ := claimOf(r.guide, block.Text); block.Language != "sh" || c.test != "test/guides/"+r.Name() {
			continue
		}
		if len(steps) == 0 || !strings.HasPrefix(block.Text, steps[0].of) {
			r.Fatalf("%s:%d: this test has no step for the block:\n%s", r.guide, block.Line, block.Text)
		}
		steps[0].do(block.Text)
		steps = steps[1:]
	}
	if len(steps) > 0 {
		r.Errorf("%s has no block that begins with %q", r.guide, steps[0].of)
	}
}

// types is a step that types a block, which prints these words.
func (r *reader) types(of string, words ...string) step {
	return step{of, func(text string) { r.prints(text, words...) }}
}

// prints types a text, and returns what it prints, in which there are these words.
func (r *reader) prints(text string, words ...string) string {
	r.Helper()
	out := r.run(r.said(text))
	for _, word := range words {
		if !strings.Contains(out, word) {
			r.Errorf("%s: no %q in what this prints:\n%s\n%s", r.guide, word, text, out)
		}
	}
	return out
}

// commands returns the commands of a block, each with its further lines.
func commands(text string) []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\\\n", "")), "\n")
}

// runs starts a server by a command of the guide, and waits until it is ready. It ends with the
// test. What the guide leaves out (…) is in more.
func (r *reader) runs(command string, more ...string) *node.Process {
	r.Helper()
	command = strings.TrimSpace(strings.ReplaceAll(r.said(strings.TrimSpace(command)), "…", ""))
	return r.serves(command + " " + strings.Join(more, " "))
}

// operator returns a client of a server with its first key, which is in its data folder.
func (r *reader) operator(p *node.Process, data string) *client.Client {
	r.Helper()
	return &client.Client{Endpoint: p.URL, Credentials: node.FirstKey(r, filepath.Join(r.dir, data))}
}

// serve starts `muster serve` with a data folder of the reader's, whose admin key further
// commands use.
func (r *reader) serve(data string, more ...string) (*node.Process, *client.Client) {
	r.Helper()
	p := r.runs("muster serve --listen 127.0.0.1:0 --log-level warn --data "+data, more...)
	r.env = append(r.env, "MUSTER_ENDPOINT="+p.URL, "MUSTER_CREDENTIALS="+filepath.Join(r.dir, data, "admin-credentials"))
	return p, r.operator(p, data)
}

// api returns AWS's client with a key.
func api(c *client.Client) *gamelift.Client {
	return node.ClientAs(c.Endpoint, c.Credentials.AccessKeyID, c.Credentials.SecretAccessKey)
}

// onTerminal types a command at a terminal, and these lines once it asks. It returns what is on the screen.
func (r *reader) onTerminal(command string, lines ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "script", "--quiet", "--return", "--command", r.said(command), "/dev/null")
	cmd.Dir, cmd.Env = r.dir, r.env
	keyboard, err := cmd.StdinPipe()
	if err != nil {
		r.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	watchdog := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer watchdog.Stop()
	var screen strings.Builder
	part := make([]byte, 4096)
	asked := 0
	for {
		n, err := out.Read(part)
		screen.Write(part[:n])
		if asks := question.FindAllString(screen.String(), -1); len(asks) > asked && len(lines) > 0 {
			fmt.Fprintln(keyboard, lines[0])
			asked, lines = len(asks), lines[1:]
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		r.Fatalf("%s\nends with %v:\n%s", command, err, &screen)
	}
	return screen.String()
}

// question is where a command asks for something.
var question = regexp.MustCompile(`(?i)\[y/n\] ?|\(none: press Enter\): |\(not shown\): `)

// watches types a command that does not end by itself, and ends it once it has printed these words.
func (r *reader) watches(command string, words ...string) {
	r.Helper()
	r.desk.watches(r.said(command), words...)
}

// starts is like watches, but the command runs on until the test ends. It returns what was printed.
func (r *reader) starts(command string, words ...string) string {
	r.Helper()
	printed, end := r.begins(r.said(command), words...)
	r.Cleanup(end)
	return printed
}
