// Command muster hosts session-based multiplayer games on one's own machines
// and speaks the Amazon GameLift API. This folder turns flags, MUSTER_…
// variables and the configuration file into options, and nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/internal/plain"
)

// commands are the commands and flags of the command line.
type commands struct {
	ShowVersion versionFlag `name:"version" short:"V" env:"-" help:"Tell the version, commit and Go release, and exit."`

	Local localCommand `cmd:"" help:"Run everything in one process on this machine, with a demo game; any credentials are accepted."`
	Serve serveCommand `cmd:"" help:"Run the server: callers need keys."`

	Agent agentCommand       `cmd:"" help:"Run game servers on this machine for a server."`
	Shell shellAccessCommand `cmd:"" help:"Open a shell, or run a program, in an instance of a managed fleet."`

	Authority authorityCommand `cmd:"" name:"ca" help:"Print the certificate that game clients trust, on fleets with CertificateType GENERATED."`

	Wrap      wrapCommand      `cmd:"" help:"Host a game server that knows no SDK, or an old one: agents start this in its place."`
	Hosts     hostsCommand     `cmd:"" help:"The machines that have joined: see them, take them out of service."`
	Preflight preflightCommand `cmd:"" help:"Try a build on this machine as a fleet would run it."`

	Demo     demoCommand     `cmd:"" help:"The demo game on a running server."`
	Bots     botsCommand     `cmd:"" help:"Headless players that go the whole way on a running server, and tell how it went."`
	Beacon   beaconCommand   `cmd:"" help:"Answer players who measure the latency to this location."`
	Fleets   fleetsCommand   `cmd:"" help:"Show fleets and their use."`
	Sessions sessionsCommand `cmd:"" help:"Show game sessions, and the logs of their game servers."`
	Queues   queuesCommand   `cmd:"" help:"Show game session queues and what waits in them."`
	Events   eventsCommand   `cmd:"" help:"Show what happened, or follow it."`

	Placements placementsCommand `cmd:"" help:"Look into placements."`
	Tickets    ticketsCommand    `cmd:"" help:"Look into matchmaking tickets."`
	Players    playersCommand    `cmd:"" help:"Look into players, and keep them out."`

	Deploy deployCommand `cmd:"" help:"Bring a new build to a fleet without losing a game session, and take it back."`
	Apply  applyCommand  `cmd:"" help:"Make a server what a file describes: builds, fleets, queues, matchmaking. Shows a plan first."`
	Export exportCommand `cmd:"" help:"Write the set-up of a server as such a file, or as a bundle with its builds."`
	Import importCommand `cmd:"" help:"Bring a set-up over from elsewhere."`

	Webhooks webhooksCommand `cmd:"" help:"Receivers of notifications: what they took, and what they did not."`

	Ruleset  rulesetCommand  `cmd:"" help:"Matchmaking rule sets, without a server."`
	Simulate simulateCommand `cmd:"" help:"Play matchmaking in virtual time: wait, quality, and why not; compare two rule sets."`

	Admin  adminCommand  `cmd:"" help:"Keys, backup, restore, verify."`
	Replay replayCommand `cmd:"" help:"Run a recording again and compare."`

	Version    versionCommand    `cmd:"" help:"Tell the version."`
	Completion completionCommand `cmd:"" help:"Completion for bash, zsh and fish."`
}

// streams are a command's output and its lifetime.
type streams struct {
	ctx      context.Context // ends with SIGINT or SIGTERM
	out, err io.Writer       // escape what could change the terminal (package plain)
	screen   io.Writer       // standard output without escaping: for erasing it, and for the user's own programs

	screenErr io.Writer // standard error without escaping, for the user's own programs
}

// escaped returns the streams that commands get, so that no command can print others'
// text unescaped.
func (t *streams) escaped() *streams {
	return &streams{ctx: t.ctx, out: plain.NewWriter(t.out), err: plain.NewWriter(t.err), screen: t.out, screenErr: t.err}
}

func main() {
	isolate.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	code := run(os.Args[1:], &streams{ctx: ctx, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// run is main without the process. It returns the exit code.
func run(args []string, t *streams) int {
	t = t.escaped()
	exited := -1 // the code with which kong wants to end, after --help
	parser, err := newParser(&commands{}, t, func(code int) { exited = code })
	if err != nil {
		fmt.Fprintln(t.err, "muster:", err)
		return 1
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintln(t.err, "muster:", err)
		return 2
	}
	err = parsed.Run(t)
	var code failed
	if errors.As(err, &code) {
		return int(code)
	}
	if err != nil {
		fmt.Fprintln(t.err, "muster:", err)
		return 1
	}
	return 0
}

func newParser(c *commands, t *streams, exit func(code int)) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("muster"),
		kong.Description("Open game hosting that speaks the Amazon GameLift API."),
		kong.DefaultEnvars("MUSTER"),
		kong.Configuration(readConfig),
		kong.Writers(t.out, t.err),
		kong.Exit(exit),
	)
}
