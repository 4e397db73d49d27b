package bots

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/musterhq/muster/cli/client"
)

// Way is how bots join games.
type Way string

// The ways.
const (
	// Players: the player API, as a game's clients use it: log in, measure latency,
	// ask a matchmaker, receive pushes.
	Players Way = "players"
	// Matchmaking: the AWS API: StartMatchmaking, then poll the ticket.
	Matchmaking Way = "matchmaking"
	// Sessions: search an open game session or create one, and CreatePlayerSession.
	Sessions Way = "sessions"
)

// Options configures a crew of bots.
type Options struct {
	Server client.Client // its credentials are for the AWS API
	Via    Way           // default Players
	Fleet  string        // name or id of the fleet that hosts the game
	Game   string        // path of the game's Program
	// Matchmaker, for Players only, names an existing one. Default: one is created
	// for the fleet, through the AWS API.
	Matchmaker string

	Players   int           // number of bots, 1 to 10000
	MatchSize int           // most players of a game, 1 to 40; default 8
	Games     int           // per bot; default 1
	For       time.Duration // how long a bot plays each game; default 20 s
	Over      time.Duration // time over which the bots start; default 10 ms per bot
	Patience  time.Duration // how long a bot tries to join a game; default 2 minutes
	Poll      time.Duration // interval of polling tickets; default and least 1 s

	Out   io.Writer     // receives the progress; default nothing
	Every time.Duration // interval between lines of progress; default 1 s
}

const maxPlayers = 10000

func (o Options) withDefaults() (Options, error) {
	if o.Players < 1 || o.Players > maxPlayers {
		return o, fmt.Errorf("%d bots: there must be 1 to %d", o.Players, maxPlayers)
	}
	if o.Game == "" {
		return o, errors.New("no program is named that plays the game")
	}
	o.Via = cmp.Or(o.Via, Players)
	if o.Via != Players && o.Via != Matchmaking && o.Via != Sessions {
		return o, fmt.Errorf("unknown way %q: it is %s, %s or %s", o.Via, Players, Matchmaking, Sessions)
	}
	if o.Matchmaker != "" && o.Via != Players {
		return o, fmt.Errorf("matchmaker %q: bots ask for one by its name through the player API alone", o.Matchmaker)
	}
	o.MatchSize = cmp.Or(o.MatchSize, 8)
	if o.MatchSize < 1 || o.MatchSize > 40 {
		return o, fmt.Errorf("a game of %d: there must be 1 to 40 players", o.MatchSize)
	}
	o.Games = max(o.Games, 1)
	o.Server.HTTP = fewConnections(o.Server.HTTP)
	o.For = positive(o.For, 20*time.Second)
	o.Over = positive(o.Over, time.Duration(o.Players)*10*time.Millisecond)
	o.Patience = positive(o.Patience, 2*time.Minute)
	o.Poll = positive(o.Poll, time.Second)
	o.Every = positive(o.Every, time.Second)
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o, nil
}

// fewConnections returns an HTTP client like h for many bots on one server: they share few
// connections and reuse them.
func fewConnections(h *http.Client) *http.Client {
	t, ok := cmp.Or(h, http.DefaultClient).Transport.(*http.Transport)
	if !ok {
		t = http.DefaultTransport.(*http.Transport)
	}
	t = t.Clone()
	t.MaxConnsPerHost, t.MaxIdleConnsPerHost = 64, 64
	return &http.Client{Transport: t}
}

func positive(d, or time.Duration) time.Duration { return cmp.Or(max(d, 0), or) }
