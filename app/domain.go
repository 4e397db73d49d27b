package app

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/auth/oidc"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/build/object"
	authority "github.com/musterhq/muster/certificate"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/event/archive"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/fleet/price"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/registry"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/notify"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/scaling"
	"github.com/musterhq/muster/session"
)

// domain is the state of a cell and the packages that implement its rules.
type domain struct {
	store      *store.Store
	tracer     *tracing.Tracer // nil: nothing is traced
	master     *auth.Master
	events     *event.Log
	audit      *audit.Log
	auditSink  audit.Sink // nil: none
	tags       *tag.Service
	keys       *auth.Service
	callers    *callers
	oidc       *oidc.Provider // of people at the console; nil: none
	objects    *object.Service
	builds     *build.Service
	containers *container.Service
	fleets     *fleet.Service
	computes   *compute.Service
	sessions   *session.Service
	instances  *instance.Service
	authority  *authority.Authority
	groups     *fleetiq.Service
	placements *placement.Service
	scaling    *scaling.Service
	matches    *flexmatch.Service
	notices    *notify.Service
	archive    *archive.Service
	identity   *identity.Service
	lobby      *lobby.Service
	players    *backend.Settings
	pages      *pages.Pages
	origins    *origins
	tails      tails
	prices     atomic.Pointer[price.List]
}

// front is what a domain needs in order to be served: the site at which it is reached, and
// where its metrics are registered.
type front struct {
	site      *site
	metrics   prometheus.Registerer
	tracer    *tracing.Tracer
	confirmed func() uint64 // the last sequence of the state that this node knows was confirmed
	home      *homeClient   // for another region than the home region
}

// newDomain registers everything on a store that is not open yet, from the lowest package
// to the highest: each registers its hooks with those below it (docs/flows.md). If f is
// nil, the domain will not be served. The error names what is misconfigured, for notices
// or for players.
func newDomain(o *Options, driver store.Driver, master *auth.Master, f *front) (*domain, error) {
	var metrics prometheus.Registerer
	var tracer *tracing.Tracer
	var confirmed func() uint64
	if f != nil {
		metrics, tracer, confirmed = f.metrics, f.tracer, f.confirmed
	}
	st := store.New(store.Options{
		Driver: driver, Cell: o.Cell, Logger: o.Logger, Registerer: metrics, Record: o.Record,
		Patience: 2 * o.LeaseTTL, Confirmed: confirmed,
	})
	sink, err := o.auditSink()
	if err != nil {
		return nil, err
	}
	d := &domain{store: st, tracer: tracer, master: master, events: event.New(st, o.Events), tags: tag.New(st), origins: newOrigins(st), auditSink: sink}
	d.prices.Store(&o.Prices)
	d.audit = audit.New(st, audit.Options{Level: o.Audit.Level, Retention: o.Audit.Retention, Sink: sink, Logger: o.Logger, Registerer: metrics})
	d.keys = auth.New(st, d.events, master, d.tags.Of)
	d.callers = &callers{anyone: o.AcceptAny, signed: newSignatures(d.keys, "gamelift"), limits: newLimits(o, metrics), master: master, opts: o}
	d.objects = object.New(st, object.Options{Blobs: blob.New(o.blobDir()), Reserved: paths, Logger: o.Logger})
	d.builds = build.New(st, build.Deps{Events: d.events, Tags: d.tags, Objects: d.objects}, build.Options{Home: o.home(), Logger: o.Logger})
	d.containers = container.New(st, container.Deps{Events: d.events, Tags: d.tags, Resolve: registry.New(o.Registries).Resolve}, container.Options{Home: o.home(), Logger: o.Logger})
	d.fleets = fleet.New(st, fleet.Deps{Events: d.events, Tags: d.tags}, fleet.Options{Home: o.home(), Regions: o.Regions, Builds: d.hostable, Definitions: d.definition, Tracer: tracer})
	d.builds.SetInUse(d.hosted)
	d.containers.SetInUse(d.fleets.UsesVersion)
	d.containers.OnReady(func(tx *store.Tx, v *container.Version) { d.fleets.Follow(tx, definitionOf(v)) })
	d.fleets.OnDesired(d.builds.Nudge)
	computes := o.Computes
	computes.Tokens, computes.Registerer = master, metrics
	d.computes = compute.New(st, compute.Deps{Events: d.events, Fleets: d.fleets, Tags: d.tags}, computes)
	d.sessions = session.New(st, session.Deps{Events: d.events, Fleets: d.fleets, Computes: d.computes}, o.Sessions)
	instances := o.Instances
	instances.Tracer = tracer
	d.instances = instance.New(st, instance.Deps{
		Events: d.events, Tags: d.tags, Fleets: d.fleets, Computes: d.computes, Sessions: d.sessions,
	}, instances)
	d.authority = authority.New(st, master.Derive)
	d.groups = fleetiq.New(st, fleetiq.Deps{Events: d.events, Tags: d.tags, Hosts: d.instances}, fleetiq.Options{Home: o.home(), Registerer: metrics})
	placements := o.Placements
	placements.Registerer, placements.Tracer, placements.Remotes = metrics, tracer, o.remotes(f)
	d.placements = placement.New(st, placement.Deps{
		Events: d.events, Tags: d.tags, Fleets: d.fleets, Computes: d.computes, Sessions: d.sessions,
	}, placements)
	matches := o.Matches
	matches.Registerer, matches.Tracer, matches.Log = metrics, tracer, o.Logger
	d.matches = flexmatch.New(st, flexmatch.Deps{
		Home: o.home(), Events: d.events, Tags: d.tags, Sessions: d.sessions, Placements: d.placements,
	}, matches)
	d.scaling = scaling.New(st, scaling.Deps{
		Events: d.events, Fleets: d.fleets, Computes: d.computes, Sessions: d.sessions, Instances: d.instances,
		Placements: d.placements, Logger: o.Logger,
	})
	if f != nil {
		metrics.MustRegister(gauges{d}, expenses{d}, doubts(d))
	}
	if err := d.addProvider(o, f); err != nil {
		return nil, err
	}
	if err := d.addNotices(o, f); err != nil {
		return nil, err
	}
	if err := d.addArchive(o, f); err != nil {
		return nil, err
	}
	if err := d.addPlayers(o, f); err != nil {
		return nil, err
	}
	d.pages = pages.New(pages.Services{
		Home: o.home(), Store: st, Events: d.events, Fleets: d.fleets, Computes: d.computes, Sessions: d.sessions, Instances: d.instances,
		Placements: d.placements, Matches: d.matches, Identity: d.identity, Lobby: d.lobby, States: d.fleetStates, HostOf: d.hostOf, Tail: d.tailOf, Stored: (&storedLogs{store: st, objects: d.objects}).Tail, Logger: o.Logger,
		Tags: func(resource string) map[string]string { return d.tags.Of(st.View(), resource) },
	})
	return d, nil
}

