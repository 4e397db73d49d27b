package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// idTokens checks ID tokens of an OpenID Connect provider (OpenID Connect Core,
// 3.1.3.7).
type idTokens struct {
	config     ProviderConfig
	algorithms []jose.SignatureAlgorithm
	keys       *keySet
}

func newIDTokens(c ProviderConfig, client *http.Client) *idTokens {
	v := &idTokens{config: c, keys: newKeySet(c, client)}
	for _, a := range c.Algorithms {
		v.algorithms = append(v.algorithms, jose.SignatureAlgorithm(a))
	}
	return v
}

// idClaims are the members of an ID token that are checked.
type idClaims struct {
	jwt.Claims
	Nonce           string `json:"nonce"`
	AuthorizedParty string `json:"azp"`

	// signed is what the issuer signed. It identifies the token: the text around it can
	// be written in many equally valid ways, and even the signature can be changed
	// (ECDSA: s and n-s).
	signed string
}

// payload keeps a token's claims as they are written.
type payload []byte

// UnmarshalJSON implements json.Unmarshaler.
func (p *payload) UnmarshalJSON(text []byte) error {
	*p = bytes.Clone(text)
	return nil
}

func (v *idTokens) verify(ctx context.Context, c Credential) (proof, error) {
	claims, err := v.claims(ctx, c.Token)
	if err != nil {
		return proof{}, err
	}
	if err := v.check(claims, c.Nonce, time.Now()); err != nil {
		return proof{}, err
	}
	return proof{Subject: claims.Subject, Once: v.config.Name + " " + claims.signed, Expires: claims.Expiry.Time()}, nil
}

// claims returns what a token says, after verifying its signature.
func (v *idTokens) claims(ctx context.Context, token string) (*idClaims, error) {
	invalid := func(why string) (*idClaims, error) {
		return nil, refuse(ProviderInvalid, "the ID token of %s %s", v.config.Name, why)
	}
	parsed, err := jwt.ParseSigned(token, v.algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return invalid("is no JWT signed with an algorithm that is allowed")
	}
	h := parsed.Headers[0]
	key, err := v.keys.find(ctx, h.KeyID, h.Algorithm)
	switch {
	case errors.Is(err, errNoKey):
		return invalid("is signed with a key that the issuer does not publish")
	case err != nil:
		return nil, refuse(ProviderUnavailable, "the keys of %s cannot be read at the moment", v.config.Name)
	}
	var c idClaims
	var text payload
	if err := parsed.Claims(key, &c, &text); err != nil {
		return invalid("has a signature that is not good")
	}
	c.signed = string(text)
	return &c, nil
}

// check returns an error unless the token is from the issuer, for us, and valid now.
func (v *idTokens) check(c *idClaims, nonce string, now time.Time) error {
	bad := func(why string) error { return refuse(ProviderInvalid, "the ID token of %s %s", v.config.Name, why) }
	expected := jwt.Expected{AnyAudience: v.config.ClientIDs, Time: now}
	switch err := c.ValidateWithLeeway(expected, providerLeeway); {
	case errors.Is(err, jwt.ErrExpired):
		return bad("has expired")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return bad("was made for another application")
	case err != nil || c.Expiry == nil:
		return bad("is not valid now")
	case c.Issuer != v.config.Issuer && (c.Issuer == "" || c.Issuer != otherIssuers[v.config.Issuer]):
		return bad("is from another issuer")
	case len(c.Audience) > 1 && !jwt.Audience(v.config.ClientIDs).Contains(c.AuthorizedParty):
		return bad("was made for several applications, and not by this one")
	}
	return v.checkNonce(c.Nonce, nonce)
}

// checkNonce compares the nonce in the token with the client's. Some SDKs put the
// SHA-256 of the nonce there (Sign in with Apple, "nonce").
func (v *idTokens) checkNonce(got, raw string) error {
	if got == "" && raw == "" && !v.config.RequireNonce {
		return nil
	}
	sum := sha256.Sum256([]byte(raw))
	plain := subtle.ConstantTimeCompare([]byte(got), []byte(raw))
	hashed := subtle.ConstantTimeCompare([]byte(got), []byte(hex.EncodeToString(sum[:])))
	if raw == "" || plain|hashed != 1 {
		return refuse(ProviderInvalid, "nonce: is not the one of the ID token of %s", v.config.Name)
	}
	return nil
}
