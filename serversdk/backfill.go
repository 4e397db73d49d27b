package serversdk

import (
	"context"

	"github.com/musterhq/muster/internal/fault"
)

// This version makes no matches, so there is nothing to fill up: both requests
// are refused in words, rather than answered with a ticket that nobody serves.

func startMatchBackfill(context.Context, *call) (any, error) {
	return nil, fault.Invalid("StartMatchBackfill: this version of Muster has no matchmaking")
}

func stopMatchBackfill(context.Context, *call) (any, error) {
	return nil, fault.Invalid("StopMatchBackfill: this version of Muster has no matchmaking, so there is no ticket to stop")
}
