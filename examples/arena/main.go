// Command arena is a small but real multiplayer game for Amazon GameLift and
// compatible services: a game server and bots that play on it.
//
//	arena server [--port N] [flags]       run a game server process
//	arena bot --addr HOST:PORT --player-session ID [flags]
//	arena bots                            play as lines of JSON on standard input say
//	arena page [--muster URL]             serve the game as a page for browsers
//
// The server joins a fleet through the official Server SDK 5. On a managed host the
// environment (GAMELIFT_SDK_*) has all it needs; elsewhere the --sdk-url, --fleet-id,
// --host-id, --process-id and --auth-token flags do. It runs one game session and
// exits 0. The game property matchSeconds limits the match; without it the session
// ends when the last player leaves.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The exit codes, which scripts rely on.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRefused  = 3 // a bot was not admitted
	exitUnplayed = 4 // a bot got no answer or lost the server
)

// endWithin limits how long the process takes to end after a signal: the hosting
// service that it notifies may be gone for good.
const endWithin = 20 * time.Second

const usage = `usage: arena server [flags]   run a game server process
       arena bot [flags]      play on one
       arena bots             play for muster bots, as standard input says
       arena page [flags]     serve the game as a page for browsers
Each command explains its flags with --help.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process immediately
		time.AfterFunc(endWithin, func() { os.Exit(exitFailed) })
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch args[0] {
	case "server":
		return runServer(ctx, args[1:], stderr)
	case "bot":
		return runBots(ctx, args[1:], stdout, stderr)
	case "bots":
		return runHost(ctx, args[1:], os.Stdin, stdout, stderr)
	case "page":
		return runPage(ctx, args[1:], os.Stdin, stdout, stderr)
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return exitDone
	}
	fmt.Fprintf(stderr, "unknown command %q\n%s", args[0], usage)
	return exitUsage
}

// parse parses a command's flags. It returns the exit code if the command must not
// run.
func parse(flags *flag.FlagSet, args []string) (int, bool) {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone, false
	case err != nil:
		return exitUsage, false
	case flags.NArg() > 0:
		fmt.Fprintf(flags.Output(), "unexpected argument %q\n", flags.Arg(0))
		return exitUsage, false
	}
	return exitDone, true
}
