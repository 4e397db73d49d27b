// Command muster hosts session-based multiplayer games on one's own machines
// and speaks the Amazon GameLift API. This folder turns flags, MUSTER_…
// variables and the configuration file into options, and nothing else.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup/live"
)

// commands are the commands and flags of the command line.
type commands struct {
	ShowVersion versionFlag `name:"version" short:"V" env:"-" help:"Print the version, commit and Go release, and exit."`

	Local     localCommand     `cmd:"" group:"start" help:"Run everything in one process on this machine, with a demo game; any credentials are accepted."`
	Demo      demoCommand      `cmd:"" group:"start" help:"The demo game on a running server."`
	Bots      botsCommand      `cmd:"" group:"start" help:"Headless players that go the whole way on a running server, and report how it went."`
	Login     loginCommand     `cmd:"" group:"start" help:"Use a server from now on: check a key with it, and keep both as a context."`
	Context   contextCommand   `cmd:"" group:"start" help:"Show the contexts, or choose the one that commands use."`
	Logout    logoutCommand    `cmd:"" group:"start" help:"Forget a context and its key."`
	Preflight preflightCommand `cmd:"" group:"start" help:"Try a build on this machine as a fleet would run it."`

	Deploy   deployCommand   `cmd:"" group:"game" help:"Bring a new build to a fleet without losing a game session, and take it back."`
	Apply    applyCommand    `cmd:"" group:"game" help:"Make a server what a file describes: builds, fleets, queues, matchmaking. Shows a plan first."`
	Export   exportCommand   `cmd:"" group:"game" help:"Write the set-up of a server as such a file, or as a bundle with its builds."`
	Import   importCommand   `cmd:"" group:"game" help:"Bring a set-up over from elsewhere."`
	Ruleset  rulesetCommand  `cmd:"" group:"game" help:"Check matchmaking rule sets, without a server."`
	Simulate simulateCommand `cmd:"" group:"game" help:"Play matchmaking in virtual time: waits, quality, and why not; compare two rule sets."`
	Wrap     wrapCommand     `cmd:"" group:"game" help:"Host a game server that knows no SDK, or an old one: agents start this in its place."`

	Status     statusCommand     `cmd:"" group:"operate" help:"Show whether players can play now, and what happened lately."`
	Fleets     fleetsCommand     `cmd:"" group:"operate" help:"Show fleets and their use."`
	Cost       costCommand       `cmd:"" group:"operate" help:"Show what fleets cost now: an hour, and an hour of a player."`
	Sessions   sessionsCommand   `cmd:"" group:"operate" help:"Show game sessions and the logs of their game servers, and end them."`
	Queues     queuesCommand     `cmd:"" group:"operate" help:"Show game session queues and what waits in them."`
	Placements placementsCommand `cmd:"" group:"operate" help:"Explain placements."`
	Tickets    ticketsCommand    `cmd:"" group:"operate" help:"Show and explain matchmaking tickets, and export them."`
	Players    playersCommand    `cmd:"" group:"operate" help:"Show players, and keep them out."`
	Events     eventsCommand     `cmd:"" group:"operate" help:"Show what happened, or follow it."`
	Webhooks   webhooksCommand   `cmd:"" group:"operate" help:"Receivers of notifications: what they took, and what they did not."`

	Hosts     hostsCommand       `cmd:"" group:"operate" help:"The machines that have joined: see them, take them out of service."`
	Shell     shellAccessCommand `cmd:"" group:"operate" help:"Open a shell, or run a program, in an instance of a managed fleet."`
	Authority authorityCommand   `cmd:"" group:"operate" name:"ca" help:"Print the certificate that game clients trust, on fleets with CertificateType GENERATED."`

	Serve  serveCommand  `cmd:"" group:"run" help:"Run the server: callers need keys."`
	Agent  agentCommand  `cmd:"" group:"run" help:"Run game servers on this machine for a server."`
	Beacon beaconCommand `cmd:"" group:"run" help:"Answer players who measure the latency to this location."`
	Health healthCommand `cmd:"" group:"run" help:"Report whether the server on this machine accepts work, as a health check of containers."`

	Admin  adminCommand  `cmd:"" group:"admin" help:"Keys, logins, join tokens, servers, backup, restore, verify, audit log."`
	Replay replayCommand `cmd:"" group:"admin" help:"Run a recording again and compare."`

	Version    versionCommand    `cmd:"" group:"self" help:"Print the version."`
	Completion completionCommand `cmd:"" group:"self" help:"Completion for bash, zsh and fish."`
	Help       helpCommand       `cmd:"" group:"self" help:"Show how a command is used."`
}

