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
	code, err := wrap.Run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// machine lets a machine join a location until the test ends, "" being the home region.
func machine(t *testing.T, url, location string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	token, err := (&client.Client{Endpoint: url}).CreateJoinToken(t.Context(), client.JoinTokenInput{Location: location})
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
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the agent ends with %v", err)
		}
	})
}
