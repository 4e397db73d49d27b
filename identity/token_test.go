package identity

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/musterhq/muster/internal/refusal"
)

// Anyone who has the published keys can verify a token without us.
func TestAccessToken_ChecksAgainstKeySet(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"ES256", "EdDSA", "RS256"} {
		t.Run(algorithm, func(t *testing.T) {
			h := newHouse(t, Options{Algorithm: algorithm})
			s := h.guest()
			set, err := h.ids.Tokens.Keys.Set()
			h.must(err)
			parsed, err := jwt.ParseSigned(s.AccessToken, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(algorithm)})
			h.must(err)
			var c map[string]any
			h.must(parsed.Claims(set, &c))
			for name, want := range map[string]any{"iss": issuer, "sub": s.PlayerID, "scope": "guest"} {
				if c[name] != want {
					t.Errorf("%s is %v, want %v", name, c[name], want)
				}
			}
			for _, k := range set.Keys {
				if !k.IsPublic() {
					t.Error("a private key is published")
				}
			}
			got := h.who(s)
			if got.PlayerID != s.PlayerID || got.Method != Guest {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The list of RFC 8725, applied to our own tokens.
func TestCheck_Refuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s := h.guest()
	parts := strings.Split(s.AccessToken, ".")
	key := h.ids.Tokens.Keys.active(h.st.View(), time.Now())
	der, err := h.ids.Tokens.Keys.secrets.Open(key.Sealed, "player key "+key.ID)
	h.must(err)
	private, err := x509.ParsePKCS8PrivateKey([]byte(der))
	h.must(err)
	var good map[string]any
	parsed, err := jwt.ParseSigned(s.AccessToken, []jose.SignatureAlgorithm{jose.ES256})
	h.must(err)
	h.must(parsed.UnsafeClaimsWithoutVerification(&good))
	with := func(name string, value any) string {
		c := map[string]any{}
		for k, v := range good {
			if number, ok := v.(float64); ok {
				v = int64(number)
			}
			c[k] = v
		}
		c[name] = value
		_, signer, err := h.ids.Tokens.Keys.signer(h.st.View(), time.Now())
		h.must(err)
		text, err := jwt.Signed(signer).Claims(c).Serialize()
		h.must(err)
		return text
	}
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	typed := func(typ string) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: private}, (&jose.SignerOptions{}).WithType(jose.ContentType(typ)).WithHeader("kid", key.ID))
		h.must(err)
		text, err := jwt.Signed(signer).Claims(good).Serialize()
		h.must(err)
		return text
	}
	hmacSigner, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key.Public}, (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", key.ID))
	h.must(err)
	confused, err := jwt.Signed(hmacSigner).Claims(good).Serialize()
	h.must(err)
	if _, err := h.ids.Tokens.Check(with("jti", "another")); err != nil {
		t.Fatalf("a good token is refused: %v", err)
	}
	for name, c := range map[string]struct {
		token string
		want  refusal.Code
	}{
		"none":                  {header(`{"alg":"none","kid":"`+key.ID+`","typ":"at+jwt"}`) + "." + parts[1] + ".", TokenInvalid},
		"HMAC with public key":  {confused, TokenInvalid},
		"another type":          {typed("JWT"), TokenInvalid},
		"no type":               {typed(""), TokenInvalid},
		"another audience":      {with("aud", "refresh"), TokenInvalid},
		"another issuer":        {with("iss", "https://evil.example"), TokenInvalid},
		"expired":               {with("exp", time.Now().Add(-time.Minute).Unix()), TokenExpired},
		"no end":                {with("exp", nil), TokenInvalid},
		"not yet":               {with("nbf", time.Now().Add(time.Minute).Unix()), TokenInvalid},
		"another player":        {with("sub", h.guest().PlayerID), TokenInvalid},
		"another login":         {with("sid", "nobody"), TokenInvalid},
		"old version":           {with("tv", -1), TokenInvalid},
		"changed payload":       {parts[0] + "." + header(`{"sub":"x"}`) + "." + parts[2], TokenInvalid},
		"refresh token":         {s.RefreshToken, TokenInvalid},
		"nothing":               {"", TokenMissing},
		"unknown key":           {strings.Replace(s.AccessToken, parts[0], header(`{"alg":"ES256","kid":"x","typ":"at+jwt"}`), 1), TokenInvalid},
		"key in its own header": {strings.Replace(s.AccessToken, parts[0], header(`{"alg":"ES256","jwk":{},"typ":"at+jwt"}`), 1), TokenInvalid},
	} {
		if _, err := h.ids.Tokens.Check(c.token); !refusal.Is(err, c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// publiclyGood verifies a token's signature as others do, with the published keys.
func (h *house) publiclyGood(token string) error {
	h.Helper()
	set, err := h.ids.Tokens.Keys.Set()
	h.must(err)
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	h.must(err)
	return parsed.Claims(set, &jwt.Claims{})
}

// Keys are published before they sign and until everything they signed has expired.
func TestKeys_Rotate(t *testing.T) {
	t.Parallel()
	opts := Options{KeyLife: 10 * time.Hour, KeyLead: time.Hour, AccessLife: 15 * time.Minute}
	inHouse(t, opts, func(h *house) {
		first := h.ids.Tokens.Keys.active(h.st.View(), time.Now()).ID
		settle(9*time.Hour + 2*time.Minute)
		if n := h.ids.Tokens.Keys.table.Len(h.st.View()); n != 2 {
			h.Fatalf("%d keys are published, want the next one too", n)
		}
		if now := h.ids.Tokens.Keys.active(h.st.View(), time.Now()).ID; now != first {
			h.Fatal("a key signs before it was published for long enough")
		}
		settle(56 * time.Minute)
		s := h.guest() // signed with the first key, shortly before it retires
		settle(10 * time.Minute)
		if now := h.ids.Tokens.Keys.active(h.st.View(), time.Now()).ID; now == first {
			h.Fatal("a key signs beyond its life")
		}
		h.must(h.check(s.AccessToken))
		for who, token := range map[string]string{"before": s.AccessToken, "after": h.guest().AccessToken} {
			if err := h.publiclyGood(token); err != nil {
				h.Errorf("a token of %s the rotation is not good by the published keys: %v", who, err)
			}
		}
		settle(2 * time.Hour)
		if h.ids.Tokens.Keys.table.Get(h.st.View(), first) != nil {
			h.Error("a key stays published though all it signed has expired")
		}
		if err := h.publiclyGood(s.AccessToken); err == nil {
			h.Error("a token is good by the published keys after its key was removed")
		}
		h.reopen()
	})
}

func TestRefresh_RotatesAndFindsTheft(t *testing.T) {
	t.Parallel()
	inHouse(t, Options{}, func(h *house) {
		s1 := h.guest()
		settle(time.Minute)
		s2, err := h.ids.Tokens.Refresh(h.ctx, s1.RefreshToken)
		h.must(err)
		again, err := h.ids.Tokens.Refresh(h.ctx, s1.RefreshToken) // the answer was lost
		h.must(err)
		if s2.RefreshToken == s1.RefreshToken || again.RefreshToken != s2.RefreshToken {
			h.Fatal("a repeated refresh does not give the same successor")
		}
		h.reopen()
		settle(31 * time.Second)
		h.refused(h.refresh(s1.RefreshToken), RefreshReused)  // stolen
		h.refused(h.refresh(s2.RefreshToken), RefreshInvalid) // the owner has to log in again
		h.refused(h.check(s2.AccessToken), TokenInvalid)
		h.must(h.loginGuest(s1))
	})
}

// Within the grace, using the previous token counts as a theft once the current one
// was used.
func TestRefresh_GraceEndsWithSuccessor(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s1 := h.guest()
	s2, err := h.ids.Tokens.Refresh(h.ctx, s1.RefreshToken)
	h.must(err)
	h.must(h.refresh(s2.RefreshToken))
	h.refused(h.refresh(s1.RefreshToken), RefreshReused)
}

func TestRefresh_AtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s := h.guest()
	var got [8]string
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			next, err := h.ids.Tokens.Refresh(h.ctx, s.RefreshToken)
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = next.RefreshToken
		})
	}
	all.Wait()
	for _, token := range got {
		if token != got[0] {
			t.Fatalf("two refreshes at once gave different successors: %v", got)
		}
	}
}

