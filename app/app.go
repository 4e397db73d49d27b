package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/door"
)

// App is one Muster node. It must be started once; stopping it again does nothing.
type App struct {
	opts     Options
	begun    time.Time
	log      *slog.Logger
	registry *prometheus.Registry
	domain   *domain
	doors    *doors
	demo     *demo.Demo
	host     *host.Host
	door     *door.Door
	keeper   *cell.Keeper // nil if no other node can have the state
	gate     *cell.Gate
	secret   []byte // shared by the nodes of a cell
	limits   *limits
	callers  *callers
	show     show
	reloads  *reloads

	masterKey   masterKey
	certificate *certificate // the listener's

	standing    context.Context // canceled by Stop
	endStanding context.CancelFunc

	ready atomic.Bool
	done  chan struct{} // closed when the app has stopped, or must be stopped

	mu       sync.Mutex // guards what follows: the lifecycle
	phase    phase
	listener net.Listener
	leaf     []byte // the certificate that the listener presents to other nodes, DER
	server   *http.Server

	metricsServer *http.Server // nil if the listener serves the metrics
	metricsAddr   net.Addr

	base     string         // base URL
	beacon   *beacon.Server // nil: none
	nodeLock io.Closer      // of the data directory's node id; nil: not used
	cancel   context.CancelFunc
	running  sync.WaitGroup
	failed   error
	failOnce sync.Once
}

// New checks the options and builds the app; nothing runs yet and no database is used.
// It creates the data directory. If there is no master key, the start on an empty state
// creates one.
func New(o Options) (*App, error) {
	begun := time.Now()
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := o.makeDataDir(); err != nil {
		return nil, err
	}
	key, err := o.masterKey()
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a := &App{opts: o, begun: begun, log: o.Logger, registry: registry, done: make(chan struct{}), secret: key.NodeSecret(), masterKey: key}
	a.reloads = newReloads(registry)
	a.standing, a.endStanding = context.WithCancel(context.Background())
	a.domain, err = newDomain(&o, o.driver(), key.Master, a.notices())
	if err != nil {
		return nil, err
	}
	if a.door, err = a.outerDoor(); err != nil {
		return nil, err
	}
	a.limits = newLimits(&a.opts, registry)
	a.callers = a.newCallers()
	a.domain.outside = outside{base: func() string { return a.base }, beacon: a.ownBeacon, operator: a.claimForPlayers}
	return a, nil
}

// URL returns the base URL in the ready line: "" before Start.
func (a *App) URL() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.base
}

// Addr returns the listener's address: nil before Start.
func (a *App) Addr() net.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listener == nil {
		return nil
	}
	return a.listener.Addr()
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

// Digest returns the SHA-256 of the committed state, in hex (store.Snapshot.Digest).
func (a *App) Digest() string { return a.domain.store.View().Digest() }
