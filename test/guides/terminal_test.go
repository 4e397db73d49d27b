package guides

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// patience is how long a game, or the build of a program, may take on a busy machine.
const patience = 6 * time.Minute

// folder is where readers sit: it looks like a clone of the repository in which `make build`
// was run, but only its bin can be written to. What one test has built there, others use.
var folder = struct {
	dir  string
	once sync.Map // *sync.Once by the text of the block
}{}

func TestMain(m *testing.M) {
	var err error
	if folder.dir, err = os.MkdirTemp("", "guides"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder.dir)
	os.Exit(code)
}

var furnish sync.Once

// desk is a reader with an own Muster.
type desk struct {
	*testing.T
	dir    string
	env    []string
	muster string // its URL, once it runs
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	// Where Godot keeps files of its own.
	d := &desk{T: t, dir: folder.dir, env: append(os.Environ(), "XDG_DATA_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())}
	muster := node.Path(t)
	furnish.Do(func() {
		if err := os.Mkdir(filepath.Join(d.dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		d.link(muster, "bin/muster")
		for _, name := range []string{"clients", "docs", "examples"} {
			d.link(filepath.Join(document.Top(t), name), name)
		}
	})
	return d
}

// moves makes a folder for this desk alone: it has bin, with the programs, which are also found by
// name, and the reader's home.
func (d *desk) moves() {
	d.Helper()
	d.dir = d.TempDir()
	for _, folder := range []string{"bin", "home"} {
		if err := os.Mkdir(filepath.Join(d.dir, folder), 0o755); err != nil {
			d.Fatal(err)
		}
	}
	d.link(node.Path(d), "bin/muster")
	if arena := os.Getenv("ARENA_BIN"); arena != "" {
		d.link(arena, "bin/arena")
	}
	d.env = append(d.env, "PATH="+filepath.Join(d.dir, "bin")+":"+os.Getenv("PATH"), "HOME="+filepath.Join(d.dir, "home"))
}

// build types the blocks of a section that build something, if that was not done yet.
func (d *desk) build(p *part) {
	d.Helper()
	for _, text := range p.builds {
		once, _ := folder.once.LoadOrStore(text, &sync.Once{})
		once.(*sync.Once).Do(func() { d.run(text) })
	}
}

func (d *desk) link(to, name string) {
	d.Helper()
	if err := os.Symlink(to, filepath.Join(d.dir, name)); err != nil {
		d.Fatal(err)
	}
}

// write writes a file, and read reads one, in the reader's folder.
func (d *desk) write(name, text string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) read(name string) string {
	d.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}

// server types a block that starts Muster, and returns when a game server of the block is
// ready. Later blocks find this Muster.
func (d *desk) server(text string) *node.Events {
	d.Helper()
	command := strings.TrimSpace(text)
	if !strings.HasPrefix(command, "bin/muster local ") || strings.Contains(command, "\n") {
		d.Fatalf("no command that starts Muster: %q", command)
	}
	p := d.serves("env MUSTER_LISTEN=127.0.0.1:0 MUSTER_DATA='" + d.TempDir() + "' " + command)
	d.muster, d.env = p.URL, append(d.env, "MUSTER_ENDPOINT="+p.URL)
	seen := node.Follow(d.T, p.URL)
	seen.Code(d.T, "SERVER_PROCESS_ACTIVE")
	return seen
}

// serves runs a server by a command until the test ends.
func (d *desk) serves(command string) *node.Process {
	d.Helper()
	script := fmt.Sprintf("cd '%s' && exec %s", d.dir, strings.TrimSpace(command))
	return node.Serve(d, "env", append(slices.Clone(d.env[len(os.Environ()):]), "bash", "-c", script)...)
}

// agent runs an agent by a command in a folder until the test ends, and its game servers no longer.
func (d *desk) agent(dir, command string, variables ...string) {
	d.Helper()
	var log strings.Builder
	// Not with the test's context, whose end would kill it: its game servers would go on.
	cmd := exec.Command("bash", "-c", "exec env "+strings.TrimSpace(command))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(slices.Clone(d.env), variables...), &log, &log
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if d.Failed() {
			d.Logf("the agent in %s printed:\n%s", dir, &log)
		}
	})
}

// begins types a command that does not end by itself at another terminal, and returns once it has
// printed these words. end ends it with Ctrl+C.
func (d *desk) begins(command string, words ...string) (printed string, end func()) {
	d.Helper()
	cmd := d.shell("exec " + strings.TrimSpace(command) + " 2>&1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	watchdog := time.AfterFunc(patience, func() { cmd.Cancel() })
	for part := make([]byte, 4096); len(words) > 0; {
		n, err := out.Read(part)
		printed += string(part[:n])
		words = slices.DeleteFunc(words, func(word string) bool { return strings.Contains(printed, word) })
		if err != nil {
			break
		}
	}
	if len(words) > 0 {
		d.Errorf("%s does not print %q, but\n%s", command, words, printed)
	}
	return printed, func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		io.Copy(io.Discard, out)
		cmd.Wait()
		watchdog.Stop()
	}
}

// watches types a command that does not end by itself, and ends it once it has printed these words.
func (d *desk) watches(command string, words ...string) {
	d.Helper()
	_, end := d.begins(command, words...)
	end()
}

func (d *desk) shell(text string) *exec.Cmd {
	cmd := exec.CommandContext(d.Context(), "bash", "-ec", text)
	cmd.Dir, cmd.Env = d.dir, d.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to end all its processes
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// run types a block, waits for its end, and returns what it printed.
func (d *desk) run(text string) string {
	d.Helper()
	out, err := d.shell(text).CombinedOutput()
	if err != nil {
		d.Fatalf("%s\nends with %v:\n%s", text, err, out)
	}
	return string(out)
}

// player types a block that plays the game, and guesses by halves as soon as it is asked to.
// It returns what the last guess is answered, and all that was printed.
func (d *desk) player(text string) (last, all string, err error) {
	cmd := d.shell(text)
	var printed, complaints bytes.Buffer
	cmd.Stderr = &complaints
	keyboard, err := cmd.StdinPipe()
	if err != nil {
		return "", "", err
	}
	screen, err := cmd.StdoutPipe()
	if err != nil {
		return "", "", err
	}
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	watchdog := time.AfterFunc(patience, func() { cmd.Cancel() })
	defer watchdog.Stop()
	guesser := guesser{low: 1, high: 100}
	lines := bufio.NewScanner(io.TeeReader(screen, &printed))
	for lines.Scan() {
		if next, more := guesser.next(lines.Text()); more {
			fmt.Fprintln(keyboard, next)
		}
	}
	err = cmd.Wait()
	return guesser.last, printed.String() + complaints.String(), err
}

// guesser guesses by halves, after it has pressed return without a number.
type guesser struct {
	low, high, guess int
	last             string // the answer to the last guess
}

// ending matches the last answer; a player without a keyboard shows its guess before it.
var ending = regexp.MustCompile(`^(?:\d+ )?(you .*)$`)

// next returns what is typed after a line of a player's program, if something is.
func (g *guesser) next(line string) (typed string, more bool) {
	switch line {
	case "guess a number from 1 to 100":
		return "", true
	case "send your player session and a number": // the answer to nothing
	case "higher":
		g.low = g.guess + 1
	case "lower":
		g.high = g.guess - 1
	default:
		if m := ending.FindStringSubmatch(line); m != nil {
			g.last = m[1]
		}
		return "", false
	}
	g.guess = (g.low + g.high) / 2
	return strconv.Itoa(g.guess), true
}

// play has players play, each with a block of its own, until all know how it ended: one has
// won, and the others have lost.
func (d *desk) play(blocks ...string) {
	d.Helper()
	lasts, screens := make([]string, len(blocks)), make([]string, len(blocks))
	var all sync.WaitGroup
	for i, text := range blocks {
		all.Go(func() {
			var err error
			if lasts[i], screens[i], err = d.player(text); err != nil {
				screens[i] += fmt.Sprintf("\n%s\nends with %v", text, err)
			}
		})
	}
	all.Wait()
	won, lost := 0, 0
	for _, last := range lasts {
		switch {
		case last == "you won":
			won++
		case strings.HasPrefix(last, "you lost, it was "):
			lost++
		}
	}
	if won != 1 || lost != len(blocks)-1 {
		d.Fatalf("%d have won and %d have lost of %d. They saw:\n%s", won, lost, len(blocks), strings.Join(screens, "\n-----\n"))
	}
}
