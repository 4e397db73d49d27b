package server

import (
	"errors"
	"log/slog"
	"time"
)

// ErrRefused says that the hosting service knows of no such reservation. Other
// errors of Accept mean that it could not be asked; the player may try again.
var ErrRefused = errors.New("player session refused")

// PlayerSessions is the part of the hosting service that a game needs. Both calls
// may take seconds and are made beside the game, several at a time.
type PlayerSessions interface {
	// Accept admits a player: its session was reserved for this game session and
	// was not used before. It gives ErrRefused if that is not so.
	Accept(playerSessionID string) error
	// Remove says that an accepted player has gone.
	Remove(playerSessionID string) error
}

// Options are the settings of a game session.
type Options struct {
	Seats        int           // players at a time; 0 or more than 64: 64
	TicksASecond int           // 1..200; default 20
	MatchFor     time.Duration // how long a match takes; 0: until the last player leaves
	WaitFor      time.Duration // how long an arena waits for its first player; default 2 minutes
	EmptyFor     time.Duration // how long it waits when all have left; default 2 seconds
	SilentFor    time.Duration // how long a player may send nothing; default 5 seconds
	Seed         uint64        // of all chance in the game
	Log          *slog.Logger  // default: slog.Default()
}

func (o Options) withDefaults() Options {
	if o.Seats <= 0 || o.Seats > maxSeats {
		o.Seats = maxSeats
	}
	if o.TicksASecond == 0 {
		o.TicksASecond = 20
	}
	o.TicksASecond = min(max(o.TicksASecond, 1), 200)
	if o.WaitFor == 0 {
		o.WaitFor = 2 * time.Minute
	}
	if o.EmptyFor == 0 {
		o.EmptyFor = 2 * time.Second
	}
	if o.SilentFor == 0 {
		o.SilentFor = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// End is why a game session ended.
type End string

// The reasons of an end.
const (
	EndFinished    End = "finished"    // MatchFor is over
	EndEmpty       End = "empty"       // all players have left
	EndNobodyCame  End = "nobody-came" // no player came within WaitFor
	EndTerminating End = "terminating" // the caller cancelled
	EndBroken      End = "broken"      // the socket failed
)

// Result is what came of a game session.
type Result struct {
	End     End
	Players int    // let in over the whole session
	Refused int    // turned away
	Ticks   uint32 // played
}
