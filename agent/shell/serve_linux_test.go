package shell

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/hosts/shell"
	"github.com/musterhq/muster/internal/wait"
)

// client is the client of a shell whose program runs without isolation.
type client struct {
	*shell.Stream
	t     *testing.T
	dir   string
	ended chan protocol.ShellEnd // how Serve ended
	stop  chan struct{}          // ends the instance
}

// begin starts a program.
func begin(t *testing.T, c protocol.ShellCommand) *client {
	t.Helper()
	return beginIn(t, c, func(*exec.Cmd) {})
}

// beginIn is begin with a function to be called when what the program has left is ended.
func beginIn(t *testing.T, c protocol.ShellCommand, end func(*exec.Cmd)) *client {
	t.Helper()
	var program *exec.Cmd
	me := &client{t: t, dir: t.TempDir(), ended: make(chan protocol.ShellEnd, 1), stop: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		st := shell.New(ws)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			select {
			case <-me.stop:
				cancel()
			case <-ctx.Done():
			}
		}()
		control, read := make(chan protocol.ShellFrame), make(chan struct{})
		go func() {
			defer close(read)
			st.Run(func(f protocol.ShellFrame) error {
				select {
				case control <- f:
				case <-ctx.Done():
				}
				return nil
			})
			cancel()
		}()
		end := Serve(ctx, st, c, Options{
			Name: "test", Dir: me.dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + me.dir},
			Start: func(cmd *exec.Cmd) error { program = cmd; return cmd.Start() }, End: func() { end(program) },
		}, control)
		cancel()
		st.Send(end.Frame())
		me.ended <- end
		<-read // the client closes the connection when it has read the end
	}))
	t.Cleanup(server.Close)
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	me.Stream = shell.New(ws)
	go me.Run(func(protocol.ShellFrame) error { return errors.New("a frame of a client") })
	t.Cleanup(me.Close)
	return me
}

// A client that does not read does not hold up the end of its instance.
func TestServe_ClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c := begin(t, script("yes"))
	for n := 0; n < protocol.ShellWindow-protocol.MaxShellData; { // nothing is acknowledged; the errors' reader has the rest
		f, ok := c.Next()
		if !ok {
			t.Fatalf("%d bytes were read", n)
		}
		n += len(f.Payload)
	}
	close(c.stop)
	wait.Done(t, "the end of the shell", c.ended)
}

func script(text string) protocol.ShellCommand {
	return protocol.ShellCommand{Command: []string{"sh", "-c", text}}
}

func (c *client) send(op protocol.ShellOp, payload string) {
	c.t.Helper()
	var err error
	if op.IsData() {
		err = c.Copy(op, strings.NewReader(payload))
	} else {
		err = c.Send(protocol.ShellFrame{Op: op, Payload: []byte(payload)})
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// until reads output until it contains a text.
func (c *client) until(text string) {
	c.t.Helper()
	var got strings.Builder
	for !strings.Contains(got.String(), text) {
		f, ok := c.Next()
		if !ok || !f.Op.IsData() {
			c.t.Fatalf("no %q in %q before %v", text, got.String(), f)
		}
		got.Write(f.Payload)
		c.Used(f)
	}
}

// rest reads output to the end, and how the program ended.
func (c *client) rest() (out, errs string, end protocol.ShellEnd) {
	c.t.Helper()
	var texts [2]strings.Builder
	for {
		f, ok := c.Next()
		if !ok {
			c.t.Fatal("the connection ended without a last frame")
		}
		switch f.Op {
		case protocol.ShellOutput:
			texts[0].Write(f.Payload)
		case protocol.ShellErrors:
			texts[1].Write(f.Payload)
		case protocol.ShellExit:
			c.Close()
			end, err := f.End()
			if err != nil {
				c.t.Fatal(err)
			}
			return texts[0].String(), texts[1].String(), end
		}
		c.Used(f)
	}
}

func TestServe_Streams(t *testing.T) {
	t.Parallel()
	c := begin(t, script("pwd; cat; echo end >&2; exit 4"))
	c.send(protocol.ShellInput, "some ")
	c.send(protocol.ShellInput, "input")
	c.send(protocol.ShellEOF, "")
	if out, errs, end := c.rest(); out != c.dir+"\nsome input" || errs != "end\n" || end.Code != 4 {
		t.Errorf("%q, %q, %+v", out, errs, end)
	}
}

// Output is complete, however late the client reads it.
func TestServe_AllOutput(t *testing.T) {
	t.Parallel()
	c := begin(t, script("head -c 3000000 /dev/zero | tr '\\0' x; echo done > done"))
	if out, errs, end := c.rest(); len(out) != 3_000_000 || errs != "" || end.Code != 0 {
		t.Errorf("%d bytes, %q, %+v", len(out), errs, end)
	}
}

// A program that reads no input holds up only its input.
func TestServe_ReadsNothing(t *testing.T) {
	t.Parallel()
	c := begin(t, script("trap 'echo caught; exit 6' TERM; echo ready; while :; do sleep 0.01; done"))
	c.until("ready")
	c.send(protocol.ShellInput, strings.Repeat("x", protocol.ShellWindow))
	c.send(protocol.ShellSignal, "NONSENSE")
	c.send(protocol.ShellSignal, "TERM")
	if out, _, end := c.rest(); out != "caught\n" || end.Code != 6 {
		t.Errorf("%q, %+v", out, end)
	}
}

func TestServe_Signaled(t *testing.T) {
	t.Parallel()
	c := begin(t, script("echo ready; sleep 1000"))
	c.until("ready")
	c.send(protocol.ShellSignal, "KILL")
	if _, _, end := c.rest(); end.Code != 137 || end.Signal != "SIGKILL" {
		t.Errorf("%+v", end)
	}
}

// A process that got away and holds the output open does not hold up the end.
func TestServe_Leftovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]protocol.ShellCommand{
		"streams":  script("setsid sh -c 'echo $$ > away; exec sleep 1000' & while ! [ -s away ]; do sleep 0.01; done; echo bye; exit 3"),
		"terminal": {Command: script("setsid sh -c 'echo $$ > away; exec sleep 1000' & while ! [ -s away ]; do sleep 0.01; done; echo bye; exit 3").Command, Terminal: &protocol.ShellTerminal{Type: "vt100"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, c)
			out, _, end := c.rest()
			if strings.TrimSpace(out) != "bye" || end.Code != 3 {
				t.Errorf("%q, %+v", out, end)
			}
			text, err := os.ReadFile(filepath.Join(c.dir, "away"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			syscall.Kill(pid, syscall.SIGKILL) // isolation would have ended it
		})
	}
}

// A program that has exited is reaped after the last signal to its group: before that no
// other process can have its id.
func TestServe_ReapsLast(t *testing.T) {
	t.Parallel()
	for name, terminal := range map[string]*protocol.ShellTerminal{"streams": nil, "terminal": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script("exit 5")
			c.Terminal = terminal
			there := make(chan error, 1)
			at := beginIn(t, c, func(cmd *exec.Cmd) { there <- syscall.Kill(cmd.Process.Pid, 0) })
			if _, _, end := at.rest(); end.Code != 5 {
				t.Errorf("it ended with %+v", end)
			}
			if err := <-there; err != nil {
				t.Errorf("its group gets a signal when the program has been reaped: %v", err)
			}
		})
	}
}

