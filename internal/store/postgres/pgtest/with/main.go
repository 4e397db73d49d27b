// Command with starts a temporary PostgreSQL server, runs the command given as its
// arguments with MUSTER_TEST_POSTGRES set to the server's URL, and stops the server.
// Example: with go test ./...…
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("give a command to run")
	}
	server, err := pgtest.Start()
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	// An interrupt ends the command, so that the server is stopped after it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), pgtest.Variable+"="+server.URL)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return errors.Join(cmd.Run(), server.Stop())
}
