package backend

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// Deps are the packages that the backend uses.
type Deps struct {
	Store      *store.Store
	Events     *event.Log
	Identity   *identity.Service
	Matching   Matching
	Fleets     *fleet.Service
	Sessions   *session.Service
	Placements *placement.Service

	// Base returns the server's base URL, for the configuration that clients read.
	Base func() string
	// Beacon returns where the server's own UDP beacon answers, HOST:PORT or "", for
	// an open server's locations; nil means that it has none.
	Beacon func() string
	// Operator returns who claims to have signed a request (SigV4), and a function that
	// proves it with the request's body. It refuses callers who are not allowed the action.
	Operator   func(r *http.Request, action auth.Action) (caller auth.Caller, proof func(body []byte) error, err error)
	Logger     *slog.Logger          // nil means none
	Registerer prometheus.Registerer // nil keeps no metrics
}

// Backend serves everything under /player/.
type Backend struct {
	Config   // as at the start; now returns what a reload changes
	current  atomic.Pointer[Config]
	opts     Deps
	log      *slog.Logger
	metrics  *metrics
	st       *store.Store
	ids      *identity.Service
	matching Matching
	mux      *http.ServeMux
	rates    meters
	lockout  *lockout
	receipts atomic.Pointer[beacon.Receipts] // nil: receipts cannot be checked
	latency  *latencies
	hub      *hub
	doors    *socketDoor
	t        tables
	cmd      commands
	closing  chan struct{}
	expelled chan struct{} // makes the reconciler stop what expel marked
}

type commands struct {
	open       *store.Command[openArgs, *Ticket]
	observe    *store.Command[[]observation, struct{}]
	sweep      *store.Command[struct{}, bool]
	party      *store.Command[partyArgs, *Party]
	place      *store.Command[Placing, *Placing]
	seePlacing *store.Command[[]placingSeen, struct{}]
}

// New registers the package's tables and commands on the store. Its error names
// what is not configured correctly.
func New(d Deps, c Config) (*Backend, error) {
	c.setDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if d.Beacon == nil {
		d.Beacon = func() string { return "" }
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Backend{
		Config: c, opts: d, log: d.Logger.With("component", "players"), st: d.Store, ids: d.Identity, matching: d.Matching,
		rates: c.Limits.meters(), lockout: newLockout(), latency: newLatencies(),
		hub: newHub(), doors: newSocketDoor(), t: newTables(d.Store), closing: make(chan struct{}), expelled: make(chan struct{}, 1),
	}
	if c.Open { // everyone connects from this machine
		b.rates.address, b.rates.guest, b.rates.login = meter{}, meter{}, meter{}
	}
	receipts, err := c.readReceipts()
	if err != nil {
		return nil, err
	}
	b.current.Store(&c)
	b.receipts.Store(receipts)
	b.metrics = newMetrics(d.Registerer, b)
	b.cmd = commands{
		open:       store.NewCommand(d.Store, "play.open", b.runOpen),
		observe:    store.NewCommand(d.Store, "play.observe", b.runObserve),
		sweep:      store.NewCommand(d.Store, "play.sweep", b.runSweep),
		party:      store.NewCommand(d.Store, "play.party", b.runParty),
		place:      store.NewCommand(d.Store, "play.place", b.runPlace),
		seePlacing: store.NewCommand(d.Store, "play.see_placement", b.runSeePlacing),
	}
	b.ids.Accounts.OnOut(b.expel)
	b.mux = b.newMux()
	return b, nil
}

// readReceipts reads the key of beacons; nil if there is none.
func (c *Config) readReceipts() (*beacon.Receipts, error) {
	if c.BeaconKeyFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.BeaconKeyFile)
	if err != nil {
		return nil, fmt.Errorf("players: beacon_key_file: %w", err)
	}
	key, err := beacon.ReadKey(text)
	if err != nil {
		return nil, fmt.Errorf("players: beacon_key_file: %w", err)
	}
	return beacon.NewReceipts(key), nil
}

// now returns the configuration as last read.
func (b *Backend) now() *Config { return b.current.Load() }

// Reload replaces providers, matchmakers, pools, locations with their beacon key, and
// origins; the rest of the configuration cannot change while the server runs. If there
// is an error, it names what is wrong, and nothing has changed.
func (b *Backend) Reload(c Config) error {
	c.setDefaults()
	if err := c.validate(); err != nil {
		return err
	}
	receipts, err := c.readReceipts()
	if err != nil {
		return err
	}
	if err := b.ids.Providers.Reload(c.Providers); err != nil {
		return err
	}
	b.receipts.Store(receipts)
	b.current.Store(&c)
	return nil
}

// ServeHTTP answers one request.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.mux.ServeHTTP(w, r) }

// Close ends long polls and WebSockets; their clients reconnect. It must be called once.
func (b *Backend) Close(ctx context.Context) {
	close(b.closing)
	b.doors.close(ctx)
}

func newID() string { return uuid.NewString() }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
