package main

import (
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/terminal"
)

// preflightCommand is `muster preflight`.
type preflightCommand struct {
	logFlags
	Build      string        `arg:"" placeholder:"BUILD" help:"The build: a zip, tar or tar.gz archive, or its folder."`
	LaunchPath string        `required:"" placeholder:"PATH" help:"The program, as the fleet's runtime configuration names it: /local/game/server or server."`
	Parameters string        `placeholder:"TEXT" help:"Its parameters, as the fleet's runtime configuration has them."`
	Connect    time.Duration `default:"60s" help:"From the start until InitSDK (${default}; a fleet waits 5m)."`
	Ready      time.Duration `default:"60s" help:"From InitSDK until ProcessReady (${default}; a fleet waits 5m)."`
	Activate   time.Duration `default:"60s" help:"From OnStartGameSession until ActivateGameSession (${default})."`
	End        time.Duration `default:"60s" help:"From OnProcessTerminate until the exit (${default}; a fleet waits 5m)."`
	Quiet      bool          `help:"Do not show what the program writes."`
}

// Run tries the build. It fails if a fleet would.
func (c *preflightCommand) Run(t *streams) error {
	if c.LogLevel == "info" {
		c.LogLevel = "error"
	}
	o := app.PreflightOptions{
		Build: c.Build, LaunchPath: c.LaunchPath, Parameters: c.Parameters,
		Connect: c.Connect, Ready: c.Ready, Activate: c.Activate, End: c.End, Out: t.out, Logger: c.logger(t.err),
	}
	o.Launcher, _ = os.Executable() // without it no program without an SDK can be tried
	if !c.Quiet {
		o.Output = t.err
	}
	o.Working = func() (func(func() string), func()) {
		line := terminal.NewLine(t.ctx, t.screenErr)
		return line.Show, line.End
	}
	if err := app.Preflight(t.ctx, o); err != nil {
		return err
	}
	fmt.Fprintln(t.out, "This build works.")
	return nil
}