func TestRefresh_Refuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s := h.guest()
	next := strings.Replace(s.RefreshToken, ".0.", ".1.", 1)
	for _, token := range []string{"", "rt_", "rt_..", s.RefreshToken + "A", s.RefreshToken[:len(s.RefreshToken)-2], next, s.AccessToken, "rt_" + rand.Text()} {
		h.refused(h.refresh(token), RefreshInvalid)
	}
	h.must(h.refresh(s.RefreshToken))
}

func TestRefresh_Ends(t *testing.T) {
	t.Parallel()
	opts := Options{GuestIdle: 10 * time.Hour, RefreshLife: 25 * time.Hour}
	inHouse(t, opts, func(h *house) {
		s := h.guest()
		for range 3 {
			settle(8 * time.Hour)
			var err error
			s, err = h.ids.Tokens.Refresh(h.ctx, s.RefreshToken)
			h.must(err)
		}
		settle(2 * time.Hour)
		h.refused(h.refresh(s.RefreshToken), RefreshInvalid)
		settle(2 * time.Minute)
		if n := h.ids.Tokens.families.table.Len(h.st.View()); n != 0 {
			h.Errorf("%d families are kept beyond their end", n)
		}
	})
}

func TestLogins_AreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{Families: 3})
	first := h.guest()
	for range 3 {
		h.must(h.loginGuest(first))
	}
	h.refused(h.refresh(first.RefreshToken), RefreshInvalid)
	if n := h.ids.Tokens.families.player.Count(h.st.View(), first.PlayerID); n != 3 {
		t.Errorf("the player has %d logins, want 3", n)
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	one := h.guest()
	two, err := h.ids.Logins.LoginGuest(h.ctx, one.PlayerID, one.GuestSecret)
	h.must(err)
	h.must(h.ids.Tokens.Logout(h.ctx, one.RefreshToken))
	h.refused(h.check(one.AccessToken), TokenInvalid)
	claims := h.who(two)
	h.must(h.ids.Tokens.LogoutAccess(h.ctx, claims, true))
	h.refused(h.refresh(two.RefreshToken), RefreshInvalid)
}
