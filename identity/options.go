package identity

import (
	"cmp"
	"fmt"
	"time"
)

// Options configure the service. Zero members mean the defaults.
type Options struct {
	// Issuer returns the iss of access tokens: the URL below which the key set is
	// published, without a trailing slash. Required. It is called for each token, since
	// the URL may not be known before the server listens.
	Issuer func() string
	// Audience is the aud of access tokens; default muster.
	Audience string
	// Algorithm signs access tokens: ES256 (default), EdDSA or RS256. A change
	// takes effect with the next key.
	Algorithm string

	AccessLife    time.Duration // of access tokens; default 15 min
	RefreshIdle   time.Duration // of unused refresh tokens; default 30 days
	GuestIdle     time.Duration // the same for logins of guests; default 180 days
	GuestKeep     time.Duration // of guests without data or other logins who do not come back; default 180 days, below 0 forever
	RefreshLife   time.Duration // of a family, however often it is used; default 365 days
	Grace         time.Duration // in which a refresh whose answer was lost may be repeated; default 30 s
	Fresh         time.Duration // how recent a login must be to change credentials; default 10 min
	KeyLife       time.Duration // how long a key signs; default 30 days
	KeyLead       time.Duration // how long a key is published before it signs; default 24 h
	Families      int           // logins a player can have at a time; one more ends the oldest; default 10
	ReuseIDTokens bool          // lets a provider's ID token log in more than once
	Providers     []ProviderConfig

	// Home returns a value of a player's data, for a service in another region than the home
	// region, which has the accounts: this one then has no accounts, and knows players by
	// copies (Service.Copy). nil: the accounts are here. Refusals: NotFound.
	Home func(playerID string, ns Namespace, key string) (*Datum, error)
}

func (o *Options) setDefaults() {
	const day = 24 * time.Hour
	o.Audience, o.Algorithm = cmp.Or(o.Audience, "muster"), cmp.Or(o.Algorithm, "ES256")
	o.AccessLife = cmp.Or(o.AccessLife, 15*time.Minute)
	o.RefreshIdle = cmp.Or(o.RefreshIdle, 30*day)
	o.GuestIdle = cmp.Or(o.GuestIdle, 180*day)
	o.GuestKeep = cmp.Or(o.GuestKeep, 180*day)
	o.RefreshLife = cmp.Or(o.RefreshLife, 365*day)
	o.Grace = cmp.Or(o.Grace, 30*time.Second)
	o.Fresh = cmp.Or(o.Fresh, 10*time.Minute)
	o.KeyLife = cmp.Or(o.KeyLife, 30*day)
	o.KeyLead = cmp.Or(o.KeyLead, day)
	o.Families = cmp.Or(o.Families, 10)
}

func (o *Options) validate() error {
	switch {
	case o.Issuer == nil:
		return fmt.Errorf("identity: Options.Issuer is required")
	case !signs(o.Algorithm):
		return fmt.Errorf("players: algorithm: %q is none of ES256, EdDSA, RS256", o.Algorithm)
	case o.KeyLead >= o.KeyLife:
		return fmt.Errorf("players: a key must sign for longer (%s) than it is published before (%s)", o.KeyLife, o.KeyLead)
	}
	return nil
}
