//go:build unix

package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// A new secret is on the disk when the agent says that it has kept it, and is
// what it shows from then on.
func TestAgent_KeepsNewSecret(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	m.start(home, nil)
	m.until("the agent is here", func() bool { return m.hellos == 1 })
	m.send(protocol.Message{Secret: &protocol.Secret{Secret: "better"}})
	m.until("the new secret is kept", func() bool { return m.kept == 1 })
	var kept credential
	if err := readJSON(filepath.Join(home, credentialFile), &kept); err != nil || kept.Secret != "better" || kept.HostID != "host-1" || kept.Location != "here" {
		t.Fatalf("on the disk is %+v, %v", kept, err)
	}
	m.mu.Lock()
	m.secret = "better"
	m.mu.Unlock()
	m.cut()
	m.until("the agent is back", func() bool { return m.hellos == 2 })
	if m.joins != 1 {
		t.Errorf("it joined %d times", m.joins)
	}
}

// An agent that cannot keep a new secret goes on with the old one, and does not
// say that it had.
func TestAgent_CannotKeepNewSecret(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	m.start(home, nil)
	m.until("the agent is here", func() bool { return m.hellos == 1 })
	if err := os.Mkdir(filepath.Join(home, credentialFile+".new"), 0o700); err != nil { // where it would be written
		t.Fatal(err)
	}
	m.send(protocol.Message{Secret: &protocol.Secret{Secret: "better"}})
	m.cut()
	m.until("the agent is back", func() bool { return m.hellos == 2 })
	if m.kept != 0 {
		t.Error("it says that it has kept the secret")
	}
}

// An agent whose host was removed ends what it runs, and itself; it does not come
// back by being started again.
func TestAgent_Removed(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	o := Options{Server: m.server.URL, Token: "token", Root: home, UserClaims: home + "-claims", Leave: true}
	run := func() error {
		a, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		return a.Run(context.WithoutCancel(t.Context()))
	}
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	m.assign(wish(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	p := m.running("i-1", 1)[0]
	m.mu.Lock()
	m.removed = true
	m.mu.Unlock()
	m.cut()
	if err := <-ended; !errors.Is(err, errRemoved) {
		t.Errorf("the agent ended with %v", err)
	}
	if err := syscall.Kill(p.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("its game server lives on: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(home, "instances")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if err := run(); !errors.Is(err, errRemoved) {
		t.Errorf("started again it ended with %v", err)
	}
	if m.joins != 1 {
		t.Errorf("it joined %d times", m.joins)
	}
}
