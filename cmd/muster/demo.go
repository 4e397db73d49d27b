package main

import (
	"time"

	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// demoCommand is `muster demo`.
type demoCommand struct {
	Play playCommand `cmd:"" help:"Play one game from its creation to its end, step by step, on a running server."`
}

type playCommand struct {
	clientFlags
	Fleet      string        `default:"demo" placeholder:"NAME" help:"Name or id of the fleet (${default})."`
	Location   string        `placeholder:"NAME" help:"Location to play at (the fleet's first)."`
	Players    int           `default:"4" help:"How many bots play, 1 to 25 (${default})."`
	For        time.Duration `default:"20s" help:"How long they play (${default})."`
	DemoServer string        `placeholder:"FILE" help:"The demo's game program, which has the bots (arena, beside this program)."`
}

// Run plays.
func (c *playCommand) Run(t *streams, api *client.Client) error {
	bots, err := demo.FindProgram(c.DemoServer)
	if err != nil {
		return err
	}
	view := &terminal.Terminal{Client: api, Out: t.out}
	return view.Play(t.ctx, terminal.PlayOptions{
		Fleet: c.Fleet, Location: c.Location, Players: min(max(c.Players, 1), 25), For: c.For, Bots: bots,
	})
}
