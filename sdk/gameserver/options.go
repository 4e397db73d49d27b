package gameserver

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

// Options say how a game server process runs.
type Options struct {
	// Params say where to connect and as whom. The environment (GAMELIFT_SDK_…),
	// which a managed host or an agent sets, overrides them; then they stay zero.
	Params server.ServerParameters
	// Port is where players connect: 1 to 60000, the SDK's bound.
	Port int
	// LogPaths are the files to collect when the game session is over; relative
	// ones are taken from the working directory.
	LogPaths []string
	// Logger; default slog.Default().
	Logger *slog.Logger
	// SDK is what is wrapped; default the official one. Tests give a fakesdk.
	SDK SDK

	// InitTimeout is how long connecting may take, the SDK's own attempts included;
	// default 60 s.
	InitTimeout time.Duration
	// HealthTimeout is how long health checks may take together before the process
	// reports itself unhealthy; default 10 s, at most 50 s, the SDK's bound.
	HealthTimeout time.Duration
	// DestroyGrace is how long OnDestroySession may take; default 30 s. It never
	// goes past the time at which the service terminates the process.
	DestroyGrace time.Duration
	// EndWhenEmpty ends the process when the last player has left, if at least one
	// had come, and nobody comes for EmptyGrace (0: at once).
	EndWhenEmpty bool
	EmptyGrace   time.Duration
	// Signals makes SIGTERM and SIGINT end the process in order.
	Signals bool
	// Backfill asks for players for free slots.
	Backfill BackfillPolicy
}

// BackfillPolicy is when to ask FlexMatch for players for free slots. It asks
// only for game sessions that FlexMatch made, and never beside a backfill that
// the service runs by itself.
type BackfillPolicy struct {
	Enabled    bool
	StartDelay time.Duration // after the session is ACTIVE; default 5 s
	OnJoin     bool          // ask anew, with the newcomer in it, while slots are free
	OnLeave    bool          // ask anew when a player has left
	OnTimeout  bool          // ask again, with the same ticket id, when a ticket timed out
}

const (
	maxPort        = 60000
	defaultInit    = 60 * time.Second
	defaultHealth  = 10 * time.Second
	maxHealth      = 50 * time.Second
	defaultDestroy = 30 * time.Second
	defaultDelay   = 5 * time.Second
	spare          = 5 * time.Second // kept for ProcessEnding before the process is terminated
	stopBackfill   = 2 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.Port < 1 || o.Port > maxPort {
		return o, fmt.Errorf("%w: Port is %d; it must be 1 to %d", ErrInvalid, o.Port, maxPort)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.SDK == nil {
		o.SDK = &Official{Logger: o.Logger}
	}
	if o.InitTimeout <= 0 {
		o.InitTimeout = defaultInit
	}
	if o.HealthTimeout <= 0 {
		o.HealthTimeout = defaultHealth
	}
	o.HealthTimeout = min(o.HealthTimeout, maxHealth)
	if o.DestroyGrace <= 0 {
		o.DestroyGrace = defaultDestroy
	}
	if o.Backfill.StartDelay <= 0 {
		o.Backfill.StartDelay = defaultDelay
	}
	paths := make([]string, len(o.LogPaths))
	for i, path := range o.LogPaths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return o, fmt.Errorf("%w: LogPaths[%d]: %w", ErrInvalid, i, err)
		}
		paths[i] = absolute
	}
	o.LogPaths = paths
	return o, nil
}
