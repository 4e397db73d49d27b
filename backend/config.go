package backend

import (
	"time"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Config is the operator's configuration for players (docs/players.md). The zero value
// has guest accounts and nothing to play.
type Config struct {
	// Issuer is the iss of access tokens and the base of their key set; default:
	// the server's base URL and /player.
	Issuer string `yaml:"issuer"`
	// Audience is the aud of access tokens; default muster.
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
	Matchmakers []lobby.Matchmaker `yaml:"matchmakers"`
	// Pools provide game sessions without matchmaking.
	Pools []lobby.Pool `yaml:"pools"`
	// Locations name the beacons of locations.
	Locations []protocol.Location `yaml:"locations"`
	// BeaconKeyFile contains the key with which beacons sign receipts.
	BeaconKeyFile string `yaml:"beacon_key_file"`
	// TrustedProxies are addresses or networks whose X-Forwarded-For is trusted.
	TrustedProxies []string `yaml:"trusted_proxies"`
	// Origins are web sites whose pages may use the API, such as https://game.example.
	// Programs other than browsers send no Origin. An open server also admits pages of
	// this machine.
	Origins []string `yaml:"origins"`
	// Limits limit how often players may do things.
	Limits Limits `yaml:"limits"`
	// Open offers every matchmaking configuration and every queue by its own name
	// and accepts all attributes from clients. It is meant for a developer's machine.
	Open bool `yaml:"-"`
}

// Offer returns what players can play.
func (c *Config) Offer() lobby.Offer {
	return lobby.Offer{Matchmakers: c.Matchmakers, Pools: c.Pools, Open: c.Open}
}
