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
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/lobby"
)

// Deps are the packages that the backend uses.
type Deps struct {
	Store    *store.Store
	Identity *identity.Service
	Fleets   *fleet.Service
	Lobby    *lobby.Service

	Base   string // the server's base URL, for the configuration that clients read
	Beacon string // where the server's own UDP beacon answers, HOST:PORT, for an open server's locations; "": nowhere
	// Operator returns the claimed signer of a request (SigV4), and a function that
	// verifies the claim with the request's body. It refuses callers who are not allowed
	// the action.
	Operator   func(r *http.Request, action auth.Action) (caller auth.Caller, proof func(body []byte) error, err error)
	Logger     *slog.Logger          // nil means none
	Registerer prometheus.Registerer // nil keeps no metrics
}

// Backend serves everything under /player/.
type Backend struct {
	deps    Deps
	log     *slog.Logger
	metrics *metrics
	mux     *http.ServeMux
	rates   *meters
	config  *Settings
	hub     *hub

	accounts   *accounts
	data       *data
	places     *places
	tickets    *tickets
	parties    *parties
	games      *games
	placements *placements
	sockets    *sockets
}

// Settings are the configuration: Config as of the start, and the parts that a reload
// changes as last read.
type Settings struct {
	Config
	last     atomic.Pointer[Config]
	receipts atomic.Pointer[beacon.Receipts] // nil: receipts cannot be checked
}

// NewSettings returns the settings for a configuration. Its error names an invalid setting.
func NewSettings(c Config) (*Settings, error) {
	receipts, err := c.check()
	if err != nil {
		return nil, err
	}
	s := &Settings{Config: c}
	s.last.Store(&c)
	s.receipts.Store(receipts)
	return s, nil
}

// Reload replaces providers, matchmakers, pools, locations with their beacon key, and
// origins; the rest of the configuration cannot change while the server runs. If there
// is an error, it names an invalid setting, and nothing has changed.
func (s *Settings) Reload(c Config, ids *identity.Service, l *lobby.Service) error {
	receipts, err := c.check()
	if err != nil {
		return err
	}
	if err := ids.Providers.Reload(c.Providers); err != nil {
		return err
	}
	l.Reload(c.Offer())
	s.receipts.Store(receipts)
	s.last.Store(&c)
	return nil
}

// now returns the configuration as last read.
func (s *Settings) now() *Config { return s.last.Load() }

// New returns the door.
func New(d Deps, c *Settings) *Backend {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Backend{deps: d, log: d.Logger.With("component", "players"), config: c, hub: newHub(c.Limits, d.Identity)}
	b.metrics = newMetrics(d.Registerer, b.hub)
	b.rates = c.Limits.meters(b.metrics)
	if c.Open { // everyone connects from this machine
		b.rates.address, b.rates.guest, b.rates.login = meter{}, meter{}, meter{}
	}
	b.accounts = &accounts{ids: d.Identity, config: c, base: d.Base, metrics: b.metrics, lockout: newLockout()}
	b.data = &data{d.Identity}
	b.places = &places{st: d.Store, fleets: d.Fleets, lobby: d.Lobby, config: c, base: d.Base, beacon: d.Beacon}
	b.tickets = &tickets{st: d.Store, lobby: d.Lobby.Tickets, hub: b.hub}
	b.parties = &parties{d.Lobby.Parties}
	b.games = &games{d.Lobby.Games}
	b.placements = &placements{d.Lobby.Placements, b.hub}
	b.sockets = &sockets{
		st: d.Store, ids: d.Identity, lobby: d.Lobby, config: c, base: d.Base,
		rates: b.rates, hub: b.hub, metrics: b.metrics, log: b.log, door: newSocketDoor(),
	}
	d.Lobby.OnChanged(b.hub.wake)
	b.mux = b.newMux()
	return b
}

// check sets the defaults, and returns the checker of beacons' receipts, or nil if there is
// no key. Its error names an invalid setting.
func (c *Config) check() (*beacon.Receipts, error) {
	c.Limits.setDefaults(c.Open)
	offer := c.Offer()
	if err := offer.Check(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, l := range c.Locations {
		if l.Name == "" || seen[l.Name] {
			return nil, fmt.Errorf("players: location %q: names are required and unique", l.Name)
		}
		seen[l.Name] = true
	}
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

// ServeHTTP answers one request.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.mux.ServeHTTP(w, r) }

// Close ends long polls and WebSockets; their clients reconnect. It must be called once.
func (b *Backend) Close(ctx context.Context) {
	close(b.hub.closing)
	b.sockets.door.close(ctx)
}

// BeaconOf returns where the UDP beacon of a location answers: HOST:PORT, or "".
func (b *Backend) BeaconOf(location string) string {
	for _, l := range b.config.now().Locations {
		if l.Name == location {
			return l.UDP
		}
	}
	if b.config.Open && (fleet.IsCustom(location) || location == b.deps.Fleets.Home().Region) { // everything is on this machine
		return b.deps.Beacon
	}
	return ""
}

func newID() string { return uuid.NewString() }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
