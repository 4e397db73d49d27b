package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/refusal"
)

func TestLogin_Steam(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		want   refusal.Code
	}{
		"good":             {`{"response":{"params":{"result":"OK","steamid":"76561198000000001","ownersteamid":"76561198000000001","vacbanned":false,"publisherbanned":false}}}`, ""},
		"bad ticket":       {`{"response":{"error":{"errorcode":101,"errordesc":"Invalid ticket"}}}`, ProviderInvalid},
		"banned by VAC":    {`{"response":{"params":{"result":"OK","steamid":"7","ownersteamid":"7","vacbanned":true,"publisherbanned":false}}}`, Banned},
		"banned by studio": {`{"response":{"params":{"result":"OK","steamid":"7","ownersteamid":"7","vacbanned":false,"publisherbanned":true}}}`, Banned},
		"borrowed":         {`{"response":{"params":{"result":"OK","steamid":"7","ownersteamid":"8"}}}`, ProviderInvalid},
		"no id":            {`{"response":{"params":{"result":"OK"}}}`, ProviderInvalid},
		"down":             {``, ProviderUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, Options{Providers: []ProviderConfig{{Name: "steam", AppID: "480", Secret: "publisher"}}})
			h.world.HandleFunc("partner.steam-api.com/ISteamUserAuth/AuthenticateUserTicket/v1/", func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				if q.Get("key") != "publisher" || q.Get("appid") != "480" || q.Get("ticket") != "14ab" || q.Get("identity") != "muster" {
					t.Errorf("Steam was asked %v", q)
				}
				if c.answer == "" {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				io.WriteString(w, c.answer)
			})
			_, err := h.ids.Logins.Login(h.ctx, "steam", Credential{Token: "14ab", Identity: "muster"}, true)
			if c.want == "" {
				h.must(err)
				return
			}
			h.refused(err, c.want)
		})
	}
	h := newHouse(t, Options{Providers: []ProviderConfig{{Name: "steam", AppID: "480", Secret: "publisher"}}})
	h.refused(h.login("steam", Credential{Token: "14ab&appid=1"}, true), ProviderInvalid) // a ticket is hex
}

// The token's application is checked, since a token of another one proves nothing here.
func TestLogin_Facebook(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{Providers: []ProviderConfig{{Name: "facebook", AppID: "1"}}})
	app := "1"
	h.world.HandleFunc("graph.facebook.com/app", func(w http.ResponseWriter, r *http.Request) {
		json.MarshalWrite(w, map[string]string{"id": app})
	})
	h.world.HandleFunc("graph.facebook.com/me", func(w http.ResponseWriter, r *http.Request) {
		json.MarshalWrite(w, map[string]string{"id": "me-" + r.URL.Query().Get("access_token")})
	})
	s, err := h.ids.Logins.Login(h.ctx, "facebook", Credential{Token: "T&x"}, true)
	h.must(err)
	if got := s.Links[0].Subject; got != "me-T&x" {
		t.Errorf("the subject is %q", got)
	}
	app = "2"
	h.refused(h.login("facebook", Credential{Token: "T&x"}, true), ProviderInvalid)
}

func TestLogin_Custom(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	h := newHouse(t, Options{Providers: []ProviderConfig{{Name: "studio", Kind: Custom, URL: "https://studio.example/who", Secret: secret}}})
	h.world.HandleFunc("POST studio.example/who", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(r.Header.Get("X-Muster-Timestamp") + "."))
		mac.Write(body)
		if r.Header.Get("X-Muster-Signature") != hex.EncodeToString(mac.Sum(nil)) {
			t.Error("the call is not signed")
		}
		if string(body) != `{"token":"good"}` {
			w.WriteHeader(http.StatusForbidden)
		}
		io.WriteString(w, `{"subject":"anna","more":1}`)
	})
	h.must(h.login("studio", Credential{Token: "good"}, true))
	h.refused(h.login("studio", Credential{Token: "bad"}, true), ProviderInvalid)
}

// The kinds with a published issuer accept exactly that one.
func TestLogin_KnownIssuers(t *testing.T) {
	t.Parallel()
	for kind, c := range map[Kind]struct {
		keys    string
		issuers []string
	}{
		Apple:           {"appleid.apple.com/auth/keys", []string{"https://appleid.apple.com"}},
		Google:          {"www.googleapis.com/oauth2/v3/certs", []string{"https://accounts.google.com", "accounts.google.com"}},
		FacebookLimited: {"limited.facebook.com/.well-known/oauth/openid/jwks/", []string{"https://www.facebook.com", "https://facebook.com"}},
		Epic:            {"api.epicgames.dev/auth/v1/oauth/jwks", []string{"https://api.epicgames.dev/auth/v1/oauth"}},
	} {
		t.Run(string(kind), func(t *testing.T) {
			h := newHouse(t, Options{Providers: []ProviderConfig{{Name: string(kind), ClientIDs: []string{"game"}}}})
			pair := rsaPair(t)
			h.world.HandleFunc(c.keys, func(w http.ResponseWriter, _ *http.Request) {
				json.MarshalWrite(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: pair.Public(), KeyID: "r", Algorithm: "RS256", Use: "sig"}}})
			})
			login := func(issuer, nonce string) error {
				claims := h.world.op.claims("anna")
				claims["iss"] = issuer
				token := h.world.op.signed(jose.SigningKey{Algorithm: jose.RS256, Key: pair}, "r", claims)
				_, err := h.ids.Logins.Login(h.ctx, string(kind), Credential{Token: token, Nonce: nonce}, true)
				return err
			}
			for _, issuer := range c.issuers {
				h.must(login(issuer, "n-1"))
			}
			h.refused(login("https://id.example", "n-1"), ProviderInvalid)
			h.refused(login(c.issuers[0], ""), ProviderInvalid) // the token has a nonce
		})
	}
}
