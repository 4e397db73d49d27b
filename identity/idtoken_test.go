package identity

import (
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
)

func TestLogin_GoodTokens(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("n-1"))
	for name, change := range map[string]func(map[string]any){
		"plain nonce":       func(map[string]any) {},
		"hashed nonce":      func(c map[string]any) { c["nonce"] = hex.EncodeToString(sum[:]) },
		"several audiences": func(c map[string]any) { c["aud"], c["azp"] = []string{"game", "other"}, "game" },
		"slow clock":        func(c map[string]any) { c["exp"] = time.Now().Add(-30 * time.Second).Unix() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, withOIDC())
			claims := h.world.op.claims("anna")
			change(claims)
			s, err := h.ids.Logins.Login(h.ctx, "id", Credential{Token: h.world.op.token(claims), Nonce: "n-1"}, true)
			h.must(err)
			if !s.Created || s.Scope != ScopeAuthenticated || s.GuestSecret != "" {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// Each of these differs from a valid token in one thing.
func TestLogin_RefusedTokens(t *testing.T) {
	t.Parallel()
	type tamper func(h *house, c map[string]any) string // returns the token
	claim := func(name string, value any) tamper {
		return func(h *house, c map[string]any) string {
			c[name] = value
			return h.world.op.token(c)
		}
	}
	without := func(name string) tamper {
		return func(h *house, c map[string]any) string {
			delete(c, name)
			return h.world.op.token(c)
		}
	}
	unsigned := func(header string) tamper {
		return func(h *house, c map[string]any) string {
			parts := strings.Split(h.world.op.token(c), ".")
			return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1] + "."
		}
	}
	for name, make := range map[string]tamper{
		"wrong audience":            claim("aud", "another-game"),
		"audiences of others":       claim("aud", []string{"a", "b"}),
		"second audience, no azp":   claim("aud", []string{"game", "other"}),
		"no audience":               without("aud"),
		"wrong issuer":              claim("iss", "https://evil.example"),
		"no issuer":                 without("iss"),
		"issuer with a slash":       claim("iss", "https://id.example/"),
		"expired":                   claim("exp", time.Now().Add(-2*time.Minute).Unix()),
		"no expiry":                 without("exp"),
		"from the future":           claim("nbf", time.Now().Add(time.Hour).Unix()),
		"issued in the future":      claim("iat", time.Now().Add(time.Hour).Unix()),
		"wrong nonce":               claim("nonce", "n-2"),
		"no nonce":                  without("nonce"),
		"no subject":                without("sub"),
		"subject with a line break": claim("sub", "a\nb"),
		"subject too long":          claim("sub", strings.Repeat("a", 300)),
		"alg none":                  unsigned(`{"alg":"none","kid":"k1"}`),
		"alg None":                  unsigned(`{"alg":"None","kid":"k1"}`),
		"alg ES256, no signature":   unsigned(`{"alg":"ES256","kid":"k1"}`),
		"HMAC with the public key": func(h *house, c map[string]any) string {
			der, err := x509.MarshalPKIXPublicKey(h.world.op.pairs["k1"].Public())
			h.must(err)
			return h.world.op.signed(jose.SigningKey{Algorithm: jose.HS256, Key: der}, "k1", c)
		},
		"RSA key under an EC key's id": func(h *house, c map[string]any) string {
			return h.world.op.signed(jose.SigningKey{Algorithm: jose.RS256, Key: rsaPair(h)}, "k1", c)
		},
		"unknown key": func(h *house, c map[string]any) string {
			return h.world.op.signed(jose.SigningKey{Algorithm: jose.RS256, Key: rsaPair(h)}, "k9", c)
		},
		"key with a path for an id": func(h *house, c map[string]any) string {
			return h.world.op.signed(jose.SigningKey{Algorithm: jose.RS256, Key: rsaPair(h)}, "../../etc/passwd", c)
		},
		"key in its own header": func(h *house, c map[string]any) string {
			return h.world.op.signedWith(jose.SigningKey{Algorithm: jose.RS256, Key: rsaPair(h)}, "k1", c, &jose.SignerOptions{EmbedJWK: true})
		},
		"key set in its own header": func(h *house, c map[string]any) string {
			return h.world.op.signedWith(jose.SigningKey{Algorithm: jose.RS256, Key: rsaPair(h)}, "k9", c,
				(&jose.SignerOptions{}).WithHeader("jku", "https://evil.example/keys"))
		},
		"critical header that is not known": func(h *house, c map[string]any) string {
			return h.world.op.signedWith(jose.SigningKey{Algorithm: jose.ES256, Key: h.world.op.pairs["k1"]}, "k1", c,
				(&jose.SignerOptions{}).WithCritical("exp").WithHeader("exp", 1))
		},
		"claims changed": func(h *house, c map[string]any) string {
			parts := strings.Split(h.world.op.token(c), ".")
			c["sub"] = "bob"
			other := strings.Split(h.world.op.token(c), ".")
			return parts[0] + "." + other[1] + "." + parts[2]
		},
		"no token": func(*house, map[string]any) string { return "" },
		"rubbish":  func(*house, map[string]any) string { return "a.b.c" },
		"huge":     func(*house, map[string]any) string { return strings.Repeat("a", maxToken+1) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, withOIDC())
			token := make(h, h.world.op.claims("anna"))
			h.refused(h.login("id", Credential{Token: token, Nonce: "n-1"}, true), ProviderInvalid)
			if n := h.ids.Accounts.players.table.Len(h.st.View()); n != 0 {
				t.Errorf("%d players were made", n)
			}
		})
	}
}

