// Package bot plays the arena: it joins with a player session, goes for pick-ups,
// shoots at players in range, leaves in order and reports its result. It needs the
// standard library and package wire only.
package bot

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/musterhq/muster/examples/arena/wire"
)

// Options are a bot's settings.
type Options struct {
	Address         string              // host:port of the game server
	PlayerSessionID string              // reserved for this bot, 1 to 256 bytes
	For             time.Duration       // how long to play; 0: until the game ends
	JoinFor         time.Duration       // how long to wait to be admitted; default 15 seconds
	SilentFor       time.Duration       // how long the server may send nothing; default 5 seconds
	ActEvery        time.Duration       // between inputs; default 50 ms
	Seed            uint64              // of the bot's random decisions
	Joined          func()              // if set, is called once when the bot is admitted
	Watch           func(wire.Snapshot) // if set, is called with each Snapshot
}

// Ending is how a bot's game ended.
type Ending string

// The endings that the server does not report itself (wire.Ending).
const (
	Refused    Ending = "refused"    // the server did not admit the bot
	Unanswered Ending = "unanswered" // the server never answered
	Lost       Ending = "lost"       // the server fell silent
	Left       Ending = "left"       // the bot left, whether or not the server confirmed
)

// Result is the outcome of a bot's game. Scripts rely on its JSON form.
type Result struct {
	PlayerSessionID string `json:"player_session_id"`
	Address         string `json:"address"`
	Ending          Ending `json:"ending"`           // an Ending or the text of a wire.Ending
	Reason          string `json:"reason,omitempty"` // why refused: wire.Refusal
	Player          int    `json:"player"`           // number in the game; 0 if never admitted
	Score           int    `json:"score"`
	Place           int    `json:"place"`     // 1 is the best; 0 if never admitted
	Players         int    `json:"players"`   // in the last Snapshot
	Snapshots       int    `json:"snapshots"` // received
	Ticks           int    `json:"ticks"`     // from the first Snapshot to the last
	PlayedMS        int64  `json:"played_ms"`
}

// Played reports whether the bot was admitted and did not lose the server.
func (r Result) Played() bool {
	return r.Player != 0 && r.Ending != Lost
}

// Play plays one game. When ctx is cancelled, the bot leaves. The error is one of the
// bot's own side: a bad address or session id, or a socket that fails.
func Play(ctx context.Context, opts Options) (Result, error) {
	if n := len(opts.PlayerSessionID); n == 0 || n > wire.MaxSessionID {
		return Result{}, fmt.Errorf("player session id has %d bytes, must have 1 to %d", n, wire.MaxSessionID)
	}
	opts.JoinFor = cmp.Or(opts.JoinFor, 15*time.Second)
	opts.SilentFor = cmp.Or(opts.SilentFor, 5*time.Second)
	opts.ActEvery = cmp.Or(max(opts.ActEvery, 0), 50*time.Millisecond)
	conn, err := net.Dial("udp", opts.Address)
	if err != nil {
		return Result{}, fmt.Errorf("dial %s: %w", opts.Address, err)
	}
	defer conn.Close()
	p := &player{
		opts: opts, conn: conn, messages: make(chan wire.Message, 64), done: make(chan struct{}),
		rng:    rand.New(rand.NewPCG(opts.Seed, 0)),
		result: Result{PlayerSessionID: opts.PlayerSessionID, Address: opts.Address},
	}
	go p.read()
	defer func() { <-p.done }()
	defer conn.Close()
	p.play(ctx)
	return p.result, nil
}
