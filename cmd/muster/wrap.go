package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/agent/wrap"
)

// wrapCommand is `muster wrap`.
type wrapCommand struct {
	logFlags
	Logs []string `name:"log-path" placeholder:"PATH" help:"Log files of the program, kept with the game session's logs."`
	HTTP bool     `name:"http" xor:"way" env:"-" help:"Start the program at once: it says over HTTP when it is ready, at MUSTER_GAME_URL."`
	// MUSTER_LEGACY_SDK is an agent's; programs inherit it.
	Legacy bool `name:"legacy-sdk" xor:"way" env:"-" help:"Start the program at once: it connects with Server SDK 3 or 4, on ports 5757 to 5759 of the loopback interface."`
	bareFlags
	Watched  bool     `help:"An agent reports how this ends: exit without ProcessEnding where the program crashes, as other game servers do."`
	GamePort int      `hidden:"" help:"The port of the program's HTTP interface on loopback; 0 picks one."`
	Command  []string `arg:"" help:"The program and its arguments, after --; {{.GameSessionId}}, {{.GamePort}}, {{.GameProperties}} and others stand for the game session's values."`
}

// Run hosts one game session, and ends with the program's exit code.
func (c *wrapCommand) Run(t *streams) error {
	o, err := wrap.FromEnvironment()
	if err != nil {
		return err
	}
	o.Program, o.Args, o.LogPaths, o.Watched, o.HTTP, o.GamePort, o.Log = c.Command[0], c.Command[1:], c.Logs, c.Watched, c.HTTP, c.GamePort, c.logger(t.err)
	if flag := c.bareFlags.given(); flag != "" && (c.HTTP || c.Legacy) {
		return fmt.Errorf("wrap: --%s is for a program that says nothing; with --http or --legacy-sdk it speaks for itself", flag)
	}
	if err := c.bareFlags.apply(&o); err != nil {
		return fmt.Errorf("wrap: %w", err)
	}
	if c.Legacy {
		o.Legacy = &legacy.Standard
	}
	code, err := wrap.Run(t.ctx, o)
	if s, ok := errors.AsType[*wrap.Signaled](err); ok {
		s.Die()
		return failed(code)
	}
	if err != nil {
		return err
	}
	if code != 0 {
		return failed(code)
	}
	return nil
}

// failed is a program's exit code that becomes ours.
type failed int

func (f failed) Error() string { return fmt.Sprintf("the program ended with code %d", int(f)) }

// withoutSDK returns the command that wraps a program.
func withoutSDK(program string, how bareFlags, args []string) []string {
	return slices.Concat([]string{"wrap", "--watched"}, how.flags(), []string{"--", program}, args)
}
