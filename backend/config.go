package backend

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/identity"
)

// Config is the operator's configuration for players (docs/players.md). The zero value
// has guest accounts and nothing to play.
type Config struct {
	// Issuer is the iss of access tokens and the base of their key set; default:
	// the server's base URL and /player.
	Issuer string `yaml:"issuer"`
	// Audience is the aud of access tokens; default gamebackend.
	Audience string `yaml:"audience"`
	// Algorithm signs access tokens: ES256 (default), EdDSA or RS256.
	Algorithm string `yaml:"algorithm"`
	// AccessLife is how long an access token lasts; default 15m.
	AccessLife time.Duration `yaml:"access_life"`
	// GuestKeep is how long a guest without data and without another login is kept
	// after the last login or refresh; default 4320h (180 days), below 0 forever.
	GuestKeep time.Duration `yaml:"guest_keep"`
	// Providers are the ways to log in other than as a guest.
	Providers []identity.ProviderConfig `yaml:"providers"`
	// Matchmakers are those that players can use.
	Matchmakers []Matchmaker `yaml:"matchmakers"`
	// Pools provide game sessions without matchmaking.
	Pools []Pool `yaml:"pools"`
	// Locations name the beacons of locations.
	Locations []Location `yaml:"locations"`
	// BeaconKeyFile contains the key with which beacons sign receipts.
	BeaconKeyFile string `yaml:"beacon_key_file"`
	// TrustedProxies are addresses or networks whose X-Forwarded-For is believed.
	TrustedProxies []string `yaml:"trusted_proxies"`
	// Origins are web sites whose pages may open a WebSocket, such as
	// https://game.example. Programs other than browsers send no Origin.
	Origins []string `yaml:"origins"`
	// Limits change how often players may do things.
	Limits Limits `yaml:"limits"`
	// Open offers every matchmaking configuration and every queue by its own name
	// and accepts all attributes from clients. It is for one's own machine.
	Open bool `yaml:"-"`
}

// Matchmaker is the players' name for a matchmaking configuration.
type Matchmaker struct {
	Name           string      `yaml:"name"`
	Configuration  string      `yaml:"configuration"` // default: Name
	MinParty       int         `yaml:"min_party"`     // players of a ticket; default 1
	MaxParty       int         `yaml:"max_party"`     // default 1; at most 10
	Scopes         []string    `yaml:"scopes"`        // default guest and authenticated
	Attributes     []Attribute `yaml:"attributes"`
	RequireLatency bool        `yaml:"require_latency"` // refuse tickets without any
	RequireReceipt bool        `yaml:"require_receipt"` // use only latency with a beacon's receipt
}

// Attribute says where a player's attribute comes from.
type Attribute struct {
	Name string `yaml:"name"`
	// From is server (default: from the player's server data), client or const.
	From string `yaml:"from"`
	Key  string `yaml:"key"` // of the player's server data; default: Name
	// Type is that of a client's value: number, string, string_list or string_number_map.
	Type string `yaml:"type"`
	// Min and Max limit numbers from clients.
	Min *float64 `yaml:"min"`
	Max *float64 `yaml:"max"`
	// Default is the value if there is none, or the value of a const.
	Default any `yaml:"default"`
}

// Pool is the players' name for a queue.
type Pool struct {
	Name       string   `yaml:"name"`
	Queue      string   `yaml:"queue"`       // default: Name
	CanCreate  bool     `yaml:"can_create"`  // players may create game sessions
	CanList    bool     `yaml:"can_list"`    // players may list and join game sessions
	MaxPlayers int      `yaml:"max_players"` // of a game session; default 16
	Properties []string `yaml:"properties"`  // keys that players may set
	Scopes     []string `yaml:"scopes"`      // default guest and authenticated
}

// Location configures the beacons of a location.
type Location struct {
	Name  string `yaml:"name"`
	UDP   string `yaml:"udp"`   // HOST:PORT
	TCP   string `yaml:"tcp"`   // HOST:PORT
	HTTPS string `yaml:"https"` // URL
}

// mostParty is the most players of a ticket (API reference, StartMatchmaking).
const mostParty = 10

func (c *Config) setDefaults() {
	for i := range c.Matchmakers {
		m := &c.Matchmakers[i]
		m.Configuration = or(m.Configuration, m.Name)
		m.MinParty, m.MaxParty = max(m.MinParty, 1), max(m.MaxParty, m.MinParty, 1)
		for j := range m.Attributes {
			a := &m.Attributes[j]
			a.From, a.Key = or(a.From, "server"), or(a.Key, a.Name)
		}
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		p.Queue = or(p.Queue, p.Name)
		if p.MaxPlayers == 0 {
			p.MaxPlayers = 16
		}
	}
	c.Limits.setDefaults(c.Open)
}

func (c *Config) validate() error {
	seen := map[string]bool{}
	unique := func(kind, name string) error {
		if name == "" || seen[kind+name] {
			return fmt.Errorf("players: %s %q: names are required and unique", kind, name)
		}
		seen[kind+name] = true
		return nil
	}
	for i := range c.Matchmakers {
		m := &c.Matchmakers[i]
		if err := unique("matchmaker", m.Name); err != nil {
			return err
		}
		if m.MaxParty > mostParty {
			return fmt.Errorf("players: matchmaker %q: max_party: %d; at most %d", m.Name, m.MaxParty, mostParty)
		}
		for j := range m.Attributes {
			if err := m.Attributes[j].validate(); err != nil {
				return fmt.Errorf("players: matchmaker %q: attribute %q: %w", m.Name, m.Attributes[j].Name, err)
			}
		}
	}
	for _, p := range c.Pools {
		if err := unique("pool", p.Name); err != nil {
			return err
		}
	}
	for _, l := range c.Locations {
		if err := unique("location", l.Name); err != nil {
			return err
		}
	}
	return nil
}

func (a *Attribute) validate() error {
	switch {
	case a.Name == "":
		return fmt.Errorf("name: required")
	case !slices.Contains([]string{"server", "client", "const"}, a.From):
		return fmt.Errorf("from: %q is none of server, client, const", a.From)
	case a.From == "client" && !slices.Contains([]string{"number", "string", "string_list", "string_number_map"}, a.Type):
		return fmt.Errorf("type: %q is none of number, string, string_list, string_number_map", a.Type)
	case a.From == "const" && a.Default == nil:
		return fmt.Errorf("default: required for a const")
	}
	return nil
}

func allows(scopes []string, scope string) bool {
	return len(scopes) == 0 || slices.Contains(scopes, scope)
}

func or(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}