// addNotices creates the service that delivers events; if f is nil, it delivers none.
func (d *domain) addNotices(o *Options, f *front) (err error) {
	var c notify.Options
	if f != nil {
		c = notify.Options{
			Sinks: o.Sinks, Home: o.home(), KeyFile: o.file("notify.pem"),
			BaseURL: func() string { return o.endpoint(f.site.URL()) },
			Allow:   d.callers.allow, Logger: o.Logger, Registerer: f.metrics,
		}
	}
	d.notices, err = notify.New(d.store, d.events, c)
	return err
}

// addPlayers creates the services for accounts and game clients.
func (d *domain) addPlayers(o *Options, f *front) (err error) {
	c := o.Players
	c.Open = o.AcceptAny
	if d.players, err = backend.NewSettings(c); err != nil {
		return err
	}
	issuer, players := func() string { return c.Issuer }, lobby.Options{Offer: c.Offer(), Logger: o.Logger}
	if f != nil {
		players.Registerer = f.metrics
		if c.Issuer == "" {
			issuer = func() string { return f.site.URL() + "/player" }
		}
	}
	accounts := identity.Options{
		Issuer: issuer, Audience: c.Audience, Algorithm: c.Algorithm, AccessLife: c.AccessLife, GuestKeep: c.GuestKeep, Providers: c.Providers,
	}
	if f != nil && !o.isHome() {
		accounts.Home = f.home.datum
	}
	d.identity, err = identity.New(d.store, identity.Deps{Events: d.events, Secrets: d.master, Logger: o.Logger}, accounts)
	if err != nil {
		return err
	}
	d.lobby, err = lobby.New(d.store, lobby.Deps{
		Identity: d.identity, Fleets: d.fleets, Sessions: d.sessions, Placements: d.placements, Matches: d.matches,
	}, players)
	return err
}

// loops returns the background work of the domain.
func (d *domain) loops() []func(context.Context) {
	return []func(context.Context){
		d.keys.Run, d.objects.Run, d.builds.Run, d.containers.Run, d.computes.Run, d.sessions.Run, d.instances.Run, d.groups.Run, d.placements.Run, d.scaling.Run,
		d.matches.Run, d.notices.Run, d.archive.Run, d.identity.Run, d.lobby.Run, d.audit.Run, d.audit.Export, d.pages.Run,
	}
}