// A signal reaches the group in the foreground of a terminal, and not one of another session
// that has got the id of a former one.
func TestServe_SignalsForeground(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"INT", "TERM"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script("trap 'echo outer' INT TERM; set -m; sh -c 'trap \"echo caught; exit 9\" INT TERM; echo ready; while :; do sleep 0.01; done'; exit $?")
			c.Terminal = &protocol.ShellTerminal{}
			at := begin(t, c)
			at.until("ready")
			at.send(protocol.ShellSignal, name)
			if out, _, end := at.rest(); !strings.Contains(out, "caught") || end.Code != 9 {
				t.Errorf("%q, %+v", out, end)
			}
		})
	}
	s := session{cmd: exec.Command("sleep", "1000")}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.cmd.Wait()
	defer s.cmd.Process.Kill()
	if s.isOurs(os.Getpid()) || s.isOurs(1) || s.isOurs(-1) || !s.isOurs(s.cmd.Process.Pid) {
		t.Error("groups of other sessions are taken for the program's")
	}
}

// When the client goes, the program is ended, and what it was writing is dropped.
func TestServe_ClientGoes(t *testing.T) {
	t.Parallel()
	for name, terminal := range map[string]*protocol.ShellTerminal{"streams": nil, "terminal": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script("echo ready; exec yes")
			c.Terminal = terminal
			at := begin(t, c)
			at.until("ready")
			at.Close()
			if end := <-at.ended; end.Signal != "SIGKILL" {
				t.Errorf("it ended with %+v", end)
			}
		})
	}
}

func TestServe_Terminal(t *testing.T) {
	t.Parallel()
	// A size does not wait for input that a program has not taken, so the two are in no order.
	c := script(`stty size; echo $TERM; until [ "$(stty size)" = "30 90" ]; do sleep 0.01; done; echo resized; read line; echo got $line; trap 'echo winch; exit 8' WINCH; echo ready; while :; do sleep 0.01; done`)
	c.Terminal = &protocol.ShellTerminal{Type: "vt100", ShellSize: protocol.ShellSize{Columns: 100, Rows: 40}}
	at := begin(t, c)
	at.until("40 100\r\nvt100\r\n")
	if err := at.Send(protocol.ShellSize{Columns: 90, Rows: 30}.Frame()); err != nil {
		t.Fatal(err)
	}
	at.until("resized\r\n")
	at.send(protocol.ShellInput, "a line\r")
	at.until("got a line\r\nready")
	if err := at.Send(protocol.ShellSize{Columns: 91, Rows: 30}.Frame()); err != nil {
		t.Fatal(err)
	}
	if out, _, end := at.rest(); !strings.Contains(out, "winch") || end.Code != 8 {
		t.Errorf("%q, %+v", out, end)
	}
}

func TestServe_Refused(t *testing.T) {
	t.Parallel()
	if _, _, end := begin(t, protocol.ShellCommand{Command: []string{"no-such-program"}}).rest(); end.Code != 127 || end.Problem == "" {
		t.Errorf("a program that does not exist: %+v", end)
	}
	if _, _, end := begin(t, protocol.ShellCommand{Command: []string{"./no-such-program"}}).rest(); end.Code == 0 || end.Problem == "" {
		t.Errorf("a path that does not exist: %+v", end)
	}
}
