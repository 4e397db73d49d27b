package guides

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

const threeMachines = "docs/three-machines.md"

// machines are the three of the guide, as folders of this one: an address for all, and ports
// for each.
type machines struct {
	*desk
	address string // of the server
	token   string // with which machines join
	host    string // id of one that has joined
}

// said replaces in a command what readers replace.
func (m *machines) said(text string) string {
	return strings.NewReplacer("0.0.0.0:9443", m.address, "10.0.0.10:9443", m.address, "join-…", m.token, "host-…", m.host).Replace(text)
}

// TestThreeMachines types the commands of the guide in its order, until a game was played on one
// of the machines and that machine is taken out of service.
func TestThreeMachines(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run this as root, as the guide's agents are: they isolate game servers")
	}
	m := &machines{desk: newDesk(t), address: node.Reserve(t)}
	arena := os.Getenv("ARENA_BIN")
	if arena == "" {
		t.Skip("set ARENA_BIN to the demo game, which the guide hosts")
	}
	top := t.TempDir()
	if err := os.Chmod(filepath.Dir(top), 0o755); err != nil { // users of game servers come through it
		t.Fatal(err)
	}
	m.dir = filepath.Join(top, "server")
	for _, name := range []string{"server", "bin", "1", "2"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.link(node.Path(t), "../bin/muster")
	m.link(arena, "../bin/arena")
	m.env = append(m.env, "PATH="+filepath.Join(top, "bin")+":"+os.Getenv("PATH"), "HOME="+top)
	for _, block := range document.Blocks(t, threeMachines) {
		switch {
		case block.Language == "yaml":
			m.write("muster.yaml", block.Text)
		case block.Language != "sh":
		case block.Lead == "**On the server:**":
			m.serve(block.Text)
		case block.Lead == "**On each of the two machines:**":
			m.join(block.Text, filepath.Join(top, "1"), "21000-21199")
			m.join(block.Text, filepath.Join(top, "2"), "22000-22199")
		case block.Lead == "**On the server, at a second terminal:**":
			m.types(block.Text)
		default:
			t.Fatalf("%s:%d: the line before the block does not say where it is typed: %q", threeMachines, block.Line, block.Lead)
		}
	}
	if m.host == "" || m.token == "" {
		t.Errorf("%s makes no token, or shows no machines", threeMachines)
	}
}

// serve starts the server, and waits until it is ready.
func (m *machines) serve(text string) {
	m.Helper()
	p, err := node.Run("env", append(m.env[len(os.Environ()):], "bash", "-c", "cd '"+m.dir+"' && exec "+m.said(strings.TrimSpace(text)))...)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		if err := p.Stop(); err != nil {
			m.Error(err)
		}
		if m.Failed() {
			m.Logf("the server printed:\n%s", p.Log())
		}
	})
}

// join starts an agent in a folder of its own. With the test it ends, and its game servers do.
func (m *machines) join(text, dir, ports string) {
	m.Helper()
	cert, err := os.ReadFile(filepath.Join(m.dir, "muster-data", "server-cert.pem"))
	if err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server-cert.pem"), cert, 0o644); err != nil {
		m.Fatal(err)
	}
	var log strings.Builder
	agent := exec.Command("bash", "-c", strings.Replace(m.said(strings.TrimSpace(text)), " muster agent ", " exec muster agent ", 1))
	agent.Dir, agent.Stdout, agent.Stderr = dir, &log, &log
	agent.Env = append(m.env, "MUSTER_PORTS="+ports, "MUSTER_CPU=2", "MUSTER_STOP=true", "MUSTER_NAME=machine-"+filepath.Base(dir))
	if err := agent.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		agent.Process.Signal(syscall.SIGTERM)
		agent.Wait()
		if m.Failed() {
			m.Logf("the agent in %s printed:\n%s", dir, &log)
		}
	})
}

var (
	madeToken = regexp.MustCompile(`MUSTER_TOKEN=(join-[a-z0-9]+)`)
	shownHost = regexp.MustCompile(`host-[0-9a-f]{8}-[0-9a-f-]+`)
)

// types types the commands of a block, and keeps what later ones need of what they print.
func (m *machines) types(text string) {
	m.Helper()
	out := m.run(m.said(text))
	if made := madeToken.FindStringSubmatch(out); made != nil {
		m.token = made[1]
	}
	if strings.Contains(text, "muster hosts\n") && m.host == "" {
		wait.For(m, "both agents are connected", func() error { // they join at their own pace
			if strings.Count(out, "connected") >= 2 {
				return nil
			}
			out = m.run(m.said(text))
			return fmt.Errorf("muster hosts prints\n%s", out)
		})
		m.host = shownHost.FindString(out)
	}
	for command, want := range map[string]string{"muster fleets": "ACTIVE", "muster sessions": "TERMINATED", "muster hosts drain": "drain"} {
		if strings.Contains(text, command+"\n") || strings.Contains(text, command+" ") {
			if !strings.Contains(out, want) {
				m.Errorf("%s prints no %q:\n%s", command, want, out)
			}
		}
	}
}
