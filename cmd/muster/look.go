package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/style"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/nearest"
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
	view := &terminal.Terminal{Client: c, Out: t.out, JSON: f.json(), Width: style.Width(t.screen, 0)}
	if s := style.Of(t.screen); s.On() {
		view.Colors = t.screen
	}
	return view, err
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

// statusCommand is `muster status`.
type statusCommand struct{ watchFlags }

// Run shows whether players can play now.
func (c *statusCommand) Run(t *streams, view *terminal.Terminal) error { return view.Status(t.ctx) }

// fleetsCommand is `muster fleets`.
type fleetsCommand struct {
	List  listFleetsCommand `cmd:"" default:"withargs" help:"Show fleets with their instances, game sessions and players."`
	Show  showFleetCommand  `cmd:"" help:"Show one fleet with its locations and its last events."`
	Scale scaleFleetCommand `cmd:"" help:"Set how many instances a location of a fleet is to have."`
}

type scaleFleetCommand struct {
	lookFlags
	Fleet    string `arg:"" help:"The fleet: name, id, ARN, or a part that only its id begins or ends with."`
	Location string `placeholder:"NAME" help:"The location; may be left out if MaxSize is above 0 in one only."`
	Desired  *int   `placeholder:"N" help:"DesiredInstances: how many it is to have now. Scaling policies may change it again."`
	Min      *int   `placeholder:"N" help:"MinSize: the fewest that DesiredInstances may be. With SCALE_TO_AND_FROM_ZERO the server sets it."`
	Max      *int   `placeholder:"N" help:"MaxSize: the most that DesiredInstances may be."`
}

// Run sets the capacity of a location of a fleet.
func (c *scaleFleetCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.ScaleFleet(t.ctx, c.Fleet, terminal.Scale{Location: c.Location, Min: c.Min, Desired: c.Desired, Max: c.Max})
}

type showFleetCommand struct {
	lookFlags
	Fleet string `arg:"" help:"The fleet: name, id, ARN, or a part that only its id begins or ends with."`
}

// Run shows a fleet.
func (c *showFleetCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Fleet(t.ctx, c.Fleet)
}

type listFleetsCommand struct {
	watchFlags
	Status     string `placeholder:"STATUS" help:"Only those that are NEW, DOWNLOADING, VALIDATING, BUILDING, ACTIVATING, ACTIVE, DELETING, ERROR or TERMINATED, or of container fleets PENDING, CREATING, CREATED or UPDATING; with --by-location, only the locations that are."`
	Location   string `placeholder:"NAME" help:"Only fleets in this location."`
	ByLocation bool   `help:"A line for each location of a fleet."`
}

// Run shows the fleets.
func (c *listFleetsCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := oneOf("status", c.Status, "NEW", "DOWNLOADING", "VALIDATING", "BUILDING", "ACTIVATING", "ACTIVE", "DELETING", "ERROR", "TERMINATED", "NOT_FOUND",
		"PENDING", "CREATING", "CREATED", "UPDATING"); err != nil {
		return err
	}
	return view.Fleets(t.ctx, terminal.FleetFilter{Status: c.Status, Location: c.Location, ByLocation: c.ByLocation})
}

// oneOf returns an error if the text of a flag is neither empty nor one of its values, upper and
// lower case being alike.
func oneOf(flag, text string, values ...string) error {
	if text == "" || slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, text) }) {
		return nil
	}
	return fmt.Errorf("--%s: %q is none of %s%s", flag, text, strings.Join(values, ", "), nearest.DidYouMean(text, values))
}

// costCommand is `muster cost`.
type costCommand struct{ watchFlags }

// Run shows what the fleets cost.
func (c *costCommand) Run(t *streams, view *terminal.Terminal) error { return view.Costs(t.ctx) }

// sessionsCommand is `muster sessions`.
type sessionsCommand struct {
	List listSessionsCommand `cmd:"" default:"withargs" help:"Show game sessions."`
	Show showSessionCommand  `cmd:"" help:"Show one game session with its players."`
	Logs sessionLogsCommand  `cmd:"" help:"Show the end of the log of the game server that hosts a game session, or hosted it."`
	End  endSessionCommand   `cmd:"" help:"End a game session."`
}

// sessionFlags are shared by the commands for one game session.
type sessionFlags struct {
	lookFlags
	ID string `arg:"" help:"The game session: GameSessionId, the id that 'muster sessions' shows, its name, or a part that only its id begins or ends with."`
}

type showSessionCommand struct{ sessionFlags }

// Run shows a game session.
func (c *showSessionCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Session(t.ctx, c.ID)
}

type endSessionCommand struct {
	sessionFlags
	Force bool `help:"End the game server process at once; by default it is told to end, and has time to."`
}

// Run ends a game session.
func (c *endSessionCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.EndSession(t.ctx, c.ID, c.Force)
}

type listSessionsCommand struct {
	watchFlags
	Fleet  string `placeholder:"FLEET" help:"Only this fleet's: name, id, or a part of the id."`
	Status string `placeholder:"STATUS" help:"Only those that are ACTIVATING, ACTIVE, TERMINATING or TERMINATED."`
}

// Run shows game sessions.
func (c *listSessionsCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := oneOf("status", c.Status, "ACTIVATING", "ACTIVE", "TERMINATING", "TERMINATED"); err != nil {
		return err
	}
	f := terminal.SessionFilter{Status: strings.ToUpper(c.Status)}
	if c.Fleet != "" {
		var err error
		if f.FleetID, err = view.Client.FindFleetID(t.ctx, c.Fleet); err != nil {
			return err
		}
	}
	return view.Sessions(t.ctx, f)
}

type sessionLogsCommand struct {
	sessionFlags
	Follow bool `short:"f" help:"Go on with what it writes, until the game session ends."`
}

// Run shows the log of a game session.
func (c *sessionLogsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.SessionLog(t.ctx, c.ID, c.Follow)
}
