package gameserver

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

// Options configures a game server process.
type Options struct {
	// Params say where to connect and as which process. Environment variables
	// (GAMELIFT_SDK_…), which a managed host or an agent sets, override them; leave
	// Params zero there.
	Params server.ServerParameters
	// Port is where players connect: 1 to 60000 (the SDK's limit).
	Port int
	// LogPaths are the files to collect when the game session has ended; relative
	// paths start at the working directory.
	LogPaths []string
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// SDK is the wrapped SDK; default the official one. Tests use package fakesdk.
	SDK SDK

	// InitTimeout limits connecting, including the SDK's own retries; default 60 s.
	InitTimeout time.Duration
	// HealthTimeout is how long all handlers' health checks together may take before
	// the process reports itself unhealthy; default 10 s, at most 50 s (the SDK's
	// limit).
	HealthTimeout time.Duration
	// DestroyGrace is how long OnDestroySession may take; default 30 s. It is cut
	// short 5 s before the service terminates the process.
	DestroyGrace time.Duration
	// EndWhenEmpty ends the process when the last player has left and nobody joins
	// within EmptyGrace (0: immediately). It does not end before a first player has
	// joined.
	EndWhenEmpty bool
	EmptyGrace   time.Duration
	// Signals makes SIGTERM and SIGINT end the process in order.
	Signals bool
	// Backfill requests players for free slots.
	Backfill BackfillPolicy
}

// BackfillPolicy says when to request players from FlexMatch for free slots. It
// requests them only for game sessions that FlexMatch created, and never while the
// service backfills automatically.
type BackfillPolicy struct {
	Enabled    bool
	StartDelay time.Duration // after the session is ACTIVE; default 5 s
	OnJoin     bool          // start anew, with the newcomer, while slots are free
	OnLeave    bool          // start anew when a player has left
	OnTimeout  bool          // start again, with the same ticket id, when a ticket timed out
}

const (
	maxPort      = 60000
	maxHealth    = 50 * time.Second
	spare        = 5 * time.Second // kept for ProcessEnding before the process is terminated
	stopBackfill = 2 * time.Second
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
	o.InitTimeout = cmp.Or(max(o.InitTimeout, 0), 60*time.Second)
	o.HealthTimeout = min(cmp.Or(max(o.HealthTimeout, 0), 10*time.Second), maxHealth)
	o.DestroyGrace = cmp.Or(max(o.DestroyGrace, 0), 30*time.Second)
	o.Backfill.StartDelay = cmp.Or(max(o.Backfill.StartDelay, 0), 5*time.Second)
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