// All that has expired is removed in one sweep, however much it is; otherwise a busy
// server would keep more and more.
func TestSweep_ForgetsAll(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		for range 2*store.DueAtOnce + 1 {
			h.must(h.login("id", h.credential("anna"), true))
		}
		kept := func() int { return h.ids.Merges.proofs.table.Len(h.st.View()) }
		all := kept()
		for kept() == all {
			settle(time.Second)
		}
		if n := kept(); n != 0 {
			t.Errorf("of %d tokens that expired %d are kept", all, n)
		}
	})
}

// A token is good once, however it is written the next time.
func TestLogin_TokenOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	token := h.world.op.token(h.world.op.claims("anna"))
	h.must(h.login("id", Credential{Token: token, Nonce: "n-1"}, true))
	h.refused(h.login("id", Credential{Token: token, Nonce: "n-1"}, true), ProviderInvalid)
	parts := strings.Split(token, ".")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	h.must(err)
	n := elliptic.P256().Params().N
	s := new(big.Int).SetBytes(signature[32:])
	new(big.Int).Sub(n, s).FillBytes(signature[32:])
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(token) - 1
	for name, again := range map[string]string{
		"the other signature": parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(signature),
		"bits that are spare": token[:last] + string(letters[strings.IndexByte(letters, token[last])|1]),
		"a line break":        token[:last] + "\n" + token[last:],
		"a break in claims":   parts[0] + "." + parts[1][:8] + "\n" + parts[1][8:] + "." + parts[2],
		"a space before":      " " + token,
	} {
		if again == token {
			t.Fatalf("%s: it is the same text", name)
		}
		if err := h.login("id", Credential{Token: again, Nonce: "n-1"}, true); !refusal.Is(err, ProviderInvalid) {
			t.Errorf("%s: got %v, want a refusal %s", name, err, ProviderInvalid)
		}
	}
}

// An issuer's new key is found; its old one is refused once the keys have been read again.
func TestLogin_RotatedKey(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		op := h.world.op
		login := func(token string) error {
			return h.login("id", Credential{Token: token, Nonce: "n-1"}, true)
		}
		h.must(login(op.token(op.claims("anna"))))
		old, oldKey := op.current, op.pairs["k1"]
		op.rotate("k2")
		h.refused(login(op.token(op.claims("anna"))), ProviderInvalid) // read a moment ago
		settle(rereadEvery)
		h.must(login(op.token(op.claims("anna"))))
		h.refused(login(op.signed(jose.SigningKey{Algorithm: jose.ES256, Key: oldKey}, old, op.claims("anna"))), ProviderInvalid)
		if n := h.world.calls["id.example/keys"]; n != 2 {
			h.Errorf("the keys were read %d times, want 2", n)
		}
		op.hidden = true
		h.must(login(op.token(op.claims("anna")))) // the keys are still trusted
		settle(keysLast)
		h.refused(login(op.token(op.claims("anna"))), ProviderUnavailable)
		op.hidden = false
		settle(retryEvery)
		h.must(login(op.token(op.claims("anna"))))
	})
}

// The discovery document of another issuer must not introduce its keys.
func TestLogin_DiscoveryOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	h.world.op.issuer = "https://evil.example"
	h.refused(h.login("id", h.credential("anna"), true), ProviderUnavailable)
}

func TestNew_RefusesWrongProviders(t *testing.T) {
	t.Parallel()
	good := ProviderConfig{Name: "id", Kind: OIDC, Issuer: "https://id.example", ClientIDs: []string{"game"}}
	for name, change := range map[string]func(*ProviderConfig){
		"no audience":       func(c *ProviderConfig) { c.ClientIDs = nil },
		"empty audience":    func(c *ProviderConfig) { c.ClientIDs = []string{""} },
		"no issuer":         func(c *ProviderConfig) { c.Issuer = "" },
		"issuer over http":  func(c *ProviderConfig) { c.Issuer = "http://id.example" },
		"HMAC":              func(c *ProviderConfig) { c.Algorithms = []string{"HS256"} },
		"no algorithm":      func(c *ProviderConfig) { c.Algorithms = []string{"none"} },
		"unknown kind":      func(c *ProviderConfig) { c.Kind = "nobody" },
		"name of a path":    func(c *ProviderConfig) { c.Name = "guest" },
		"steam without key": func(c *ProviderConfig) { c.Kind, c.AppID = Steam, "1" },
		"short secret":      func(c *ProviderConfig) { c.Kind, c.URL, c.Secret = Custom, "https://x.example", "short" },
	} {
		c := good
		change(&c)
		if _, err := newProviders([]ProviderConfig{c}, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := newProviders([]ProviderConfig{good, good}, nil); err == nil {
		t.Error("one name twice: accepted")
	}
}