// hostable returns what fleets need of a build.
func (d *domain) hostable(r store.Reader, idOrARN string) (fleet.Build, error) {
	b, err := d.builds.Find(r, idOrARN)
	if err != nil {
		return fleet.Build{}, err
	}
	return fleet.Build{
		ID: b.ID, Status: string(b.Status), OS: b.OS, Ready: b.Status == build.Ready, SHA256: b.SHA256, Format: b.Format, Bytes: b.Size,
	}, nil
}

// definition returns what fleets need of a version of a container group definition, by name
// or ARN.
func (d *domain) definition(r store.Reader, nameOrARN string) (fleet.Definition, error) {
	v, err := d.containers.Find(r, nameOrARN, 0)
	if err != nil {
		return fleet.Definition{}, err
	}
	out := definitionOf(v)
	out.Newest = !container.Names(nameOrARN)
	return out, nil
}

func definitionOf(v *container.Version) fleet.Definition {
	return fleet.Definition{
		Group: fleet.Group{
			Name: v.Name, Version: v.Number, MemoryMiB: v.Memory, CPUMillis: int(math.Ceil(v.VCPU * 1000)), Ports: v.Ports(),
			Ranges: rangesOf(v),
		},
		PerInstance: v.Type == container.PerInstance, Status: string(v.Status), Ready: v.Status == container.Ready,
	}
}

// rangesOf returns the port ranges of a version's containers, the game server's first.
func rangesOf(v *container.Version) []fleet.PortRange {
	var all []fleet.PortRange
	for c := range v.Containers() {
		for _, p := range c.Ports {
			all = append(all, fleet.PortRange{Container: c.Name, Game: c == v.Game, From: p.From, To: p.To, Protocol: p.Protocol})
		}
	}
	return all
}

// hosted reports whether a fleet runs a build.
func (d *domain) hosted(r store.Reader, buildID string) bool {
	for range d.fleets.OfBuild(r, buildID) {
		return true
	}
	return false
}

// queueOf returns the name of a placement's queue, "" if there is no such placement.
func (d *domain) queueOf(ctx context.Context, placementID string) (string, error) {
	p, _, err := d.placements.Get(ctx, placementID)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return p.Queue, nil
}

// configurationOf returns the name of a ticket's matchmaking configuration, "" if there
// is no such ticket.
func (d *domain) configurationOf(ctx context.Context, ticketID string) (string, error) {
	t, err := d.matches.Get(ctx, ticketID)
	if err != nil || t == nil {
		return "", err
	}
	return t.Ticket.Configuration, nil
}

func (o *Options) driver() store.Driver {
	switch {
	case o.Store == "memory":
		return store.NewMemory()
	case o.usesPostgres():
		return postgres.New(o.Store).WithPassword(o.StorePassword)
	}
	return sqlite.New(cmp.Or(o.directory, o.DataDir))
}

// makeDataDir creates the data directory, or removes other users' access to it.
func (o *Options) makeDataDir() error {
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	info, err := os.Stat(o.DataDir)
	if err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 || !hasModes {
		return nil
	}
	if !owned(info) {
		return fmt.Errorf("data: other users have access to %s (mode %04o), and it belongs to another user, so it cannot be made private: give a directory of the server's own, such as %s",
			o.DataDir, info.Mode().Perm(), filepath.Join(o.DataDir, "muster"))
	}
	if err := os.Chmod(o.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data directory private: %w", err)
	}
	o.Logger.Info("took the access of other users to the data directory", "dir", o.DataDir, "mode_was", fmt.Sprintf("%04o", info.Mode().Perm()))
	return nil
}

// blobDir returns the directory for the bytes of builds and logs. Each cell has its own,
// so that none deletes what another refers to; so has a state in memory.
func (o *Options) blobDir() string {
	dir := o.BlobDir
	if dir == "" {
		dir = o.file("blobs")
	}
	if o.Store == "memory" {
		return filepath.Join(dir, "memory", url.PathEscape(o.Cell))
	}
	return filepath.Join(dir, "cells", url.PathEscape(o.Cell))
}

func (o *Options) home() arn.Home { return arn.Home{Region: o.Region, Account: o.Account} }

// storeKind returns the engine without the URL, which may contain a password.
func (o *Options) storeKind() string {
	if o.usesPostgres() {
		return "postgres"
	}
	return o.Store
}

// flush makes durable what services write from time to time: records of requests, and the uses
// of keys.
func (d *domain) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d.audit.Flush(ctx)
	d.keys.KeepUses(ctx)
}
