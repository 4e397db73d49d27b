package app

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/musterhq/muster/admin"
	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/serversdk"
	"github.com/musterhq/muster/uploads"
)

// doors are the packages through which others reach the server.
type doors struct {
	api     *awsrpc.Server
	servers *serversdk.Server
	console *console.Console
	uploads *uploads.Server
	hosts   *hosts.Server
	admin   *admin.Door
}

// openDoors creates the doors; requests come once serve runs.
func (a *App) openDoors() error {
	d := &doors{}
	srv, err := awsrpc.New(awsrpc.Options{
		API: gamelift.API(), Authenticate: apiCallers{a.callers}, Authorize: mayCall, Limit: a.limits.call, MaxBodies: api.MaxBodies(),
		Source: source, Ended: ended,
		Logger: a.log, Registerer: a.registry,
	})
	if err != nil {
		return fmt.Errorf("make API: %w", err)
	}
	d.api = srv
	d.uploads = uploads.New(uploads.Options{
		Store: a.domain.store, Objects: a.domain.objects, Builds: a.domain.builds, Keys: a.domain.keys,
		Master: a.domain.master, Region: a.opts.Region, Base: func() string { return a.base }, Anyone: a.opts.AcceptAny,
		Quiet: a.opts.BodyTimeout, Limits: a.limits, Logger: a.log,
	})
	api.Register(srv, api.Services{
		Store: a.domain.store, Home: a.opts.home(), Events: a.domain.events, Tags: a.domain.tags,
		Fleets: a.domain.fleets, Computes: a.domain.computes, Instances: a.domain.instances, Sessions: a.domain.sessions,
		Placements: a.domain.placements, Matches: a.domain.matches,
		Builds: a.domain.builds, Objects: a.domain.objects, Uploads: d.uploads, Scaling: a.domain.scaling, Sealer: a.domain.master,
		GameServerURL: func() string { return gameServerURL(a.base) },
		Beacon:        a.domain.players.BeaconOf,
	})
	d.console = console.New(console.Options{
		Home: a.opts.home(), Events: a.domain.events, Logger: a.log, Streams: a.opts.MaxStreams,
		Last:  func() uint64 { return a.domain.events.Last(a.domain.store.View()) },
		Allow: a.callers.allow, AllowOf: a.callers.allowOf,
	})
	d.console.Placements(console.Placements{
		Explain: func(ctx context.Context, id string) (any, error) { return a.domain.placements.Explain(ctx, id) },
		Queues:  func() any { return a.domain.placements.Overview() },
		QueueOf: a.domain.queueOf,
	})
	d.console.Fleets(console.Fleets{
		Fleets:    func() any { return a.domain.fleetStates() },
		Processes: func(fleetID string, reaches func(string) bool) any { return a.domain.processStates(fleetID, reaches) },
	})
	d.console.Tickets(console.Tickets{
		Explain:  func(ctx context.Context, id string) (any, error) { return a.domain.matches.Explain(ctx, id) },
		Overview: func(ctx context.Context, name string) (any, error) { return a.domain.matches.Overview(ctx, name) },
		Trace:    a.trace, ConfigurationOf: a.domain.configurationOf,
	})
	d.servers = a.gameServers()
	d.hosts = a.hostDoor(d.servers)
	d.admin = admin.New(admin.Options{
		Store: a.domain.store, Keys: a.domain.keys, Allow: a.callers.administer, Logger: a.log,
	})
	a.auditRoutes(d.admin)
	a.doors = d
	return nil
}

// trace returns a configuration's tickets, each for one line of output.
func (a *App) trace(ctx context.Context, configuration string, since time.Time) (iter.Seq[any], error) {
	tickets, err := a.domain.matches.Trace(ctx, configuration, since)
	if err != nil {
		return nil, err
	}
	return func(yield func(any) bool) {
		for i := range tickets {
			if !yield(&tickets[i]) {
				return
			}
		}
	}, nil
}

func (a *App) gameServers() *serversdk.Server {
	return serversdk.New(serversdk.Options{
		Store: a.domain.store, Computes: a.domain.computes, Sessions: a.domain.sessions, Matches: a.domain.matches,
		Signatures: newSignatures(a.domain.keys), AcceptAnyCredentials: a.opts.AcceptAny,
		Logger: a.log, Registerer: a.registry,
	})
}

// hostDoor returns the door for the agents of machines.
func (a *App) hostDoor(servers *serversdk.Server) *hosts.Server {
	return hosts.New(hosts.Options{
		Store: a.domain.store, Computes: a.domain.computes, Instances: a.domain.instances, Builds: a.domain.builds, Objects: a.domain.objects,
		GameServerURL: func() string { return gameServerURL(a.base) }, Home: a.opts.home(),
		BuildKey: ed25519.NewKeyFromSeed(a.domain.master.Derive("build signatures")),
		Relay: func(query url.Values, from string, socket hosts.Socket) error {
			return servers.Relay(query, from, socket)
		},
		Allow: a.callers.allow, Limits: a.limits, Logger: a.log, Registerer: a.registry,
	})
}

// endStreams ends the answers that would never end by themselves.
func (d *doors) endStreams() { d.console.Close() }

// close drops the connections of game servers, which reconnect to the next start.
func (d *doors) close(ctx context.Context) error {
	d.hosts.Stop()
	if err := d.servers.Stop(ctx); err != nil {
		return fmt.Errorf("requests of game servers were cut off: %w", err)
	}
	return nil
}
