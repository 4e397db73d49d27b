//go:build unix

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
)

// An agent that cannot store a new secret continues with the old one, and does not acknowledge it.
// A new secret is on disk when the agent acknowledges it, and the agent uses it from then on.
func TestAgent_KeepsNewSecret(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	m.start(home, nil)
	m.Until("the agent is here", func() bool { return m.Hellos == 1 })
	obstacle := filepath.Join(home, credentialFile+".new")
	if err := os.Mkdir(obstacle, 0o700); err != nil { // in the way of the new file
		t.Fatal(err)
	}
	m.Send(protocol.Message{Secret: &protocol.Secret{Secret: "better"}})
	m.Cut()
	m.Until("the agent is back", func() bool { return m.Hellos == 2 })
	if m.kept != 0 {
		t.Error("it says that it has kept the secret")
	}

	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	m.Send(protocol.Message{Secret: &protocol.Secret{Secret: "better"}})
	m.Until("the new secret is kept", func() bool { return m.kept == 1 })
	var kept link.Credential
	if err := disk.Read(filepath.Join(home, credentialFile), &kept); err != nil || kept.Secret != "better" || kept.HostID != "host-1" || kept.Location != "here" {
		t.Fatalf("on the disk is %+v, %v", kept, err)
	}
	m.Set(func() { m.Secret = "better" })
	m.Cut()
	m.Until("the agent is back with it", func() bool { return m.Hellos == 3 })
	if m.Joins != 1 {
		t.Errorf("it joined %d times", m.Joins)
	}
}

// An agent whose host was removed ends its processes and itself, and does so again when
// it is restarted.
func TestAgent_Removed(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	o := Options{Server: m.URL, Token: "token", Root: home, UserClaims: home + "-claims", KeepRunning: true}
	run := func() error {
		a, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		return a.Run(context.WithoutCancel(t.Context()))
	}
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	p := m.running("i-1", 1)[0]
	m.Set(func() { m.Removed = true })
	m.Cut()
	if err := <-ended; !errors.Is(err, link.ErrRemoved) {
		t.Errorf("the agent ended with %v", err)
	}
	if err := syscall.Kill(p.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("its game server lives on: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(home, "instances")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if err := run(); !errors.Is(err, link.ErrRemoved) {
		t.Errorf("started again it ended with %v", err)
	}
	if m.Joins != 1 {
		t.Errorf("it joined %d times", m.Joins)
	}
}

// An agent joins and links with any of its servers that can be reached.
func TestAgent_TriesServersInTurn(t *testing.T) {
	t.Parallel()
	m := play(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	m.start(root(t), func(o *Options) { o.Server, o.Others = gone.URL, []string{m.URL} })
	m.Until("the agent is here", func() bool { return m.Hellos == 1 })
}

// An agent looks for a server that says that it stops as soon as for one that was there for
// long, however often that happens, and does not warn of it.
func TestAgent_ServerStops(t *testing.T) {
	t.Parallel()
	m := play(t)
	name := filepath.Join(t.TempDir(), "agent.log")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m.start(root(t), func(o *Options) { o.Log = slog.New(slog.NewJSONHandler(out, nil)) })
	const stops = 6
	for n := range stops {
		m.Until("the agent is here", func() bool { return m.Hellos == n+1 })
		m.GoAway()
	}
	m.Until("the agent is here again", func() bool { return m.Hellos == stops+1 })
	log, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range bytes.Lines(log) {
		var entry struct {
			Level, Msg string
			AgainIn    time.Duration `json:"again_in"`
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(entry.Msg, "no link to Muster") {
			continue
		}
		seen++
		if entry.Level != "INFO" || entry.AgainIn > link.FirstWait*5/4 {
			t.Errorf("the agent logs %s", line)
		}
	}
	if seen != stops {
		t.Errorf("%d lines tell of %d stops:\n%s", seen, stops, log)
	}
}

// Cleanup ends the processes and removes the instances of an agent that no longer runs,
// and keeps what an agent needs to start again.
func TestAgent_Cleanup(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	first := m.start(home, func(o *Options) { o.KeepRunning = true })
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 2}))
	left := m.running("i-1", 2)
	cleaner, err := New(Options{Root: home, UserClaims: home + "-claims"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cleaner.Cleanup(t.Context()); err == nil {
		t.Fatal("it ends what an agent looks after")
	}
	first.stop()
	if n, err := cleaner.Cleanup(t.Context()); n != 1 || err != nil {
		t.Fatalf("cleanup: %d instances, %v", n, err)
	}
	for _, p := range left {
		if err := syscall.Kill(p.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d lives on: %v", p.PID, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(home, "instances")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if _, err := os.Stat(filepath.Join(home, credentialFile)); err != nil {
		t.Error(err)
	}
}

// An agent says that others cannot reach the loopback interface, if there may be others.
func TestOptions_OnlyHere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server, ip, dns string
		says            bool
	}{
		{"https://muster.example", "127.0.0.1", "", true}, {"https://muster.example", "::1", "", true}, {"https://muster.example", "127.0.0.1", "here.example", false},
		{"https://muster.example", "192.0.2.1", "", false}, {"https://muster.example", "", "", false}, {"http://127.0.0.1:9080", "127.0.0.1", "", false},
	} {
		o := Options{Server: c.server, Facts: protocol.Facts{IPAddress: c.ip, DNSName: c.dns}}
		if text := o.onlyHere(); (text != "") != c.says || c.says && !strings.Contains(text, "--ip") {
			t.Errorf("of %+v it says %q", c, text)
		}
	}
}

func TestOptions_PlainHTTP(t *testing.T) {
	t.Parallel()
	for server, fine := range map[string]bool{
		"http://127.0.0.1:9080": true, "http://localhost:9080": true, "http://[::1]:9080": true, "https://muster.example": true,
		"http://muster.example": false, "http://10.0.0.1:9080": false, "http://127.0.0.1.example": false,
	} {
		_, err := New(Options{Server: "https://muster.example", Others: []string{server}, Root: t.TempDir()})
		if (err == nil) != fine || !fine && !strings.Contains(err.Error(), "--insecure-plain-http") {
			t.Errorf("%s: %v", server, err)
		}
		if _, err := New(Options{Server: server, Plain: true, Root: t.TempDir()}); err != nil {
			t.Errorf("%s, though plain HTTP is allowed: %v", server, err)
		}
	}
}
