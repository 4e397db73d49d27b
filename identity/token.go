package identity

import (
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/musterhq/muster/internal/store"
)

// Claims are what an access token says (RFC 9068, with members of our own).
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

// accessToken signs an access token for a family.
func (s *Service) accessToken(r store.Reader, p *Player, f *Family, now time.Time) (string, error) {
	k := s.activeKey(r, now)
	if k == nil {
		return "", errors.New("there is no key to sign access tokens with")
	}
	signer, err := s.signer(k)
	if err != nil {
		return "", err
	}
	at := jwt.NewNumericDate(now)
	return jwt.Signed(signer).Claims(accessClaims{
		Claims: jwt.Claims{
			Issuer: s.opts.Issuer(), Subject: p.ID, Audience: jwt.Audience{s.opts.Audience},
			IssuedAt: at, NotBefore: at, Expiry: jwt.NewNumericDate(now.Add(s.opts.AccessLife)), ID: randomText(16),
		},
		Scope: s.scope(r, p.ID), FamilyID: f.ID, AuthTime: f.Login.Unix(), Methods: []string{f.Method}, TokenVersion: p.TokenVersion,
	}).Serialize()
}

// scope derives the scope: a player with a linked external account is authenticated.
func (s *Service) scope(r store.Reader, playerID string) string {
	if s.t.linksOf.First(r, playerID) != nil {
		return ScopeAuthenticated
	}
	return ScopeGuest
}

// Check returns the claims of an access token. A token ends with its family too: a
// logout, a ban or a deleted account takes effect immediately. Refusals:
// TokenMissing, TokenInvalid, TokenExpired, Banned.
func (s *Service) Check(token string) (Claims, error) {
	if token == "" {
		return Claims{}, refuse(TokenMissing, "an access token is required: Authorization: Bearer TOKEN")
	}
	c, err := s.parse(token)
	if err != nil {
		return Claims{}, err
	}
	return s.current(c, time.Now())
}

// parse checks a token's form, signature and claims.
func (s *Service) parse(token string) (*accessClaims, error) {
	invalid := func() (*accessClaims, error) { return nil, refuse(TokenInvalid, "the access token is not one of ours") }
	if len(token) > maxToken {
		return invalid()
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA, jose.RS256})
	if err != nil || len(parsed.Headers) != 1 {
		return invalid()
	}
	h := parsed.Headers[0]
	k := s.t.keys.Get(s.st.View(), h.KeyID)
	// The algorithm is the key's, regardless of the token's (RFC 8725, 3.1).
	if k == nil || h.Algorithm != k.Algorithm || h.ExtraHeaders[jose.HeaderType] != "at+jwt" {
		return invalid()
	}
	public, err := k.public()
	if err != nil {
		return nil, err
	}
	var c accessClaims
	if err := parsed.Claims(public, &c); err != nil {
		return invalid()
	}
	expected := jwt.Expected{Issuer: s.opts.Issuer(), AnyAudience: jwt.Audience{s.opts.Audience}, Time: time.Now()}
	switch err := c.ValidateWithLeeway(expected, leeway); {
	case errors.Is(err, jwt.ErrExpired):
		return nil, refuse(TokenExpired, "the access token has expired; refresh it")
	case err != nil || c.Expiry == nil || c.Subject == "":
		return invalid()
	}
	return &c, nil
}

// current checks a token's claims against the current state.
func (s *Service) current(c *accessClaims, now time.Time) (Claims, error) {
	view := s.st.View()
	p, f := s.account(view, c.Subject), s.t.families.Get(view, c.FamilyID)
	switch {
	case p == nil || f == nil || f.PlayerID != c.Subject || !f.valid(now) || c.TokenVersion != p.TokenVersion:
		return Claims{}, refuse(TokenInvalid, "the access token was revoked")
	case p.Banned(now):
		return Claims{}, p.banned()
	}
	return Claims{
		PlayerID: p.ID, Scope: c.Scope, FamilyID: f.ID, Method: f.Method,
		Login: time.Unix(c.AuthTime, 0), Expires: c.Expiry.Time(),
	}, nil
}

func (p *Player) banned() error {
	return &Refusal{Code: Banned, Message: "this account is banned until " + p.BannedUntil.UTC().Format(time.RFC3339), Until: p.BannedUntil}
}

// fresh refuses tokens whose login is too old for changing credentials.
func (s *Service) fresh(c Claims) error {
	if age := time.Since(c.Login); age > s.opts.Fresh {
		return refuse(ReauthRequired, "the login is %s old; changing credentials needs one of the last %s", age.Truncate(time.Second), s.opts.Fresh)
	}
	return nil
}
