package main

import "github.com/musterhq/muster/cli/terminal"

// placementsCommand is `muster placements`.
type placementsCommand struct {
	Explain explainCommand `cmd:"" help:"Say why a placement is where it is: every round, each candidate and what came of it."`
}

type explainCommand struct {
	lookFlags
	ID string `arg:"" help:"The PlacementId."`
}

// Run explains a placement.
func (c *explainCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Explain(t.ctx, c.ID)
}

type queuesCommand struct{ watchFlags }

// Run shows the queues.
func (c *queuesCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Queues(t.ctx)
}
