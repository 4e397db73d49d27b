package identity

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/musterhq/muster/internal/store"
)

// Access is an access token whose signature was verified.
type Access struct {
	claims  Claims // without the method
	version int
	key     *SigningKey // as it was when the token was verified
}

// PlayerID returns the player whose token it is.
func (a *Access) PlayerID() string { return a.claims.PlayerID }

// Expires returns when the token expires.
func (a *Access) Expires() time.Time { return a.claims.Expires }

func (c *accessClaims) access(key *SigningKey) *Access {
	return &Access{
		claims: Claims{PlayerID: c.Subject, Scope: c.Scope, FamilyID: c.FamilyID, Login: time.Unix(c.AuthTime, 0), Expires: c.Expiry.Time()},
		key:    key, version: c.TokenVersion,
	}
}

// Check returns the claims of an access token: Verify and Current in one.
func (t *Tokens) Check(token string) (Claims, error) {
	a, err := t.Verify(token)
	if err != nil {
		return Claims{}, err
	}
	return t.Current(a)
}

// Verify returns an access token that we signed, which may have expired or been revoked
// since. A token that was verified recently is not verified again. Refusals: TokenMissing,
// TokenInvalid, TokenExpired.
func (t *Tokens) Verify(token string) (*Access, error) {
	if token == "" {
		return nil, refuse(TokenMissing, "an access token is required: Authorization: Bearer TOKEN")
	}
	sum, now := sha256.Sum256([]byte(token)), time.Now()
	if a := t.verified.get(sum, now); a != nil {
		return a, nil
	}
	a, err := t.parse(token, now)
	if err == nil {
		t.verified.put(sum, a, now)
	}
	return a, err
}

func (t *Tokens) parse(token string, now time.Time) (*Access, error) {
	invalid := func() (*Access, error) { return nil, refuse(TokenInvalid, "the access token is not one of ours") }
	if len(token) > maxToken {
		return invalid()
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA, jose.RS256})
	if err != nil || len(parsed.Headers) != 1 {
		return invalid()
	}
	h := parsed.Headers[0]
	k := t.Keys.table.Get(t.st.View(), h.KeyID)
	// The algorithm is the key's, regardless of the token's (RFC 8725, 3.1).
	if k == nil || h.Algorithm != k.Algorithm || h.ExtraHeaders[jose.HeaderType] != "at+jwt" {
		return invalid()
	}
	public, err := t.Keys.public(k)
	if err != nil {
		return nil, err
	}
	var c accessClaims
	if err := parsed.Claims(public, &c); err != nil {
		return invalid()
	}
	expected := jwt.Expected{Issuer: t.opts.Issuer(), AnyAudience: jwt.Audience{t.opts.Audience}, Time: now}
	switch err := c.ValidateWithLeeway(expected, leeway); {
	case errors.Is(err, jwt.ErrExpired):
		return nil, expired()
	case err != nil || c.Expiry == nil || c.Subject == "":
		return invalid()
	}
	return c.access(k), nil
}

func expired() error { return refuse(TokenExpired, "the access token has expired; refresh it") }

// Current returns the claims of a token if it is valid now. A token ends with its key and
// with its family, so the removal of the key, a logout, a ban or the deletion of the account
// takes effect immediately. In another region than the home region, where a token is good
// until it expires, it ends with its key and a ban. Refusals: TokenInvalid, TokenExpired, Banned.
func (t *Tokens) Current(a *Access) (Claims, error) {
	view, now, c := t.st.View(), time.Now(), a.claims
	if t.copies != nil {
		return t.currentAway(view, a, now)
	}
	p, f, k := t.players.account(view, c.PlayerID), t.families.table.Get(view, c.FamilyID), t.Keys.table.Get(view, a.key.ID)
	switch {
	case now.Add(-leeway).After(c.Expires):
		return Claims{}, expired()
	case k == nil || !bytes.Equal(k.Public, a.key.Public):
		return Claims{}, refuse(TokenInvalid, "the key that signed the access token was removed")
	case p == nil || f == nil || f.PlayerID != c.PlayerID || !f.valid(now) || a.version != p.TokenVersion:
		return Claims{}, refuse(TokenInvalid, "the access token was revoked")
	case p.Banned(now):
		return Claims{}, p.banned()
	}
	c.Method = f.Method
	return c, nil
}

// currentAway is Current in a region without the accounts.
func (t *Tokens) currentAway(r store.Reader, a *Access, now time.Time) (Claims, error) {
	if now.Add(-leeway).After(a.claims.Expires) {
		return Claims{}, expired()
	}
	if k := t.Keys.table.Get(r, a.key.ID); k == nil || !bytes.Equal(k.Public, a.key.Public) {
		return Claims{}, refuse(TokenInvalid, "the key that signed the access token was removed")
	}
	return a.claims, t.copies.check(r, a.claims.PlayerID, now)
}

type digest = [sha256.Size]byte

// verified holds the tokens that were verified or signed recently, in two generations. A
// token that is used moves to the younger one. When that is full, or as old as tokens
// become, it replaces the older one. So there are at most 2*mostVerified tokens, and the
// least recently used are dropped first.
type verified struct {
	life time.Duration // of a token

	mu         sync.Mutex
	young, old map[digest]*Access
	turned     time.Time // when young began
}

// mostVerified bounds a generation; a token takes about 300 bytes.
const mostVerified = 1 << 16

func (v *verified) get(d digest, now time.Time) *Access {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a := v.young[d]; a != nil {
		return a
	}
	a := v.old[d]
	if a != nil {
		v.add(d, a, now)
	}
	return a
}

func (v *verified) put(d digest, a *Access, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(d, a, now)
}

// add adds a token to the younger generation. The caller must hold mu.
func (v *verified) add(d digest, a *Access, now time.Time) {
	if v.young == nil || len(v.young) >= mostVerified || now.Sub(v.turned) >= v.life {
		v.old, v.young, v.turned = v.young, map[digest]*Access{}, now
	}
	v.young[d] = a
}
