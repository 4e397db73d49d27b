package api

import (
	"context"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// Services are what the handlers call.
type Services struct {
	Store      *store.Store
	Home       arn.Home
	Events     *event.Log
	Tags       *tag.Service
	Fleets     *fleet.Service
	Computes   *compute.Service
	Sessions   *session.Service
	Placements *placement.Service
	Matches    *flexmatch.Service
	// GameServerURL is the WebSocket URL that game servers connect to; at most 128 characters.
	GameServerURL func() string
}

// handlers has a method for each operation.
type handlers struct{ Services }

// Register gives srv the handlers of all operations that this version has.
func Register(srv *awsrpc.Server, services Services) {
	h := handlers{services}
	h.registerFleets(srv)
	h.registerLocations(srv)
	h.registerAliases(srv)
	h.registerComputes(srv)
	h.registerSessions(srv)
	h.registerPlayers(srv)
	h.registerQueues(srv)
	h.registerPlacements(srv)
	h.registerRuleSets(srv)
	h.registerConfigurations(srv)
	h.registerTickets(srv)
	h.registerPeering(srv)
	h.registerTags(srv)
}

// on registers a handler whose commands carry the caller's name for the audit.
func on[In, Out any](srv *awsrpc.Server, operation string, f func(context.Context, *In) (*Out, error)) {
	awsrpc.Handle(srv, operation, func(ctx context.Context, in *In) (*Out, error) {
		return f(store.WithActor(ctx, actor(awsrpc.Caller(ctx))), in)
	})
}

// actor names a principal in the audit.
func actor(p awsrpc.Principal) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.AccessKeyID != "":
		return p.AccessKeyID
	}
	return "anonymous"
}
