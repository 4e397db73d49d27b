package player

import (
	"context"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Tokens are a login. Who has them is the player: keep them as secrets.
type Tokens struct {
	PlayerID string `json:"player_id"`
	Scope    string `json:"scope"` // guest or authenticated
	// GuestSecret is shown once, when the guest account is made, and logs it in
	// again when the refresh token has ended. "" for other accounts.
	GuestSecret    string    `json:"guest_secret,omitempty"`
	Access         string    `json:"access"`
	AccessExpires  time.Time `json:"access_expires"`
	Refresh        string    `json:"refresh"`
	RefreshExpires time.Time `json:"refresh_expires"`

	renew time.Time // when the access token is to be renewed
}

// TokenStore keeps a login. Its methods are not called at the same time.
type TokenStore interface {
	// Load gives what was saved last; the zero Tokens where nothing was.
	Load(ctx context.Context) (Tokens, error)
	// Save keeps the tokens. Each refresh token is good once: what is not saved
	// is lost with the game's process.
	Save(ctx context.Context, t Tokens) error
}

// renewAfter is the share of an access token's life after which it is renewed.
const renewAfter = 0.8

// tokensOf reads a login; a guest's secret stays known.
func tokensOf(s *protocol.Session, before Tokens, now time.Time) Tokens {
	life := time.Duration(s.AccessTokenExpiresIn) * time.Second
	t := Tokens{
		PlayerID: s.PlayerID, Scope: string(s.Scope), GuestSecret: s.GuestSecret,
		Access: s.AccessToken, AccessExpires: now.Add(life), renew: now.Add(time.Duration(renewAfter * float64(life))),
		Refresh: s.RefreshToken, RefreshExpires: now.Add(time.Duration(s.RefreshTokenExpiresIn) * time.Second),
	}
	if t.GuestSecret == "" && before.PlayerID == t.PlayerID {
		t.GuestSecret = before.GuestSecret
	}
	return t
}
