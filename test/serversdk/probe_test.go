package serversdk_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

// patience bounds how long a test waits for an event: the Go SDK waits 8 s before it
// first tries to restore a lost connection, and another 16 s before the second attempt.
const patience = 60 * time.Second

// programs is the folder of the programs that the tests build.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "muster-sdk")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// probePath builds the probe and returns its path.
var probePath = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "probe")
	out, err := exec.Command("go", "build", "-o", path, "./probe").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build probe: %w\n%s", err, out)
	}
	return path, nil
})

// probe is a running game server.
type probe struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    chan string
	events []line // read while waiting for a response
	log    *output
}

// line is a line of the probe's output.
type line struct {
	kind, name string
	value      json.RawMessage
}

// startProbe starts a probe with the SDK's environment variables.
func startProbe(t *testing.T, env map[string]string) *probe {
	t.Helper()
	path, err := probePath()
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{t: t, cmd: exec.Command(path), out: make(chan string, 1000), log: &output{}}
	p.cmd.Dir = t.TempDir() // the SDK creates a log directory
	p.cmd.Env = os.Environ()
	for k, v := range env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	p.cmd.Stderr = p.log
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.out)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			p.out <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		p.in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
		if t.Failed() {
			t.Logf("the SDK's log:\n%s", p.log)
		}
	})
	return p
}

// readyProbe starts a probe that has called InitSDK and ProcessReady.
func readyProbe(t *testing.T, env map[string]string) *probe {
	t.Helper()
	p := startProbe(t, env)
	p.do(nil, "init")
	p.do(nil, "ready", "7777")
	return p
}

// next returns the next line of the probe.
func (p *probe) next() line {
	p.t.Helper()
	parts := strings.SplitN(wait.Receive(p.t, "a line of the probe", p.out), " ", 3)
	for len(parts) < 3 {
		parts = append(parts, "")
	}
	return line{parts[0], parts[1], json.RawMessage(parts[2])}
}

// tell sends a command without waiting for its response.
func (p *probe) tell(words ...string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, strings.Join(words, " ")); err != nil {
		p.t.Fatal(err)
	}
}

// try sends a command and returns its response.
func (p *probe) try(words ...string) line {
	p.t.Helper()
	p.tell(words...)
	for {
		l := p.next()
		if l.kind != "event" {
			return l
		}
		p.events = append(p.events, l)
	}
}

// do sends a command that must succeed and decodes its result.
func (p *probe) do(result any, words ...string) {
	p.t.Helper()
	l := p.try(words...)
	if l.kind != "ok" {
		p.t.Fatalf("%v: %s", words, l.value)
	}
	if result != nil {
		if err := json.Unmarshal(l.value, result); err != nil {
			p.t.Fatalf("%v: %s: %v", words, l.value, err)
		}
	}
}

// refused sends a command that must fail with an error that contains text.
func (p *probe) refused(text string, words ...string) {
	p.t.Helper()
	if l := p.try(words...); l.kind != "error" || !strings.Contains(string(l.value), text) {
		p.t.Errorf("%v: got %s %s, want an error that says %q", words, l.kind, l.value, text)
	}
}

// event waits for a callback of the SDK and decodes its argument.
func (p *probe) event(name string, v any) {
	p.t.Helper()
	for {
		var l line
		if len(p.events) > 0 {
			l, p.events = p.events[0], p.events[1:]
		} else {
			l = p.next()
		}
		if l.kind != "event" || l.name != name {
			continue
		}
		if v != nil {
			if err := json.Unmarshal(l.value, v); err != nil {
				p.t.Fatalf("%s: %v", l.value, err)
			}
		}
		return
	}
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed at the next write
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// await waits until text is written and reports whether it was, for at most patience.
func (o *output) await(text string) bool {
	deadline := time.After(patience)
	for {
		o.mu.Lock()
		found := strings.Contains(o.b.String(), text)
		if o.more == nil {
			o.more = make(chan struct{})
		}
		more := o.more
		o.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-more:
		case <-deadline:
			return false
		}
	}
}
