package player

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/musterhq/muster/sdk/session"
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

// account is the login that requests are made with, renewed in time.
type account struct {
	transport
	store TokenStore

	renewing sync.Mutex // one login or refresh at a time
	mu       sync.Mutex // guards tokens
	tokens   Tokens
}

func (a *account) held() Tokens {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens
}

func (a *account) hold(t Tokens) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = t
}

// login logs in with what is stored, else as a new guest.
func (a *account) login(ctx context.Context) (Tokens, error) {
	a.renewing.Lock()
	defer a.renewing.Unlock()
	if a.store != nil && a.held().PlayerID == "" {
		stored, err := a.store.Load(ctx)
		if err != nil {
			return Tokens{}, fmt.Errorf("load the login: %w", err)
		}
		a.hold(stored)
	}
	t, err := a.comeBack(ctx)
	if !errors.Is(err, errNoLogin) {
		return t, err
	}
	return a.enter(ctx, "/auth/guest", nil)
}

var errNoLogin = errors.New("there is no login to come back to")

// comeBack uses the refresh token, or logs the guest in. It must be called with renewing
// held.
func (a *account) comeBack(ctx context.Context) (Tokens, error) {
	t := a.held()
	if t.Refresh != "" {
		fresh, err := a.enter(ctx, "/auth/refresh", &protocol.RefreshRequest{RefreshToken: t.Refresh})
		if !errors.Is(err, session.ErrUnauthorized) || banned(err) {
			return fresh, err
		}
	}
	if t.GuestSecret != "" {
		return a.enter(ctx, "/auth/guest/login", &protocol.GuestLogin{PlayerID: t.PlayerID, GuestSecret: t.GuestSecret})
	}
	if t.Refresh != "" { // refused, so the login has ended
		if err := a.save(ctx, Tokens{PlayerID: t.PlayerID, Scope: t.Scope}); err != nil {
			return Tokens{}, fmt.Errorf("save that the login has ended: %w", err)
		}
	}
	return Tokens{}, errNoLogin
}

func banned(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Code == "banned"
}

// enter makes a request that returns a login, and stores it.
func (a *account) enter(ctx context.Context, path string, in any) (Tokens, error) {
	var s protocol.Session
	if err := a.send(ctx, call{method: http.MethodPost, path: path, in: in}, &s); err != nil {
		return Tokens{}, err
	}
	return a.keep(ctx, &s)
}

func (a *account) keep(ctx context.Context, s *protocol.Session) (Tokens, error) {
	t := tokensOf(s, a.held(), time.Now())
	if err := a.save(ctx, t); err != nil {
		return t, fmt.Errorf("save the login: %w", err)
	}
	return t, nil
}

// enterAs makes an authenticated request that returns a login, and stores it.
func (a *account) enterAs(ctx context.Context, r call) (Tokens, error) {
	var s protocol.Session
	a.renewing.Lock() // the answer has tokens, which a concurrent renewal would invalidate
	defer a.renewing.Unlock()
	if err := a.callWith(ctx, a.accessAlone, r, &s); err != nil {
		return Tokens{}, err
	}
	return a.keep(ctx, &s)
}

// forget ends the login; left returns what is kept of it.
func (a *account) forget(ctx context.Context, left func(Tokens) Tokens) error {
	a.renewing.Lock()
	defer a.renewing.Unlock()
	return a.save(ctx, left(a.held()))
}

func (a *account) save(ctx context.Context, t Tokens) error {
	a.hold(t)
	if a.store == nil {
		return nil
	}
	return a.store.Save(ctx, t)
}

// access returns an access token that is not about to expire. stale is a token that
// was refused; it is not returned again.
func (a *account) access(ctx context.Context, stale string) (string, error) {
	if t := a.held(); t.usable(stale) {
		return t.Access, nil
	}
	a.renewing.Lock()
	defer a.renewing.Unlock()
	return a.accessAlone(ctx, stale)
}

// accessAlone is access for callers that hold renewing.
func (a *account) accessAlone(ctx context.Context, stale string) (string, error) {
	t := a.held()
	if t.usable(stale) { // another goroutine renewed it
		return t.Access, nil
	}
	fresh, err := a.comeBack(ctx)
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
