package scenario

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// The configurations of load balancers in the guide for operators: behind each, a game server
// is connected, and no call fails when the owner is killed and when it is stopped.

func TestBalancer_HAProxy(t *testing.T) {
	behind(t, "haproxy", func(t *testing.T, config, address string) *exec.Cmd {
		config = replaced(t, config, `:443 ssl crt /etc/haproxy/muster.pem`, address)
		return exec.Command("haproxy", "-db", "-f", saved(t, config+"\n"))
	})
}

func TestBalancer_Nginx(t *testing.T) {
	behind(t, "nginx", func(t *testing.T, config, address string) *exec.Cmd {
		config = replaced(t, config, "listen 443 ssl;", "listen "+address+";")
		config = regexp.MustCompile(`(?m)^ *ssl_.*$`).ReplaceAllString(config, "")
		dir := t.TempDir()
		var paths strings.Builder
		for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			paths.WriteString(what + "_temp_path " + filepath.Join(dir, what) + ";\n")
		}
		config = "daemon off; pid " + filepath.Join(dir, "pid") + "; error_log stderr; events {}\nhttp {\naccess_log off;\n" + paths.String() + config + "\n}\n"
		return exec.Command("nginx", "-p", dir, "-e", "stderr", "-c", saved(t, config))
	})
}

// behind runs a cluster of two behind a load balancer with its configuration in the guide.
func behind(t *testing.T, program string, command func(t *testing.T, config, address string) *exec.Cmd) {
	node.Path(t)
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed; apt-get install %s", program, program)
	}
	url := pgtest.URL(t)
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```" + program + "\n(.*?)```").FindSubmatch(guide)
	if block == nil {
		t.Fatalf("the guide has no configuration of %s", program)
	}
	c := openClusterBehind(t, func(servers []string) string {
		config := replaced(t, string(block[1]), "10.0.0.11:9080", servers[0])
		config = replaced(t, config, "10.0.0.12:9080", servers[1])
		address := node.Reserve(t)
		runFront(t, command(t, config, address), address)
		return address
	}, 2, url, pgtest.Cell(t, url), lease, "--trusted-proxies", "127.0.0.1")
	c.owner()
	load := newAliases(t, "http://"+c.front)
	place := node.NewPlace(t, node.Client("http://"+c.front))
	game := place.Server(t)
	for _, end := range []func(*node.Process){(*node.Process).Kill, func(p *node.Process) { _ = p.Stop() }} {
		load.await(t, 50)
		i, before := c.owner(), game.Connections()
		end(c.servers[i])
		c.await(i)
		load.await(t, 50)
		wait.Until(t, "the game server is connected to the next owner", func() bool { return game.Connections() != before })
		c.servers[i] = c.launch(i)
	}
	for _, err := range load.end(t) {
		t.Errorf("a call failed: %v", err)
	}
}

func replaced(t *testing.T, text, old, with string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("the configuration has no %q:\n%s", old, text)
	}
	return strings.ReplaceAll(text, old, with)
}

func saved(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runFront runs a load balancer until the test ends, and waits until it listens.
func runFront(t *testing.T, cmd *exec.Cmd, address string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			said := out.Bytes()
			t.Logf("the load balancer said:\n%s", said[max(0, len(said)-3000):])
		}
	})
	wait.For(t, "the load balancer listens", func() error {
		select {
		case <-ended:
			t.Fatalf("the load balancer ended:\n%s", &out)
		default:
		}
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
}
