package setup

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/agent/wrap"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// TestMain makes the test binary also the wrapper with which its agent runs programs
// without an SDK.
func TestMain(m *testing.M) {
	at := slices.Index(os.Args, "--") + 1 // wrap --watched … -- PROGRAM ARGUMENTS
	if len(os.Args) < 2 || os.Args[1] != "wrap" || at == 0 || at == len(os.Args) {
		os.Exit(m.Run())
	}
	o, err := wrap.FromEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	o.Watched, o.Program, o.Args = true, os.Args[at], os.Args[at+1:]
	o.Ready.After = time.Second // the games of these tests open no port
	code, err := wrap.Run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// machine lets a machine join a location until the test ends, "" being the home region. It returns when
// the machine is connected.
func machine(t *testing.T, url, location string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &client.Client{Endpoint: url}
	token, err := c.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := agent.New(agent.Options{
		Server: url, Token: token.Token, Root: t.TempDir(), Launcher: self, Unconfined: true, StopGrace: time.Second, Log: slog.New(slog.DiscardHandler),
		Facts: protocol.Facts{IPAddress: "127.0.0.1", CPUMillis: 64_000, MemoryMiB: 256 << 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	before := connected(t, c)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := runner.Run(ctx); err != nil {
			t.Errorf("the agent ends with %v", err)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	wait.Until(t, "the machine has joined", func() bool {
		select {
		case <-ended:
			t.Fatal("the machine did not join")
		default:
		}
		return connected(t, c) != before
	})
}

// connected returns how many machines are connected.
func connected(t *testing.T, c *client.Client) (n int) {
	t.Helper()
	all, err := c.Hosts().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if h.Connected {
			n++
		}
	}
	return n
}
