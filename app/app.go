package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/telemetry"
	"github.com/musterhq/muster/internal/tracing"
)

// App is one Muster node. It must be started once; stopping it again does nothing.
type App struct {
	begun     time.Time
	log       *slog.Logger
	metrics   *metrics
	telemetry *telemetry.Exporter
	masterKey *masterKey
	name      *nodeName
	site      *site
	reloads   *reloads
	regions   []*region // the home region first
	own       *http.ServeMux
	spread    *cell.Spread // set by Start; nil: there is one region, or one node

	standing    context.Context // canceled by Stop
	endStanding context.CancelFunc
	done        chan struct{} // closed when the app has stopped, or must be stopped
	failOnce    sync.Once
	running     sync.WaitGroup
	keeping     sync.WaitGroup // what replaces replicas

	settings sync.Mutex // guards what a reload changes in opts
	opts     Options

	mu     sync.Mutex // guards what follows: the lifecycle
	phase  phase
	server *http.Server // nil until it serves
	failed error
}

// New checks the options and builds the app; nothing runs yet and no database is used.
// It creates the data directory. If there is no master key, the start on an empty state
// creates one.
func New(o Options) (*App, error) {
	begun := time.Now()
	o.setDefaults()
	if err := o.validateServer(); err != nil {
		return nil, err
	}
	if err := o.makeDataDir(); err != nil {
		return nil, err
	}
	key, err := o.masterKey()
	if err != nil {
		return nil, err
	}
	a := &App{opts: o, begun: begun, log: o.Logger, metrics: newMetrics(), masterKey: &key, name: &nodeName{opts: &o}, done: make(chan struct{})}
	a.standing, a.endStanding = context.WithCancel(context.Background())
	a.reloads = newReloads(a.metrics.registry)
	if a.telemetry, err = o.telemetry(a.metrics); err != nil {
		return nil, err
	}
	if a.telemetry.Tracer(o.Region) != nil {
		a.log = tracing.Logger(o.Logger)
		o.Logger, a.opts.Logger = a.log, a.log
	}
	if a.site, err = newSite(&o); err != nil {
		return nil, err
	}
	for _, name := range o.regions() {
		g, err := newRegion(a, name)
		if err != nil {
			return nil, err
		}
		a.regions = append(a.regions, g)
	}
	a.site.origins = func() []string { return a.home().domain.players.Sites() }
	a.own = a.ownPaths()
	return a, nil
}

// home returns the replica of the home region.
func (a *App) home() *replica { return a.regions[0].now.Load() }

// optionsIn returns the options for a region, as last read.
func (a *App) optionsIn(region string) *Options {
	a.settings.Lock()
	defer a.settings.Unlock()
	return a.opts.in(region)
}

// URL returns the base URL in the ready line: "" before Start.
func (a *App) URL() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.site.URL()
}

// Done is closed when the app has stopped, or when it cannot go on and has to be
// stopped; Err returns the reason.
func (a *App) Done() <-chan struct{} { return a.done }

// Err returns why the app cannot go on; nil if it can.
func (a *App) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Digest returns the SHA-256 of the committed state of the home region, in hex
// (store.Snapshot.Digest).
func (a *App) Digest() string { return a.home().domain.store.View().Digest() }
