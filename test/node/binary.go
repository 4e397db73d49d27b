package node

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Variable is the name of the environment variable with the path of the built binary.
const Variable = "MUSTER_BIN"

// Path returns the path of the built binary, or skips the test if none is given.
func Path(t testing.TB) string {
	t.Helper()
	return built(t, Variable)
}

// Arena returns the path of the built demo game, or skips the test if none is given.
func Arena(t testing.TB) string {
	t.Helper()
	return built(t, "ARENA_BIN")
}

func built(t testing.TB, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("set %s to a built program, as `make e2e` does, to run this", variable)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return path
}

// Process is a running `muster local` without the demo.
type Process struct {
	// URL is the base URL from the ready line.
	URL string
	// Ready is the time from the start of the process to that line.
	Ready time.Duration

	cmd    *exec.Cmd
	log    *tail
	told   atomic.Bool   // it was told to end
	exited chan struct{} // closed when the process is gone
	err    error         // how it ended; read it after exited
}

// Start runs `muster local --demo=false` with more arguments and waits for its ready
// line. The process ends with the test at the latest.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	p, err := TryStart(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TryStart is like Start but returns an error if the process is not ready.
func TryStart(t testing.TB, args ...string) (*Process, error) {
	t.Helper()
	p, err := Run(Path(t), append([]string{"local", "--demo=false"}, args...)...)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", p.Log())
		}
	})
	return p, nil
}

// Serve runs the binary at a path with exactly these arguments until the test ends. Then it stops in
// order, since its game servers would outlive a kill, unless the test has ended it.
func Serve(t testing.TB, path string, args ...string) *Process {
	t.Helper()
	p, err := Run(path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.told.Load() {
			if err := p.Stop(); err != nil {
				t.Errorf("the server does not stop in order: %v", err)
			}
		}
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", p.Log())
		}
	})
	return p
}

// Run starts the binary with exactly these arguments and waits for its ready line.
func Run(path string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(path, args...), log: &tail{}, exited: make(chan struct{})}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go p.watch(out, ready)
	select {
	case p.URL = <-ready:
		p.Ready = time.Since(begin)
		return p, nil
	case <-p.exited:
		return nil, fmt.Errorf("%s %s ended before it was ready: %v\n%s", path, strings.Join(args, " "), p.err, p.Log())
	case <-time.After(60 * time.Second):
		p.Kill()
		return nil, fmt.Errorf("%s %s was not ready after a minute\n%s", path, strings.Join(args, " "), p.Log())
	}
}

// watch reads standard output to its end and waits for the process.
func (p *Process) watch(out io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			select {
			case ready <- url:
			default:
			}
		}
		fmt.Fprintln(p.log, lines.Text())
	}
	p.err = p.cmd.Wait()
	close(p.exited)
}

// Exited returns a channel that is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill kills the process without warning, and waits for its end.
func (p *Process) Kill() {
	p.told.Store(true)
	p.cmd.Process.Kill() // fails only if it is already gone
	<-p.exited
}

// Stop sends the process SIGTERM and returns how it ended.
func (p *Process) Stop() error {
	p.told.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return p.err
	case <-time.After(60 * time.Second):
		p.Kill()
		return fmt.Errorf("did not stop within a minute of SIGTERM")
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns the end of the process's output.
func (p *Process) Log() string { return p.log.String() }

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailSize = 16 << 10

// Write implements io.Writer.
func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(b)
	if over := w.buf.Len() - tailSize; over > tailSize {
		w.buf.Next(over)
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.buf.Bytes()
	return string(b[max(0, len(b)-tailSize):])
}
