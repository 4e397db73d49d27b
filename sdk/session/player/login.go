package player

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Credential is what a provider such as Steam or Apple issued to the game.
type Credential = protocol.ProviderLogin

// Login logs in with the stored refresh token, else with the stored guest account,
// else with a new guest account. Errors: ErrUnavailable, ErrThrottled,
// ErrUnauthorized if the account is banned, and those of the Store.
func (c *Client) Login(ctx context.Context) (Tokens, error) {
	c.login.Lock()
	defer c.login.Unlock()
	if c.store != nil && c.held().PlayerID == "" {
		stored, err := c.store.Load(ctx)
		if err != nil {
			return Tokens{}, fmt.Errorf("load the login: %w", err)
		}
		c.hold(stored)
	}
	t, err := c.comeBack(ctx)
	if !errors.Is(err, errNoLogin) {
		return t, err
	}
	return c.enter(ctx, "/auth/guest", nil)
}

var errNoLogin = errors.New("there is no login to come back to")

// comeBack uses the refresh token, or logs the guest in. It must be called with login
// held.
func (c *Client) comeBack(ctx context.Context) (Tokens, error) {
	t := c.held()
	if t.Refresh != "" {
		fresh, err := c.enter(ctx, "/auth/refresh", &protocol.RefreshRequest{RefreshToken: t.Refresh})
		if !errors.Is(err, session.ErrUnauthorized) || banned(err) {
			return fresh, err
		}
	}
	if t.GuestSecret != "" {
		return c.enter(ctx, "/auth/guest/login", &protocol.GuestLogin{PlayerID: t.PlayerID, GuestSecret: t.GuestSecret})
	}
	return Tokens{}, errNoLogin
}

func banned(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Code == "banned"
}

// enter makes a request that returns a login, and stores it.
func (c *Client) enter(ctx context.Context, path string, in any) (Tokens, error) {
	var s protocol.Session
	if err := c.send(ctx, call{method: http.MethodPost, path: path, in: in}, &s); err != nil {
		return Tokens{}, err
	}
	return c.keep(ctx, &s)
}

func (c *Client) keep(ctx context.Context, s *protocol.Session) (Tokens, error) {
	t := tokensOf(s, c.held(), time.Now())
	c.hold(t)
	if c.store != nil {
		if err := c.store.Save(ctx, t); err != nil {
			return t, fmt.Errorf("save the login: %w", err)
		}
	}
	return t, nil
}

func (c *Client) hold(t Tokens) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = t
}

// LoginWith logs in with an account of another provider, which must be in the
// server's configuration. A player is created if the account has none, unless
// Credential.Create is false. Errors: ErrUnauthorized (the credential is not valid),
// ErrNotFound (no such provider or account), ErrUnavailable (also if the provider
// is).
func (c *Client) LoginWith(ctx context.Context, provider string, with Credential) (Tokens, error) {
	c.login.Lock()
	defer c.login.Unlock()
	return c.enter(ctx, "/auth/"+url.PathEscape(provider), &with)
}

// Link adds a provider's account to this player. Errors: ErrConflict if the account
// belongs to another player (Problem.ConflictToken is for Merge), ErrUnauthorized if
// the last login is more than ten minutes ago (Problem.Code reauth-required).
func (c *Client) Link(ctx context.Context, provider string, with Credential) (Tokens, error) {
	path := "/players/me/identities/" + url.PathEscape(provider)
	return c.enterAs(ctx, call{method: http.MethodPut, path: path, in: &with})
}

// enterAs makes an authenticated request that returns a login, and stores it.
func (c *Client) enterAs(ctx context.Context, r call) (Tokens, error) {
	var s protocol.Session
	c.login.Lock() // the answer has tokens, which a concurrent renewal would invalidate
	defer c.login.Unlock()
	if err := c.callWith(ctx, c.accessAlone, r, &s); err != nil {
		return Tokens{}, err
	}
	return c.keep(ctx, &s)
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
	return c.enterAs(ctx, call{method: http.MethodPost, path: "/players/me/merge", in: in})
}

// Unlink removes a provider's account from this player. Errors: ErrConflict if it is
// the last credential.
func (c *Client) Unlink(ctx context.Context, provider string) error {
	return c.call(ctx, call{method: http.MethodDelete, path: "/players/me/identities/" + url.PathEscape(provider)}, nil)
}

// Logout ends this login, or all of the player's logins if everywhere is set. A
// guest's secret stays stored: it is the only way back into the account.
func (c *Client) Logout(ctx context.Context, everywhere bool) error {
	in := &protocol.LogoutRequest{All: everywhere}
	if !everywhere {
		in.RefreshToken = c.held().Refresh
	}
	if err := c.call(ctx, call{method: http.MethodPost, path: "/auth/logout", in: in}, nil); err != nil {
		return err
	}
	c.login.Lock()
	defer c.login.Unlock()
	t := c.held()
	return c.forget(ctx, Tokens{PlayerID: t.PlayerID, Scope: t.Scope, GuestSecret: t.GuestSecret})
}

// DeleteAccount deletes the player with all data. It cannot be undone.
func (c *Client) DeleteAccount(ctx context.Context) error {
	if err := c.call(ctx, call{method: http.MethodDelete, path: "/players/me"}, nil); err != nil {
		return err
	}
	c.login.Lock()
	defer c.login.Unlock()
	return c.forget(ctx, Tokens{})
}

func (c *Client) forget(ctx context.Context, left Tokens) error {
	c.hold(left)
	if c.store == nil {
		return nil
	}
	return c.store.Save(ctx, left)
}

// access returns an access token that is not about to expire. stale is a token that
// was refused; it is not returned again.
func (c *Client) access(ctx context.Context, stale string) (string, error) {
	if t := c.held(); t.usable(stale) {
		return t.Access, nil
	}
	c.login.Lock()
	defer c.login.Unlock()
	return c.accessAlone(ctx, stale)
}

// accessAlone is access for callers that hold login.
func (c *Client) accessAlone(ctx context.Context, stale string) (string, error) {
	t := c.held()
	if t.usable(stale) { // another goroutine renewed it
		return t.Access, nil
	}
	fresh, err := c.comeBack(ctx)
	switch {
	case errors.Is(err, errNoLogin):
		return "", fmt.Errorf("%w: log in first", session.ErrUnauthorized)
	case err != nil && !errors.Is(err, session.ErrUnauthorized) && t.Access != stale && time.Now().Before(t.AccessExpires):
		return t.Access, nil // the old token is still valid; the renewal can wait
	}
	return fresh.Access, err
}

func (t *Tokens) usable(stale string) bool {
	return t.Access != "" && t.Access != stale && time.Now().Before(t.renew)
}
