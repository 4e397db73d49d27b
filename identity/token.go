package identity

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Scopes of access tokens: a token has exactly one.
const (
	ScopeGuest         = "guest"
	ScopeAuthenticated = "authenticated"
)

// Claims are the claims of an access token (RFC 9068, with members of our own).
type Claims struct {
	PlayerID string
	Scope    string // guest or authenticated
	FamilyID string
	Method   string
	Login    time.Time // when the player last proved who they are
	Expires  time.Time
}

// accessClaims is the wire form.
type accessClaims struct {
	jwt.Claims
	Scope        string   `json:"scope"`
	FamilyID     string   `json:"sid"`
	AuthTime     int64    `json:"auth_time"`
	Methods      []string `json:"amr"`
	TokenVersion int      `json:"tv"`
}

// leeway is by how much clocks may differ.
const leeway = 5 * time.Second

// maxToken limits the length of a token that is parsed.
const maxToken = 8 << 10

// Tokens issues access and refresh tokens, and checks them.
type Tokens struct {
	Keys *Keys

	*rows
	verified verified
	refresh  *store.Command[refreshArgs, *Family]
	logout   *store.Action[logoutArgs]
}

func newTokens(r *rows, keys *Keys) *Tokens {
	t := &Tokens{Keys: keys, rows: r, verified: verified{life: r.opts.AccessLife}}
	t.refresh = store.NewCommand(r.st, "player.refresh", t.runRefresh)
	t.logout = store.NewAction(r.st, "player.logout", t.runLogout)
	return t
}

// Session is the result of a login.
type Session struct {
	PlayerID       string
	Scope          string
	AccessToken    string
	AccessExpires  time.Time
	RefreshToken   string
	RefreshExpires time.Time
	Created        bool // the account was created by this login
	Links          []*Link
	GuestSecret    string // only if a guest account was created; shown once
}

// session creates the tokens of f. f and err are the result of the command that stored f.
func (t *Tokens) session(f *Family, err error) (*Session, error) {
	if err != nil {
		return nil, err
	}
	view, now := t.st.View(), time.Now()
	p := t.players.account(view, f.PlayerID)
	if p == nil {
		return nil, refuse(TokenInvalid, "the account was deleted")
	}
	scope := t.links.scope(view, p.ID)
	access, err := t.access(view, p, f, scope, now)
	if err != nil {
		return nil, err
	}
	return &Session{
		PlayerID: p.ID, Scope: scope, AccessToken: access, AccessExpires: now.Add(t.opts.AccessLife),
		RefreshToken: t.families.token(f), RefreshExpires: f.Expires, Links: slices.Collect(t.links.of(view, p.ID)),
	}, nil
}

// access signs an access token for a family.
func (t *Tokens) access(r store.Reader, p *Player, f *Family, scope string, now time.Time) (string, error) {
	key, signer, err := t.Keys.signer(r, now)
	if err != nil {
		return "", err
	}
	at := jwt.NewNumericDate(now)
	c := accessClaims{
		Claims: jwt.Claims{
			Issuer: t.opts.Issuer(), Subject: p.ID, Audience: jwt.Audience{t.opts.Audience},
			IssuedAt: at, NotBefore: at, Expiry: jwt.NewNumericDate(now.Add(t.opts.AccessLife)), ID: randomText(16),
		},
		Scope: scope, FamilyID: f.ID, AuthTime: f.Login.Unix(), Methods: []string{f.Method}, TokenVersion: p.TokenVersion,
	}
	text, err := json.Marshal(&c)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	token, err := signed.CompactSerialize()
	if err == nil {
		t.verified.put(sha256.Sum256([]byte(token)), c.access(key), now)
	}
	return token, err
}

// fresh returns a refusal if a token's login is too old for changing credentials.
func (o *Options) fresh(c Claims) error {
	if age := time.Since(c.Login); age > o.Fresh {
		return refuse(ReauthRequired, "the login is %s old; changing credentials needs one of the last %s", age.Truncate(time.Second), o.Fresh)
	}
	return nil
}

type refreshArgs struct {
	Family     string
	Generation int
}

// Refresh returns new tokens for a refresh token, which is then used up. If the same
// token is used again within Options.Grace, the result is the same successor, since an
// answer may be lost. If it is used later, or once the successor was used, it counts as
// stolen, and the family ends. Refusals: RefreshInvalid, RefreshReused, Banned.
func (t *Tokens) Refresh(ctx context.Context, token string) (*Session, error) {
	family, generation, ok := t.families.read(token)
	if !ok {
		return nil, refuse(RefreshInvalid, "the refresh token is not one of ours")
	}
	f, err := t.refresh.Do(ctx, refreshArgs{family, generation})
	if err != nil {
		return nil, err
	}
	if !f.Revoked.IsZero() {
		return nil, refuse(RefreshReused, "the refresh token was used before; all tokens that came from its login have ended")
	}
	return t.session(f, nil)
}

func (t *Tokens) runRefresh(tx *store.Tx, a refreshArgs) (*Family, error) {
	now := tx.Now()
	f := t.families.table.Get(tx, a.Family)
	if f == nil || !f.valid(now) || a.Generation > f.Generation {
		return nil, refuse(RefreshInvalid, "the refresh token has ended; log in again")
	}
	p := t.players.account(tx, f.PlayerID)
	switch {
	case p == nil:
		return nil, refuse(RefreshInvalid, "the account does not exist any more")
	case p.Banned(now):
		return nil, p.banned()
	case a.Generation == f.Generation-1 && now.Sub(f.Rotated) <= t.opts.Grace:
		return f, nil
	case a.Generation < f.Generation:
		return t.revokeStolen(tx, f), nil
	}
	return t.families.rotate(tx, f), nil
}

// revokeStolen ends a family of which a token was used twice. The row is kept until the
// family would have expired.
func (t *Tokens) revokeStolen(tx *store.Tx, f *Family) *Family {
	dead := *f
	dead.Revoked = tx.Now()
	t.families.table.Put(tx, &dead)
	t.events.Append(tx, event.Event{Code: event.PlayerTokenReused, Resource: f.PlayerID, Message: "login by " + f.Method})
	return &dead
}

// Logout ends the login of a refresh token. A token that we did not issue, or that has
// ended, changes nothing.
func (t *Tokens) Logout(ctx context.Context, token string) error {
	family, _, ok := t.families.read(token)
	if !ok {
		return nil
	}
	return t.logout.Do(ctx, logoutArgs{Family: family})
}

// LogoutAccess ends the login of an access token, or all logins of its player.
func (t *Tokens) LogoutAccess(ctx context.Context, c Claims, everywhere bool) error {
	args := logoutArgs{Family: c.FamilyID}
	if everywhere {
		args = logoutArgs{Player: c.PlayerID}
	}
	return t.logout.Do(ctx, args)
}

type logoutArgs struct{ Family, Player string }

func (t *Tokens) runLogout(tx *store.Tx, a logoutArgs) error {
	if a.Player == "" {
		t.families.table.Delete(tx, a.Family)
	} else {
		t.families.end(tx, a.Player, "")
	}
	return nil
}
