package api

import (
	"cmp"
	"context"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/scaling"
	"github.com/musterhq/muster/session"
)

// Services are the services that the handlers call.
type Services struct {
	Store      *store.Store
	Home       arn.Home
	Events     *event.Log
	Tags       *tag.Service
	Fleets     *fleet.Service
	Computes   *compute.Service
	Instances  *instance.Service
	Sessions   *session.Service
	FleetIQ    *fleetiq.Service
	Placements *placement.Service
	Matches    *flexmatch.Service
	Builds     *build.Service
	Containers *container.Service
	Objects    *object.Service
	Uploads    Uploads
	Scaling    *scaling.Service
	// RemoteAccess issues credentials for shells on instances; nil refuses them.
	RemoteAccess RemoteAccess
	// Sealer seals data that callers send back and must not read.
	Sealer *auth.Master
	// GameServerURL is the WebSocket URL that game servers connect to; at most 128 characters.
	GameServerURL string
	// Beacon returns the HOST:PORT of a location's UDP beacon, or ""; nil means that no
	// location has one.
	Beacon func(location string) string
}

// RemoteAccess issues credentials for remote access.
type RemoteAccess interface {
	// Credentials returns credentials with which a caller can open shells on an instance,
	// or a fault, with what would change that.
	Credentials(ctx context.Context, caller auth.Caller, i *instance.Instance, c *compute.Compute) (auth.Temporary, error)
}

// Uploads issues credentials and URLs for stored files.
type Uploads interface {
	// Credentials returns credentials for uploading the archive of a build.
	Credentials(buildID string) (auth.Temporary, error)
	// Presign returns a URL that is valid for one method on one object, for the given
	// time.
	Presign(method, bucket, key string, life time.Duration) (string, error)
}

// handlers has a method for each operation.
type handlers struct{ Services }

// Register registers the handlers of all operations of this version with srv.
func Register(srv *awsrpc.Server, services Services) {
	h := handlers{services}
	srv.Wrap(h.guard)
	h.registerFleets(srv)
	h.registerCapacity(srv)
	h.registerLocations(srv)
	h.registerAliases(srv)
	h.registerBuilds(srv)
	h.registerScripts(srv)
	h.registerContainerGroups(srv)
	h.registerContainerFleets(srv)
	h.registerScaling(srv)
	h.registerComputes(srv)
	h.registerSessions(srv)
	h.registerPlayers(srv)
	h.registerQueues(srv)
	h.registerPlacements(srv)
	h.registerRuleSets(srv)
	h.registerConfigurations(srv)
	h.registerTickets(srv)
	h.registerGroups(srv)
	h.registerGameServers(srv)
	h.registerPeering(srv)
	h.registerTags(srv)
}

// on registers a handler whose commands carry the caller's name as their actor.
func on[In, Out any](srv *awsrpc.Server, operation string, f func(context.Context, *In) (*Out, error)) {
	awsrpc.Handle(srv, operation, func(ctx context.Context, in *In) (*Out, error) {
		return f(store.WithActor(ctx, actor(awsrpc.Caller(ctx))), in)
	})
}

// actor returns the name of a principal as an actor.
func actor(p awsrpc.Principal) string {
	return cmp.Or(p.Name, p.AccessKeyID, "anonymous")
}

// MaxBodies returns the maximum size in bytes of the inputs of operations that need
// more than the default.
func MaxBodies() map[string]int64 {
	const (
		script  = 7 << 20   // a ZIP file of 5 MB in base64
		ruleSet = 512 << 10 // 65,535 characters, each of which JSON may escape
		players = 1 << 20   // the size of their attributes has no limit of its own
		session = 4 << 20   // data of 262,144 characters, escaped, and data of each player
	)
	return map[string]int64{
		"CreateScript": script, "UpdateScript": script,
		"CreateMatchmakingRuleSet": ruleSet, "ValidateMatchmakingRuleSet": ruleSet,
		"CreateGameSession": session, "StartGameSessionPlacement": session, "CreatePlayerSessions": players,
		"StartMatchmaking": players, "StartMatchBackfill": players,
	}
}
