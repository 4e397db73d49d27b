package bots

import (
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Way is how bots come to a game.
type Way string

// The ways.
const (
	// Matchmaking: StartMatchmaking, and follow the ticket.
	Matchmaking Way = "matchmaking"
	// Sessions: search an open game session or create one, and CreatePlayerSession.
	Sessions Way = "sessions"
)

// Options of a crew of bots.
type Options struct {
	AWS   aws.Config // where and as whom to call: BaseEndpoint, Region, Credentials, HTTPClient
	Via   Way        // default Matchmaking
	Fleet string     // name or id of the fleet that hosts the arena

	Players   int           // how many bots, 1 to 10000
	MatchSize int           // players a game at most, 1 to 40; default 8
	Games     int           // that each bot plays; default 1
	For       time.Duration // how long a bot plays each; default 20 s
	Over      time.Duration // within which the bots come; default 10 ms a bot
	Patience  time.Duration // how long a bot tries to be in a game; default 2 minutes
	Poll      time.Duration // between looks at the tickets; default and least 1 s

	Out   io.Writer     // told the progress; default nothing
	Every time.Duration // between two lines of progress; default 1 s
}

const maxPlayers = 10000

func (o Options) withDefaults() (Options, error) {
	if o.Players < 1 || o.Players > maxPlayers {
		return o, fmt.Errorf("%d bots: there must be 1 to %d", o.Players, maxPlayers)
	}
	if o.Via == "" {
		o.Via = Matchmaking
	}
	if o.Via != Matchmaking && o.Via != Sessions {
		return o, fmt.Errorf("unknown way %q: it is %s or %s", o.Via, Matchmaking, Sessions)
	}
	if o.MatchSize == 0 {
		o.MatchSize = 8
	}
	if o.MatchSize < 1 || o.MatchSize > 40 {
		return o, fmt.Errorf("a game of %d: there must be 1 to 40 players", o.MatchSize)
	}
	o.Games = max(o.Games, 1)
	setDefault(&o.For, 20*time.Second)
	setDefault(&o.Over, time.Duration(o.Players)*10*time.Millisecond)
	setDefault(&o.Patience, 2*time.Minute)
	setDefault(&o.Poll, time.Second)
	setDefault(&o.Every, time.Second)
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}
