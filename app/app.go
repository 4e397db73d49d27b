package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// App is one Muster node. It must be started once; stopping it again does nothing.
type App struct {
	opts      Options
	begun     time.Time
	log       *slog.Logger
	metrics   *metrics
	masterKey masterKey
	domain    *domain
	site      *site
	member    *member
	health    *health
	reloads   *reloads
	local     local
	confirmed *confirmed

	standing    context.Context // canceled by Stop
	endStanding context.CancelFunc
	done        chan struct{} // closed when the app has stopped, or must be stopped
	failOnce    sync.Once
	running     sync.WaitGroup

	mu     sync.Mutex // guards what follows: the lifecycle
	phase  phase
	doors  *doors       // nil until this node has the state
	server *http.Server // nil until it serves
	cancel context.CancelFunc
	failed error
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
	a := &App{opts: o, begun: begun, log: o.Logger, metrics: newMetrics(), masterKey: key, done: make(chan struct{})}
	a.standing, a.endStanding = context.WithCancel(context.Background())
	a.reloads = newReloads(a.metrics.registry)
	a.confirmed = openConfirmed(&a.opts)
	a.member = &member{opts: &a.opts, confirmed: a.confirmed.here, secret: key.NodeSecret()}
	if a.site, err = newSite(&a.opts); err != nil {
		return nil, err
	}
	a.domain, err = newDomain(&a.opts, o.driver(), key.Master, &front{a.site, a.metrics.registry, a.confirmed.last})
	if err != nil {
		return nil, err
	}
	a.confirmed.store, a.confirmed.member = a.domain.store, a.member
	a.site.origins = a.domain.players.Sites
	a.measureLevel(a.metrics.registry)
	a.health = &health{member: a.member, store: a.domain.store, patience: o.LeaseTTL}
	return a, nil
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

// Digest returns the SHA-256 of the committed state, in hex (store.Snapshot.Digest).
func (a *App) Digest() string { return a.domain.store.View().Digest() }
