package identity

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
)

// issuers are the issuers of ID tokens and where they publish their keys, from the
// providers' documentation.
var issuers = map[Kind]struct{ issuer, keySet string }{
	// Sign in with Apple REST API, "Verifying a user".
	Apple: {"https://appleid.apple.com", "https://appleid.apple.com/auth/keys"},
	// Google Identity, "Verify the Google ID token on your server side".
	Google: {"https://accounts.google.com", "https://www.googleapis.com/oauth2/v3/certs"},
	// Facebook Login, "Limited Login: validating the OIDC token".
	FacebookLimited: {"https://www.facebook.com", "https://limited.facebook.com/.well-known/oauth/openid/jwks/"},
	// Epic Online Services, "Connect interface: ID token".
	Epic: {"https://api.epicgames.dev/auth/v1/oauth", "https://api.epicgames.dev/auth/v1/oauth/jwks"},
}

// preset completes the configuration with what the kind implies. It returns an error if
// something is missing.
func (c *ProviderConfig) preset() error {
	known, issuesIDTokens := issuers[c.Kind]
	switch {
	case issuesIDTokens:
		c.RequireNonce = c.RequireNonce || c.Kind == Apple
		return c.idTokens(known.issuer, known.keySet)
	case c.Kind == OIDC && c.Issuer == "":
		return errors.New("issuer is required")
	case c.Kind == OIDC:
		if len(c.Algorithms) == 0 {
			c.Algorithms = []string{"RS256", "ES256"}
		}
		return c.idTokens(c.Issuer, "")
	case c.Kind == Steam: // Steamworks Web API, ISteamUserAuth/AuthenticateUserTicket.
		c.URL = cmp.Or(c.URL, "https://partner.steam-api.com")
		if c.AppID == "" || c.Secret == "" {
			return errors.New("app_id and secret (the publisher's Web API key) are required")
		}
	case c.Kind == Facebook: // Facebook Login, "Access tokens"; Graph API.
		c.URL = cmp.Or(c.URL, "https://graph.facebook.com")
		if c.AppID == "" {
			return errors.New("app_id is required")
		}
	case c.Kind == Custom:
		if c.URL == "" || len(c.Secret) < 16 {
			return errors.New("url and a secret of at least 16 characters are required")
		}
	default:
		return fmt.Errorf("kind: %q is none that is known", c.Kind)
	}
	return checkURL("url", c.URL)
}

// otherIssuers are alternative spellings from the providers' documentation.
var otherIssuers = map[string]string{
	"https://accounts.google.com": "accounts.google.com",
	"https://www.facebook.com":    "https://facebook.com",
}

// publicKeyAlgorithms are those with which an ID token may be signed. HMAC is not among
// them: its key would be the public one.
var publicKeyAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// idTokens completes a provider that issues ID tokens.
func (c *ProviderConfig) idTokens(issuer, keySet string) error {
	c.Issuer, c.KeySetURL = cmp.Or(c.Issuer, issuer), cmp.Or(c.KeySetURL, keySet)
	if len(c.Algorithms) == 0 {
		c.Algorithms = []string{"RS256"}
	}
	for _, a := range c.Algorithms {
		if !slices.Contains(publicKeyAlgorithms, a) {
			return fmt.Errorf("algorithms: %q is none of %v", a, publicKeyAlgorithms)
		}
	}
	if len(c.ClientIDs) == 0 || slices.Contains(c.ClientIDs, "") {
		return errors.New("client_ids is required: a token made for another application must not log in here")
	}
	if c.KeySetURL != "" {
		return errors.Join(checkURL("issuer", c.Issuer), checkURL("key_set_url", c.KeySetURL))
	}
	return checkURL("issuer", c.Issuer)
}

// checkURL requires https, and accepts http only for this machine.
func checkURL(member, text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("%s: %q is no URL", member, text)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"):
		return nil
	}
	return fmt.Errorf("%s: %q must be https", member, text)
}
