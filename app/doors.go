package app

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/admin"
	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/app/lab"
	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/autoscaling"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/internal/awsquery"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/serversdk"
	"github.com/musterhq/muster/sts"
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
	players *backend.Backend
	scaling *autoscaling.Door
	tokens  *awsquery.API
}

// openDoors creates the doors of a node at a site; requests come once it is served.
func openDoors(d *domain, at *site, o *Options, metrics prometheus.Registerer) (*doors, error) {
	srv, err := awsrpc.New(awsrpc.Options{
		API: gamelift.API(), Authenticate: apiCallers{d.callers}, Authorize: mayCall, Limit: d.callers.limits.call, MaxBodies: api.MaxBodies(),
		Ended: ended, Logger: o.Logger, Registerer: metrics,
	})
	if err != nil {
		return nil, fmt.Errorf("make API: %w", err)
	}
	all := &doors{
		api: srv,
		uploads: uploads.New(uploads.Options{
			Store: d.store, Objects: d.objects, Builds: d.builds, Keys: d.keys,
			Master: d.master, Region: o.Region, Several: o.several(), Base: at.base, Anyone: o.AcceptAny,
			Quiet: o.BodyTimeout, Limits: d.callers.limits, Logger: o.Logger,
		}),
		console: consoleDoor(d, o, at),
		servers: serversdk.New(serversdk.Options{
			Store: d.store, Computes: d.computes, Sessions: d.sessions, Matches: d.matches,
			Signatures: newSignatures(d.keys, "gamelift"), AcceptAnyCredentials: o.AcceptAny, PingAfter: o.ServerPing,
			Logger: o.Logger, Registerer: metrics, Tracer: d.tracer,
		}),
		scaling: autoscaling.New(autoscaling.Options{
			Store: d.store, Groups: d.groups, Logger: o.Logger,
			Allow: d.callersOf("autoscaling", o).allowBody,
		}),
		tokens: sts.New(sts.Options{Account: o.Account, Caller: d.callersOf("sts", o).identify, Logger: o.Logger}),
		admin:  admin.New(admin.Options{Store: d.store, Keys: d.keys, Allow: d.callers.administer, Logger: o.Logger}),
		players: backend.New(backend.Deps{
			Store: d.store, Identity: d.identity, Fleets: d.fleets, Lobby: d.lobby,
			Base: o.endpoint(at.base), Origin: at.base, Beacon: at.beaconAddress(), Operator: d.callers.claimOf, Logger: o.Logger, Registerer: metrics,
		}, d.players),
	}
	access := o.remoteAccess(d)
	all.hosts = hosts.New(hosts.Options{
		Store: d.store, Computes: d.computes, Instances: d.instances, Builds: d.builds, Containers: d.containers, Objects: d.objects,
		GameServerURL: at.gameServers(o), Home: o.home(), Path: o.endpoint(""),
		BuildKey:     ed25519.NewKeyFromSeed(d.master.Derive("build signatures")),
		Certificates: d.authority,
		Relay:        all.servers.Relay,
		Own:          d.tails.own,
		Shells:       access.options(),
		Allow:        d.callers.allow, Limits: d.callers.limits, Logger: o.Logger, Registerer: metrics,
	})
	d.tails.hosts = all.hosts
	services := api.Services{
		Store: d.store, Home: o.home(), Events: d.events, Tags: d.tags,
		Fleets: d.fleets, Computes: d.computes, Instances: d.instances, Sessions: d.sessions,
		FleetIQ: d.groups, Placements: d.placements, Matches: d.matches,
		Builds: d.builds, Containers: d.containers, Objects: d.objects, Uploads: all.uploads, Scaling: d.scaling, Sealer: d.master,
		GameServerURL: at.gameServers(o), Beacon: all.players.BeaconOf,
	}
	if access != nil {
		access.offers = all.hosts.OffersShells
		services.RemoteAccess = access
		d.keys.OnRevoked(func(string) { all.hosts.RecheckShells() })
	}
	api.Register(srv, services)
	d.auditRoutes(all.admin)
	d.recordRoutes(all.admin)
	return all, nil
}

// callersOf returns the callers whose requests are signed for another service of AWS.
func (d *domain) callersOf(service string, o *Options) *callers {
	return &callers{anyone: o.AcceptAny, signed: newSignatures(d.keys, service), limits: d.callers.limits, master: d.master, opts: o}
}

// consoleDoor returns the door for people.
func consoleDoor(d *domain, o *Options, at *site) *console.Console {
	c := console.New(console.Options{
		Home: o.home(), Events: d.events, Logger: o.Logger, Streams: o.MaxStreams,
		Last:  func() uint64 { return d.events.Last(d.store.View()) },
		Allow: d.callers.allow, AllowOf: d.callers.allowOf, AllowBodyOf: d.callers.allowBodyOf,
		Still: d.callers.still,
	})
	c.Placements(console.Placements{
		Explain: func(ctx context.Context, id string) (any, error) { return d.explainPlacement(ctx, id) },
		Queues:  func() any { return d.placements.Overview() },
		QueueOf: d.queueOf,
	})
	c.Fleets(console.Fleets{
		Fleets:    func() any { return d.fleetStates() },
		Costs:     func() any { return d.costs() },
		Processes: func(fleetID string, reaches func(string) bool) any { return d.processStates(fleetID, reaches) },
	})
	c.Tickets(console.Tickets{
		Explain:  func(ctx context.Context, id string) (any, error) { return d.matches.Explain(ctx, id) },
		Overview: func(ctx context.Context, name string) (any, error) { return d.matches.Overview(ctx, name) },
		Trace:    d.trace, ConfigurationOf: d.configurationOf,
	})
	bench := lab.New(d.matches.Trace)
	c.Rules(console.Rules{
		Check:     func(body string) any { return lab.Check(body) },
		Templates: func() any { return lab.Templates() }, Simulate: bench.Simulate,
	})
	c.People(d.people(o, at))
	c.Views(d.pages.Views(pages.Gate{
		Allow: d.callers.allow, AllowOf: d.callers.allowOf, TicketOf: d.configurationOf,
		Named: func(r *http.Request, name string) {
			audit.From(r.Context()).AddResources(func() []string { return []string{name} })
		},
		Who: func(r *http.Request, action auth.Action) (auth.Caller, error) {
			caller, _, err := d.callers.who(r, action)
			return caller, err
		},
	}))
	return c
}

// trace returns a configuration's tickets, each for one line of output.
func (d *domain) trace(ctx context.Context, configuration string, since time.Time) (iter.Seq[any], error) {
	tickets, err := d.matches.Trace(ctx, configuration, since, flexmatch.MaxTraced)
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

// loops returns the background work of the doors.
func (d *doors) loops() []func(context.Context) { return []func(context.Context){d.servers.Run} }

// endStreams ends the answers that would never end by themselves.
func (d *doors) endStreams(ctx context.Context) {
	d.console.Close()
	d.players.Close(ctx)
}

// close drops the connections of game servers, which reconnect to the next start.
func (d *doors) close(ctx context.Context) error {
	d.hosts.Stop()
	if err := d.servers.Stop(ctx); err != nil {
		return fmt.Errorf("requests of game servers were cut off: %w", err)
	}
	return nil
}
