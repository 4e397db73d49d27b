package agent

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// visit requests a remote shell in which a script runs, and returns the agent's connection.
func (m *muster) visit(want protocol.Shell, script string) *websocket.Conn {
	m.Helper()
	return m.run(want, protocol.ShellCommand{Command: []string{"sh", "-c", script}})
}

// run requests a remote shell in which a command runs, and returns the agent's connection.
// Its id is unique, as Muster's are: a control group of the machine is named after it.
func (m *muster) run(want protocol.Shell, c protocol.ShellCommand) *websocket.Conn {
	m.Helper()
	id := "s-" + rand.Text()
	connected := make(chan *websocket.Conn, 1)
	m.Mu.Lock()
	if m.shells == nil {
		m.shells = map[string]chan *websocket.Conn{}
	}
	m.shells[id] = connected
	m.Mu.Unlock()
	want.ID = id
	m.Send(protocol.Message{Shell: &want})
	ws := wait.Receive(m, "the agent's connection for a shell", connected)
	m.Cleanup(func() { ws.Close() })
	start, err := c.Frame()
	if err == nil {
		err = ws.WriteMessage(websocket.BinaryMessage, start.Bytes())
	}
	if err != nil {
		m.Fatal(err)
	}
	return ws
}

// output reads a shell's output until it contains a text or the shell ends, and returns how
// it ended. What comes as an error is logged: a launcher that measures coverage complains there,
// if it is not ended before.
func (m *muster) output(ws *websocket.Conn, text string) (out string, end protocol.ShellEnd) {
	m.Helper()
	ws.SetReadDeadline(time.Now().Add(time.Minute))
	for text == "" || !strings.Contains(out, text) {
		_, message, err := ws.ReadMessage()
		if err != nil {
			m.Fatalf("behind %q: %v", out, err)
		}
		f, err := protocol.ParseShellFrame(message)
		if err != nil {
			m.Fatal(err)
		}
		if f.Op == protocol.ShellExit {
			if end, err = f.End(); err != nil {
				m.Fatal(err)
			}
			ws.Close()
			return out, end
		}
		if f.Op == protocol.ShellErrors {
			m.Logf("the shell's errors: %q", f.Payload)
			continue
		}
		out += string(f.Payload)
	}
	return out, end
}

// An agent runs no shell that its machine's owner has not allowed, whatever Muster requests.
func TestAgent_RefusesShells(t *testing.T) {
	t.Parallel()
	m := play(t)
	m.start(root(t), nil)
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	m.running("i-1", 1)
	out, end := m.output(m.visit(protocol.Shell{InstanceID: "i-1", Compute: "i-1"}, "echo here"), "")
	if out != "" || end.Code != 255 || !strings.Contains(end.Problem, "refuses") {
		t.Errorf("%q, %+v", out, end)
	}
}

