package backend

import (
	"cmp"
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

	Base   string // the base URL of the API, for the configuration that clients read
	Origin string // the origin of the server's own pages
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
	*core
	mux *http.ServeMux

	accounts   *accounts
	data       *data
	places     *places
	tickets    *tickets
	parties    *parties
	games      *games
	placements *placements
	sockets    *sockets
}

// core is what the handlers of all resources share.
type core struct {
	Deps
	log     *slog.Logger
	config  *Settings
	metrics *metrics
	rates   *meters
	hub     *hub
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

func (s *Settings) providerNames() (names []string) {
	for _, p := range s.Providers {
		names = append(names, p.Name)
	}
	return names
}

// Sites returns the origins whose pages may use the API now.
func (s *Settings) Sites() []string { return s.now().Origins }

// New returns the door.
func New(d Deps, s *Settings) *Backend {
	log := cmp.Or(d.Logger, slog.New(slog.DiscardHandler)).With("component", "players")
	c := &core{Deps: d, log: log, config: s, hub: newHub(s.Limits, d.Identity)}
	c.metrics = newMetrics(d.Registerer, c.hub, s.providerNames()...)
	c.rates = s.Limits.meters(c.metrics)
	if s.Open { // everyone connects from this machine
		c.rates.address, c.rates.guest, c.rates.login = meter{}, meter{}, meter{}
	}
	b := &Backend{
		core: c, accounts: &accounts{c, newLockout()}, data: &data{c}, places: &places{c}, tickets: &tickets{c}, parties: &parties{c},
		games: &games{c}, placements: &placements{c}, sockets: newSockets(c),
	}
	d.Lobby.OnChanged(b.hub.wake)
	d.Lobby.OnChanged(b.sockets.door.wake)
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
	if err := checkOrigins(c.Origins); err != nil {
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
	b.sockets.absent.close() // the connections that end now come back
	b.sockets.door.close(ctx)
}

// BeaconOf returns where the UDP beacon of a location answers: HOST:PORT, or "".
func (b *Backend) BeaconOf(location string) string {
	for _, l := range b.config.now().Locations {
		if l.Name == location {
			return l.UDP
		}
	}
	if b.config.Open && (fleet.IsCustom(location) || location == b.Fleets.Home().Region) { // everything is on this machine
		return b.Beacon
	}
	return ""
}

func newID() string { return uuid.NewString() }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
