package main

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// outputFlags choose how results are shown.
type outputFlags struct {
	Output string `short:"o" group:"server" enum:"table,json" default:"table" help:"table or json (${default})."`
}

func (f *outputFlags) json() bool { return f.Output == "json" }

// lookFlags are shared by the commands that show something of a server.
type lookFlags struct {
	clientFlags
	outputFlags
}

// ProvideTerminal is called by kong for commands whose Run takes a Terminal.
func (f *lookFlags) ProvideTerminal(t *streams) (*terminal.Terminal, error) {
	c, err := f.ProvideClient()
	return &terminal.Terminal{Client: c, Out: t.out, JSON: f.json()}, err
}

type watchFlags struct {
	lookFlags
	Watch bool          `short:"w" help:"Show it again and again."`
	Every time.Duration `default:"2s" help:"Pause of --watch (${default})."`
}

// ProvideTerminal is like that of lookFlags.
func (f *watchFlags) ProvideTerminal(t *streams) (*terminal.Terminal, error) {
	view, err := f.lookFlags.ProvideTerminal(t)
	if f.Watch {
		view.Watch, view.Screen = f.Every, t.screen
	}
	return view, err
}

type fleetsCommand struct {
	watchFlags
	ByLocation bool `help:"A line for each location of a fleet."`
}

// Run shows the fleets.
func (c *fleetsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Fleets(t.ctx, c.ByLocation)
}

// sessionsCommand is `muster sessions`.
type sessionsCommand struct {
	List listSessionsCommand `cmd:"" default:"withargs" help:"Show game sessions."`
	Logs sessionLogsCommand  `cmd:"" help:"Show the end of the log of the game server that hosts a game session now."`
}

type listSessionsCommand struct {
	watchFlags
	Fleet  string `placeholder:"ID" help:"Only this fleet's."`
	Status string `placeholder:"STATUS" help:"Only those that are ACTIVATING, ACTIVE, TERMINATING or TERMINATED."`
}

// Run shows game sessions.
func (c *listSessionsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Sessions(t.ctx, terminal.SessionFilter{FleetID: c.Fleet, Status: c.Status})
}

type sessionLogsCommand struct {
	lookFlags
	ID     string `arg:"" help:"The GameSessionId, or the id that 'muster sessions' shows."`
	Follow bool   `short:"f" help:"Go on with what it writes, until the game session ends."`
}

// Run shows the log of a game session.
func (c *sessionLogsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.SessionLog(t.ctx, c.ID, c.Follow)
}

type eventsCommand struct {
	lookFlags
	Follow  bool   `short:"f" help:"Go on with new events until stopped; reconnects by itself."`
	After   uint64 `placeholder:"SEQ" help:"Only events behind this sequence number."`
	Last    int    `default:"20" help:"How many old events to begin with (${default})."`
	Fleet   string `placeholder:"ID" help:"Only what concerns this fleet."`
	Session string `placeholder:"ARN" help:"Only what concerns this game session."`
}

// Run shows the event log.
func (c *eventsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Events(t.ctx, client.EventQuery{
		After: c.After, Last: c.Last, Follow: c.Follow, FleetID: c.Fleet, GameSessionID: c.Session,
		Reconnected: func(err error) { fmt.Fprintln(t.err, "muster: connection lost, trying again:", err) },
	})
}
