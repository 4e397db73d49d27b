package server

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"time"
)

// ErrRefused says that the hosting service does not accept the reservation. Other
// errors of Accept mean that the service could not answer; the player may try again.
var ErrRefused = errors.New("player session refused")

// PlayerSessions is the part of the hosting service that a game needs. Its methods
// may take seconds. They are called concurrently with the game and with each other.
type PlayerSessions interface {
	// Accept admits a player whose session was reserved for this game session and has
	// not been used. Otherwise it returns ErrRefused.
	Accept(playerSessionID string) error
	// Remove reports that an accepted player has left.
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
	Seed         uint64        // of the game's random numbers
	Log          *slog.Logger  // default: slog.Default()
	Web          net.Listener  // accepts WebSockets, for players in browsers; nil: none
}

func (o Options) withDefaults() Options {
	if o.Seats <= 0 || o.Seats > maxSeats {
		o.Seats = maxSeats
	}
	o.TicksASecond = min(max(cmp.Or(o.TicksASecond, 20), 1), 200)
	o.WaitFor = cmp.Or(o.WaitFor, 2*time.Minute)
	o.EmptyFor = cmp.Or(o.EmptyFor, 2*time.Second)
	o.SilentFor = cmp.Or(o.SilentFor, 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
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

// Result is the outcome of a game session.
type Result struct {
	End     End
	Players int    // admitted over the whole session
	Refused int    // turned away
	Ticks   uint32 // played
}
