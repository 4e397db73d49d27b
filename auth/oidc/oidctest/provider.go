// Package oidctest is an OpenID Connect provider for tests: discovery, authorization with a
// code and PKCE, tokens, keys and UserInfo, over HTTP on the loopback interface. It keeps the
// rules of a provider, so that a client that breaks them fails, and misbehaves as a test
// says.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Client is how a provider knows its one client.
type Client struct {
	ID, Secret string // no secret: a public client
	Redirect   string // the only URL to which people are sent back
}

// Provider is a running provider.
type Provider struct {
	*testing.T
	URL string // the issuer

	mu      sync.Mutex
	client  Client
	key     *ecdsa.PrivateKey
	kid     string
	claims  map[string]any // of the account that is logged in
	info    map[string]any // what UserInfo adds
	change  func(claims map[string]any)
	deny    [2]string // error and description
	lax     bool      // codes may be used again
	down    bool
	codes   map[string]*grant
	tokens  map[string]map[string]any // UserInfo by access token
	queries []url.Values              // of authorization requests
}

// grant is what a code stands for.
type grant struct {
	nonce, challenge string
	claims           map[string]any
	used             bool
}

// New starts a provider with one account. It ends with the test.
func New(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{T: t, codes: map[string]*grant{}, tokens: map[string]map[string]any{}}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// set changes the provider.
func (p *Provider) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Register sets the client.
func (p *Provider) Register(c Client) { p.set(func() { p.client = c }) }

// Account logs an account in, with the claims of its ID tokens (sub is one) and those that
// only UserInfo has.
func (p *Provider) Account(claims, info map[string]any) {
	p.set(func() { p.claims, p.info = claims, info })
}

// Forge changes the claims of each ID token before it is signed; nil: they stay.
func (p *Provider) Forge(change func(claims map[string]any)) { p.set(func() { p.change = change }) }

// Deny refuses every login with an error code and a description; "" lets people in again.
func (p *Provider) Deny(code, description string) {
	p.set(func() { p.deny = [2]string{code, description} })
}

// Lax lets codes be used more than once, which no provider should.
func (p *Provider) Lax() { p.set(func() { p.lax = true }) }

// Down makes every request fail, or work again.
func (p *Provider) Down(down bool) { p.set(func() { p.down = down }) }

// Rotate replaces the key that signs ID tokens, and publishes only the new one.
func (p *Provider) Rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.Fatal(err)
	}
	p.set(func() { p.key, p.kid = key, rand.Text() })
}

// Queries returns the parameters of the authorization requests so far.
func (p *Provider) Queries() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queries
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	methods := []string{"client_secret_post"}
	if p.client.Secret == "" {
		methods = []string{"none"}
	}
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"ES256"},
		"token_endpoint_auth_methods_supported": methods, "authorization_response_iss_parameter_supported": true,
	})
}

// authorize is the page where people log in: the account is logged in already.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p.queries = append(p.queries, q)
	if q.Get("client_id") != p.client.ID || q.Get("redirect_uri") != p.client.Redirect {
		http.Error(w, "unknown client or redirect_uri", http.StatusBadRequest) // sent to nobody
		return
	}
	back, err := url.Parse(p.client.Redirect)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	out := url.Values{"state": {q.Get("state")}, "iss": {p.URL}}
	switch {
	case p.deny[0] != "":
		out.Set("error", p.deny[0])
		out.Set("error_description", p.deny[1])
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "":
		out.Set("error", "invalid_request")
	default:
		code := rand.Text()
		p.codes[code] = &grant{nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), claims: maps.Clone(p.claims)}
		out.Set("code", code)
	}
	back.RawQuery = out.Encode()
	// A page, as logins have: it is that page that sends the browser back.
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Location", back.String())
	if r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		w.WriteHeader(http.StatusFound)
		return
	}
	w.Header().Del("Location")
	target, _ := json.Marshal(back.String())
	w.Write([]byte("<script>location.href = " + string(target) + "</script>"))
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	form := func(name string) string { return r.PostFormValue(name) }
	g := p.codes[form("code")]
	verifier := sha256.Sum256([]byte(form("code_verifier")))
	switch {
	case form("client_id") != p.client.ID || form("client_secret") != p.client.Secret:
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
	case form("grant_type") != "authorization_code", form("redirect_uri") != p.client.Redirect, g == nil, g.used && !p.lax,
		base64.RawURLEncoding.EncodeToString(verifier[:]) != g.challenge:
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
	default:
		g.used = true
		access := rand.Text()
		p.tokens[access] = p.info
		hash := sha256.Sum256([]byte(access))
		now := time.Now()
		claims := map[string]any{
			"iss": p.URL, "aud": p.client.ID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "nonce": g.nonce,
			"at_hash": base64.RawURLEncoding.EncodeToString(hash[:16]),
		}
		maps.Copy(claims, g.claims)
		if p.change != nil {
			p.change(claims)
		}
		answer(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": p.sign(claims)})
	}
}

// sign returns an ID token.
func (p *Provider) sign(claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.kid}}, nil)
	if err != nil {
		p.Error(err)
		return ""
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		p.Error(err)
	}
	return text
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.kid, Algorithm: "ES256", Use: "sig"}}})
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	info, ok := p.tokens[bearer(r)]
	if !ok || info == nil {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
		return
	}
	answer(w, http.StatusOK, info)
}

func bearer(r *http.Request) string {
	const prefix = "Bearer "
	h := r.Header.Get("Authorization")
	if len(h) < len(prefix) {
		return ""
	}
	return h[len(prefix):]
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // fails if the client has gone
}
