package player

import (
	"context"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Tokens are a login. They authenticate the player: keep them secret.
type Tokens struct {
	PlayerID string `json:"player_id"`
	Scope    string `json:"scope"` // guest or authenticated
	// GuestSecret is returned once, when the guest account is created, and logs in
	// again when the refresh token has expired. "" for other accounts.
	GuestSecret    string    `json:"guest_secret,omitempty"`
	Access         string    `json:"access"`
	AccessExpires  time.Time `json:"access_expires"`
	Refresh        string    `json:"refresh"`
	RefreshExpires time.Time `json:"refresh_expires"`

	renew time.Time // when to renew the access token
}

// TokenStore stores a login. Its methods are not called concurrently.
type TokenStore interface {
	// Load returns the tokens saved last; the zero Tokens if there are none.
	Load(ctx context.Context) (Tokens, error)
	// Save stores the tokens. Each refresh token works once: tokens that are not
	// saved are lost with the game's process.
	Save(ctx context.Context, t Tokens) error
}

// renewAfter is the share of an access token's life after which it is renewed.
const renewAfter = 0.8

// tokensOf converts a login, keeping the guest secret of the same player.
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
