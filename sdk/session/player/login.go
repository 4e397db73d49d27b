package player

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Credential is what a provider such as Steam or Apple issued to the game.
type Credential = protocol.ProviderLogin

// Login logs in with the stored refresh token, else with the stored guest account,
// else with a new guest account. Errors: ErrUnavailable, ErrThrottled,
// ErrUnauthorized if the account is banned, and those of the Store.
func (c *Client) Login(ctx context.Context) (Tokens, error) {
	return c.account.login(ctx)
}

// LoginWith logs in with an account of another provider, which must be in the
// server's configuration. A player is created if the account has none, unless
// Credential.Create is false. Errors: ErrUnauthorized (the credential is not valid),
// ErrNotFound (no such provider or account), ErrUnavailable (also if the provider
// is).
func (c *Client) LoginWith(ctx context.Context, provider string, with Credential) (Tokens, error) {
	c.account.renewing.Lock()
	defer c.account.renewing.Unlock()
	return c.account.enter(ctx, "/auth/"+url.PathEscape(provider), &with)
}

// Link adds a provider's account to this player. Errors: ErrConflict if the account
// belongs to another player (Problem.ConflictToken is for Merge), ErrUnauthorized if
// the last login is more than ten minutes ago (Problem.Code reauth-required).
func (c *Client) Link(ctx context.Context, provider string, with Credential) (Tokens, error) {
	path := "/players/me/identities/" + url.PathEscape(provider)
	return c.account.enterAs(ctx, call{method: http.MethodPut, path: path, in: &with})
}

// Keep says which of the two players a merge keeps.
type Keep = protocol.MergeRequestKeep

// KeepMine keeps this player, KeepTheirs the one that the account belongs to.
const (
	KeepMine   = protocol.MergeRequestKeepMine
	KeepTheirs = protocol.MergeRequestKeepTheirs
)

// Merge merges this player and the one that a provider's account belongs to, with the
// ConflictToken of Link's Problem. The player not kept is deleted for good, with its
// data, parties and tickets: let the player choose. With KeepTheirs the client is
// logged in as the other player afterwards.
//
// Errors: ErrConflict if the token has expired or was used (conflict-token-invalid),
// if the player to be deleted has another provider's account (not-guest), or if too
// many players were recently merged into the two (merged-too-often); ErrUnauthorized
// if either is banned or the last login is more than ten minutes ago. If the answer
// was lost, LoginWith with the account shows which player was kept.
func (c *Client) Merge(ctx context.Context, conflictToken string, keep Keep) (Tokens, error) {
	in := &protocol.MergeRequest{ConflictToken: conflictToken, Keep: keep}
	return c.account.enterAs(ctx, call{method: http.MethodPost, path: "/players/me/merge", in: in})
}

// Unlink removes a provider's account from this player. Errors: ErrConflict if it is
// the last credential.
func (c *Client) Unlink(ctx context.Context, provider string) error {
	return c.account.call(ctx, call{method: http.MethodDelete, path: "/players/me/identities/" + url.PathEscape(provider)}, nil)
}

// Logout ends this login, or all of the player's logins if everywhere is set. A
// guest's secret stays stored: it is the only way back into the account.
func (c *Client) Logout(ctx context.Context, everywhere bool) error {
	in := &protocol.LogoutRequest{All: everywhere}
	if !everywhere {
		in.RefreshToken = c.account.held().Refresh
	}
	if err := c.account.call(ctx, call{method: http.MethodPost, path: "/auth/logout", in: in}, nil); err != nil {
		return err
	}
	return c.account.forget(ctx, func(t Tokens) Tokens {
		return Tokens{PlayerID: t.PlayerID, Scope: t.Scope, GuestSecret: t.GuestSecret}
	})
}

// DeleteAccount deletes the player with all data. It cannot be undone.
func (c *Client) DeleteAccount(ctx context.Context) error {
	if err := c.account.call(ctx, call{method: http.MethodDelete, path: "/players/me"}, nil); err != nil {
		return err
	}
	return c.account.forget(ctx, func(Tokens) Tokens { return Tokens{} })
}