// streams are a command's output and its lifetime.
type streams struct {
	ctx      context.Context // ends with SIGINT or SIGTERM
	out, err io.Writer       // escape what could change the terminal (package plain)
	screen   io.Writer       // standard output without escaping: for erasing it, and for the user's own programs

	screenErr *terminal.Screen // standard error without escaping, for progress and the user's own programs
}

// escaped returns the streams that commands get, so that no command can print others'
// text unescaped.
func (t *streams) escaped() *streams {
	screenErr := terminal.NewScreen(t.err)
	return &streams{ctx: t.ctx, out: plain.NewWriter(t.out), err: plain.NewWriter(screenErr), screen: t.out, screenErr: screenErr}
}

func main() {
	isolate.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	code := run(os.Args[1:], &streams{ctx: ctx, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// interruptedCode is the exit code of a command that a signal has ended, as that of a shell for SIGINT.
const interruptedCode = 130

// run is main without the process. It returns the exit code.
func run(args []string, t *streams) int {
	t = t.escaped()
	exited := -1 // the code with which kong wants to end, after --help
	parser, err := newParser(&commands{}, t, func(code int) { exited = code })
	if err != nil {
		fmt.Fprintln(t.err, "muster:", err)
		return 1
	}
	if unfinished(parser.Model.Node, args) {
		args = append([]string{"help"}, args...)
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		parsed = wrong.Context
	}
	if parsed != nil {
		err = cmp.Or(misnamed(parsed, err), err)
	}
	var field wrongField
	if errors.As(err, &field) {
		err = field.error
	}
	if err != nil {
		fmt.Fprintln(t.err, "muster:", err)
		fmt.Fprintln(t.err, helpFor(parsed, err))
		return 2
	}
	for _, v := range notRead(parsed) {
		fmt.Fprintln(t.err, "muster:", v)
	}
	if err = parsed.Run(t); err == nil {
		return 0
	}
	return t.exit(inFile(parsed, err))
}

// exit says what the error of a command is, and returns the exit code.
func (t *streams) exit(err error) int {
	if code, ok := errors.AsType[failed](err); ok {
		return int(code)
	}
	if t.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(t.err, "muster: interrupted")
		if stopped, ok := errors.AsType[*live.Stopped](err); ok {
			fmt.Fprintln(t.err, stopped.State)
		}
		return interruptedCode
	}
	fmt.Fprintln(t.err, "muster:", err)
	if text := hint(err); text != "" {
		fmt.Fprintln(t.err, "hint:", text)
	}
	return 1
}

func newParser(c *commands, t *streams, exit func(code int)) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("muster"),
		kong.Description("Muster hosts session-based multiplayer games on your own machines, and speaks the Amazon GameLift API."),
		kong.PostBuild(variables),
		kong.Configuration(readConfig),
		kong.NamedMapper("existingfile", kong.MapperFunc(givenFile)),
		kong.Writers(t.out, t.err),
		kong.Exit(exit),
		kong.ExplicitGroups(groups),
		kong.Help(printHelp(t)),
	)
}

// helpFor returns where help is for a command line that is wrong. parsed is nil if nothing of
// it was read.
func helpFor(parsed *kong.Context, err error) string {
	words := []string{"muster help"}
	if parsed != nil {
		if path := typedPath(parsed); path != "" {
			words = append(words, path)
		}
	}
	text := ""
	if has := err.Error(); strings.Contains(has, "--output must be one of") || strings.Contains(has, "unknown flag -o") || strings.Contains(has, "unknown flag --output") {
		text = "--output (-o) is the format; the file to write is --out FILE. "
	}
	return text + "Run '" + strings.Join(words, " ") + "' to see how it is used."
}