// A shell runs as the instance's user and sees no other one; there is none on a compute that
// is not here, and no more than the limit. Other processes of the instance, which are of the same
// user, cannot open the terminal of a shell; its own program uses it as /dev/tty.
func TestAgent_IsolatesShells(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, launcher := reachable(t)
	users := usersOf(t, launcher, 1_900_000_210)
	a := m.start(home, func(o *Options) { o.Launcher, o.Users, o.Shells = launcher, users, IsolatedShells })
	m.Until("it has joined", func() bool { return m.Hellos > 0 })
	if offer := a.opts.Facts.Shells; !offer.Offered {
		t.Skipf("this machine isolates too little: %s", offer.Why)
	}
	b, one := m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}
	m.Assign(want(t, "i-1", b, one), want(t, "i-2", b, one))
	m.running("i-1", 1)
	m.running("i-2", 1)
	here := protocol.Shell{InstanceID: "i-1", Compute: "i-1"}
	const script = `id -u; ls ../../i-2/game; cat ../../../credential.json; ls /root; echo x >> server.sh 2>/dev/null || echo read-only; env | grep -c TOKEN; exit 3`
	out, end := m.output(m.visit(here, "exec 2>/dev/null; "+script), "")
	if want := fmt.Sprintf("%d\nread-only\n0\n", ownerOf(filepath.Join(home, "instances", "i-1", "game"))); out != want || end.Code != 3 {
		t.Errorf("%q, %+v, want %q", out, end, want)
	}
	for what, other := range map[string]protocol.Shell{
		"an instance that is not here": {InstanceID: "i-3", Compute: "i-3"}, "another compute": {InstanceID: "i-1", Compute: "i-1/0"},
	} {
		if out, end := m.output(m.visit(other, "echo here"), ""); out != "" || end.Code != 255 || end.Problem == "" {
			t.Errorf("%s: %q, %+v", what, out, end)
		}
	}
	var open []*websocket.Conn
	for range maxShells {
		ws := m.visit(here, "echo begun; sleep 1000")
		m.output(ws, "begun")
		open = append(open, ws)
	}
	if _, end := m.output(m.visit(here, "echo here"), ""); !strings.Contains(end.Problem, "the limit") {
		t.Errorf("one more than the limit: %+v", end)
	}
	m.Assign(want(t, "i-2", b, one))
	for _, ws := range open {
		if _, end := m.output(ws, ""); !strings.Contains(end.Problem, "the instance has ended") {
			t.Errorf("with its instance a shell ends with %+v", end)
		}
	}
	m.Until("the instance is gone", func() bool { return m.Instance("i-1").Phase == protocol.Gone || m.Instance("i-1").InstanceID == "" })
	left, err := filepath.Glob(filepath.Join(home, "instances", "i-1", "temp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}

	here = protocol.Shell{InstanceID: "i-2", Compute: "i-2"}
	visit := m.run(here, protocol.ShellCommand{
		Command: []string{"sh", "-c", "echo through > /dev/tty; echo at=$(tty)=; read line < /dev/tty; echo got $line; exec sleep 1000"}, Terminal: &protocol.ShellTerminal{},
	})
	if err := visit.WriteMessage(websocket.BinaryMessage, protocol.ShellFrame{Op: protocol.ShellInput, Payload: []byte("keys\r")}.Bytes()); err != nil {
		t.Fatal(err)
	}
	out, end = m.output(visit, "got keys")
	_, at, _ := strings.Cut(out, "at=")
	at, _, ok := strings.Cut(at, "=")
	if !ok || !strings.Contains(out, "through") || !strings.HasPrefix(at, "/dev/pts/") {
		t.Fatalf("%q, %+v", out, end)
	}
	for what, how := range map[string]string{"reads": "< " + at, "writes": "> " + at} {
		if out, end := m.output(m.visit(here, "ls -d "+at+" && exec 3"+how+" && echo opened"), ""); end.Code == 0 || strings.Contains(out, "opened") || !strings.Contains(out, at) {
			t.Errorf("%s: %q, %+v", what, out, end)
		}
	}
}

// Without isolation, shells need the owner's explicit consent, and never run as root.
func TestShellOffer(t *testing.T) {
	t.Parallel()
	bare := jail.New(jail.Options{Root: t.TempDir()})
	for policy, text := range map[ShellPolicy]string{NoShells: "--allow-shells", IsolatedShells: "--isolation required"} {
		o := Options{Shells: policy}
		if offer := o.shellOffer(bare); offer.Offered || !strings.Contains(offer.Why, text) {
			t.Errorf("policy %q: %+v, want %q", policy, offer, text)
		}
	}
	o := Options{Shells: AnyShells}
	if offer := o.shellOffer(bare); offer.Offered == (os.Geteuid() == 0) {
		t.Errorf("as user %d: %+v", os.Geteuid(), offer)
	}
	if _, err := New(Options{Root: t.TempDir(), Shells: "all"}); err == nil || !strings.Contains(err.Error(), "as-agent") {
		t.Errorf("an unknown policy: %v", err)
	}
}
