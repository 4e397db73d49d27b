package api

import (
	"context"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/scaling"
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
	Builds     *build.Service
	Objects    *object.Service
	Uploads    Uploads
	Scaling    *scaling.Service
	// Sealer seals what callers bring back and must not read.
	Sealer Sealer
	// GameServerURL is the WebSocket URL that game servers connect to; at most 128 characters.
	GameServerURL func() string
	// Beacon gives where the UDP beacon of a location answers, HOST:PORT or ""; nil:
	// no location has one.
	Beacon func(location string) string
}

// Sealer seals texts, and opens them for the same label (auth.Master).
type Sealer interface {
	Seal(text, label string) []byte
	Open(sealed []byte, label string) (string, error)
}

// Uploads makes what lets a caller at a stored file.
type Uploads interface {
	// Credentials are good for sending a build its archive.
	Credentials(buildID string) (auth.Temporary, error)
	// Presign makes a URL that is good for one method on one object, for a while.
	Presign(method, bucket, key string, life time.Duration) (string, error)
}

// handlers has a method for each operation.
type handlers struct{ Services }

// Register gives srv the handlers of all operations that this version has.
func Register(srv *awsrpc.Server, services Services) {
	h := handlers{services}
	srv.Wrap(h.guard)
	h.registerFleets(srv)
	h.registerCapacity(srv)
	h.registerLocations(srv)
	h.registerAliases(srv)
	h.registerBuilds(srv)
	h.registerScripts(srv)
	h.registerScaling(srv)
	h.registerLogs(srv)
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
	registerUnserved(srv)
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
