package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/bots"
)

// botsCommand is `muster bots`.
type botsCommand struct {
	clientFlags
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
	Output     string        `short:"o" enum:"text,json" default:"text" help:"How to tell the result: text or json (${default})."`
}

// Run plays. It fails if a bot failed.
func (c *botsCommand) Run(t *streams) error {
	settings, err := c.settings()
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	program, err := demo.FindProgram(c.Game)
	if err != nil {
		return err
	}
	progress := t.out
	if c.Output == "json" {
		progress = io.Discard
	}
	report, err := bots.Run(t.ctx, bots.Options{
		URL: c.Endpoint, HTTP: client, AWS: settings, Via: bots.Way(c.Via), Fleet: c.Fleet, Game: program, Matchmaker: c.Matchmaker, Players: c.Players, MatchSize: c.MatchSize,
		Games: c.Games, For: c.For, Over: c.Over, Patience: c.Patience, Out: progress,
	})
	if err != nil {
		return err
	}
	if err := c.tell(t.out, report); err != nil {
		return err
	}
	if report.Failed > 0 {
		return fmt.Errorf("%d of %d bots did not play", report.Failed, report.Players)
	}
	return nil
}

func (c *botsCommand) tell(out io.Writer, report bots.Report) error {
	if c.Output == "json" {
		return json.NewEncoder(out).Encode(report)
	}
	report.Write(out)
	return nil
}

// settings returns the configuration for calling the AWS API. Without keys in the
// environment it has arbitrary ones, which `muster local` accepts.
func (c *botsCommand) settings() (aws.Config, error) {
	key, secret, token := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")
	if c.Credentials != "" {
		read, err := readCredentials(c.Credentials)
		if err != nil {
			return aws.Config{}, err
		}
		key, secret, token = read.AccessKeyID, read.SecretAccessKey, read.SessionToken
	}
	if key == "" {
		key, secret = "any", "any"
	}
	return aws.Config{Region: c.Region, Credentials: credentials.NewStaticCredentialsProvider(key, secret, token)}, nil
}

// client returns the HTTP client of all bots.
func (c *botsCommand) client() (*http.Client, error) {
	transport := bots.Transport()
	if c.CA != "" {
		pool, err := trusted(c.CA)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &http.Client{Transport: transport}, nil
}
