package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/bots"
	"github.com/musterhq/muster/cli/client"
)

// botsCommand is `muster bots`.
type botsCommand struct {
	clientFlags
	outputFlags
	Players    int           `default:"10" help:"How many bots, 1 to 10000 (${default})."`
	Via        string        `enum:"players,matchmaking,sessions" default:"players" help:"How they come to a game: players (the player API: log in, matchmaker, push), matchmaking (the AWS API), or sessions (search one, else make one) (${default})."`
	Fleet      string        `default:"demo" placeholder:"NAME" help:"Name or id of the fleet that runs the game (${default})."`
	Matchmaker string        `placeholder:"NAME" help:"Ask for this matchmaker of the player API; by default one is made for the fleet, through the AWS API."`
	Game       string        `placeholder:"FILE" help:"The program that plays the game for the bots (arena, beside this program)."`
	MatchSize  int           `default:"8" help:"Players a game at most, 1 to 40 (${default})."`
	Games      int           `default:"1" help:"How many games each bot plays (${default})."`
	For        time.Duration `default:"20s" help:"How long a bot plays (${default})."`
	Over       time.Duration `placeholder:"DURATION" help:"Within which time the bots come (10 ms a bot)."`
	Patience   time.Duration `default:"2m" help:"How long a bot tries to be in a game (${default})."`
}

// Run plays. It fails if a bot failed.
func (c *botsCommand) Run(t *streams, api *client.Client) error {
	program, err := demo.FindProgram(c.Game)
	if err != nil {
		return err
	}
	progress := t.out
	if c.json() {
		progress = io.Discard
	}
	report, err := bots.Run(t.ctx, bots.Options{
		Server: *api, Via: bots.Way(c.Via), Fleet: c.Fleet, Game: program, Matchmaker: c.Matchmaker, Players: c.Players, MatchSize: c.MatchSize,
		Games: c.Games, For: c.For, Over: c.Over, Patience: c.Patience, Out: progress,
	})
	if err != nil {
		return err
	}
	if c.json() {
		err = json.NewEncoder(t.out).Encode(report)
	} else {
		report.Write(t.out)
	}
	if err == nil && report.Failed > 0 {
		err = fmt.Errorf("%d of %d bots did not play", report.Failed, report.Players)
	}
	return err
}
