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

// App is one Muster node. Start it once, Stop it once or more often.
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
	keeper   *cell.Keeper // nil where nobody else can have the state
	gate     *cell.Gate
	secret   []byte // what the nodes of a cell share
	limits   *limits
	callers  *callers
	show     show
	reloads  *reloads

	masterKey   masterKey
	certificate *certificate // that the listener shows

	standing    context.Context // until Stop
	endStanding context.CancelFunc

	ready atomic.Bool
	done  chan struct{} // closed when the app has stopped, or must

	mu       sync.Mutex // guards what follows: the lifecycle
	phase    phase
	listener net.Listener
	leaf     []byte // the certificate that the listener shows to other nodes, DER
	server   *http.Server

	metricsServer *http.Server // nil where the listener answers for metrics
	metricsAddr   net.Addr

	base     string         // base URL
	beacon   *beacon.Server // nil: none
	nodeLock io.Closer      // of the data directory's node id; nil: not used
	cancel   context.CancelFunc
	running  sync.WaitGroup
	failed   error
	failOnce sync.Once
}

// New checks the options and puts everything together; nothing runs yet and no
// database is touched. It makes the data directory; a master key, where there is
// none, is made by the start on an empty state.
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

// URL is the base URL that the ready line tells: "" before Start.
func (a *App) URL() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.base
}

// Addr is the address listened on: nil before Start.
func (a *App) Addr() net.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listener == nil {
		return nil
	}
	return a.listener.Addr()
}

// Done is closed when the app has stopped, or when it cannot go on and has to be
// stopped; Err tells why.
func (a *App) Done() <-chan struct{} { return a.done }

// Err is why the app cannot go on; nil while it can.
func (a *App) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Digest is the SHA-256 of the committed state, in hex (store.Snapshot.Digest).
func (a *App) Digest() string { return a.domain.store.View().Digest() }
