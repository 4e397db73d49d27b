package main

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/cli/terminal"
)

// playersCommand is `muster players`.
type playersCommand struct {
	Show  showPlayerCommand  `cmd:"" help:"Show a player: account, ban, party, the last games and tickets."`
	Ban   banPlayerCommand   `cmd:"" help:"Keep a player with an account of the player API out, until a time."`
	Unban unbanPlayerCommand `cmd:"" help:"Lift a player's ban."`
}

type showPlayerCommand struct {
	lookFlags
	ID string `arg:"" help:"The PlayerId."`
}

// Run shows the player.
func (c *showPlayerCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Player(t.ctx, c.ID)
}

type banPlayerCommand struct {
	lookFlags
	ID     string `arg:"" help:"The player's id in the player API."`
	Until  string `required:"" placeholder:"WHEN" help:"When the ban ends: after a time such as 12h or 90d, at 2026-12-31T00:00:00Z, or never."`
	Reason string `placeholder:"TEXT" help:"For other operators."`
}

// forGood is how long a ban lasts that never ends.
const forGood = 100 * 365 * 24 * time.Hour

// Run bans the player.
func (c *banPlayerCommand) Run(t *streams, view *terminal.Terminal) error {
	now := time.Now()
	until := now.Add(forGood)
	if c.Until != "never" {
		var err error
		if until, err = when("until", c.Until, now); err != nil {
			return err
		}
		if !until.After(now) {
			return fmt.Errorf("until: %s has passed; to lift a ban say 'muster players unban %s'", c.Until, c.ID)
		}
	}
	if err := view.Client.Players().Ban(t.ctx, c.ID, until, c.Reason); err != nil {
		return err
	}
	return view.Report(map[string]any{"player": c.ID, "banned_until": until.UTC().Format(time.RFC3339)},
		"%s is banned until %s, and logged out. A game that is being played goes on.", c.ID, moment(until))
}

type unbanPlayerCommand struct {
	lookFlags
	ID string `arg:"" help:"The player's id in the player API."`
}

// Run lifts the ban.
func (c *unbanPlayerCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := view.Client.Players().Ban(t.ctx, c.ID, time.Unix(0, 0), ""); err != nil {
		return err
	}
	return view.Report(map[string]any{"player": c.ID}, "%s is not banned, and may log in.", c.ID)
}
