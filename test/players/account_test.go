package players

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/node"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func (s *stage) read(r response, into any) {
	s.Helper()
	s.must(json.Unmarshal(r.body, into))
}

// bare is a stage without a game.
func bare(t *testing.T, change func(*app.Options)) *stage {
	t.Helper()
	a := node.InProcess(t, change)
	return &stage{T: t, url: a.URL()}
}

// Another service finds the keys by the token's issuer, and verifies the token
// without us.
func TestToken_IsCheckedByItsIssuer(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	c := s.guest()
	parsed, err := jwt.ParseSigned(c.login.AccessToken, []jose.SignatureAlgorithm{jose.ES256})
	s.must(err)
	var claims jwt.Claims
	s.must(parsed.UnsafeClaimsWithoutVerification(&claims))
	var found struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	r := c.send("GET", strings.TrimPrefix(claims.Issuer, s.url)+"/.well-known/openid-configuration", nil)
	s.must(json.Unmarshal(r.body, &found))
	if found.Issuer != claims.Issuer {
		t.Errorf("the issuer calls itself %q, the token %q", found.Issuer, claims.Issuer)
	}
	r = c.send("GET", strings.TrimPrefix(found.Keys, s.url), nil)
	var keys jose.JSONWebKeySet
	s.must(json.Unmarshal(r.body, &keys))
	s.must(parsed.Claims(keys, &claims))
	if claims.Subject != c.login.PlayerID {
		t.Errorf("the token is %q's", claims.Subject)
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	c := s.guest()
	login := protocol.GuestLogin{PlayerID: c.login.PlayerID, GuestSecret: c.login.GuestSecret}
	var again protocol.Session
	c.call("POST", "/auth/guest/login", login, 200, &again)
	if again.PlayerID != c.login.PlayerID || again.GuestSecret != "" {
		t.Errorf("got %+v", again)
	}
	var me protocol.Player
	c.call("PATCH", "/players/me", protocol.PlayerChange{DisplayName: "Anna"}, 200, &me)
	if me.DisplayName != "Anna" || me.Scope != protocol.PlayerScopeGuest {
		t.Errorf("got %+v", me)
	}
	c.refused("POST", "/auth/steam", protocol.ProviderLogin{Token: "14"}, 404, "provider-disabled")
	c.call("POST", "/auth/logout", protocol.LogoutRequest{All: true}, 204, nil)
	c.refused("GET", "/players/me", nil, 401, "token-invalid")
}

func TestData(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	c, other := s.guest(), s.guest()
	const path = "/players/me/data/private/save"
	r := c.send("PUT", path, `{"level": 3}`, "If-None-Match: *")
	if r.status != http.StatusCreated || r.header.Get("ETag") != `"1"` {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	for header, want := range map[string]int{"If-None-Match: *": 412, `If-Match: "2"`: 412, "If-Match: 1": 412, `If-Match: "x"`: 412} {
		if r := c.send("PUT", path, `1`, header); r.status != want {
			t.Errorf("%s: got %d %s, want %d", header, r.status, r.body, want)
		}
	}
	if r := c.send("PUT", path, `{"level":4}`, `If-Match: "1"`); r.status != 200 || r.header.Get("ETag") != `"2"` {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if r := c.send("GET", path, nil); strings.TrimSpace(string(r.body)) != `{"level":4}` {
		t.Errorf("got %s", r.body)
	}
	for header, want := range map[string]int{`"2"`: 304, `W/"2"`: 304, `"1", "2"`: 304, `"1"`: 200, `W/"1"`: 200, `2`: 200} {
		if r := c.send("GET", path, nil, "If-None-Match: "+header); r.status != want || (want == 304) != (len(r.body) == 0) {
			t.Errorf("If-None-Match: %s: got %d %s, want %d", header, r.status, r.body, want)
		}
	}
	for header, want := range map[string]int{`If-Match: "1"`: 412, `If-Match: W/"2"`: 412, `If-None-Match: "2"`: 400} {
		for _, method := range []string{"PUT", "DELETE"} {
			if r := c.send(method, path, `5`, header); r.status != want {
				t.Errorf("%s with %s: got %d %s, want %d", method, header, r.status, r.body, want)
			}
		}
	}
	other.refused("GET", path, nil, 404, "not-found")
	if r := c.send("DELETE", path, nil, `If-Match: "2"`); r.status != http.StatusNoContent {
		t.Errorf("got %d %s", r.status, r.body)
	}
	c.refused("GET", path, nil, 404, "not-found")
	c.call("PUT", path, `"private"`, 201, nil)
	for header, want := range map[string]int{`If-Match: "1"`: 412, `If-Match: "2"`: 412} { // of the deleted value
		if r := c.send("PUT", path, `5`, header); r.status != want {
			t.Errorf("%s: got %d %s, want %d", header, r.status, r.body, want)
		}
	}
	c.refused("PUT", "/players/me/data/server/skill", `9000`, 403, "not-allowed")
	c.refused("GET", "/players/me/data/secret/x", nil, 404, "not-found")
	c.call("PUT", "/players/me/data/public/badge", `"gold"`, 201, nil)
	var seen protocol.PublicPlayer
	other.call("GET", "/players/"+c.login.PlayerID, nil, 200, &seen)
	if len(seen.Data) != 1 || string(seen.Data["badge"].Value) != `"gold"` {
		t.Errorf("got %+v", seen)
	}
	// The operator's own backend writes the data that matchmaking uses.
	c.call("PUT", "/server/players/"+c.login.PlayerID+"/data/server/skill", `12`, 201, nil)
	if r := c.send("GET", "/players/me/data/server/skill", nil); strings.TrimSpace(string(r.body)) != "12" {
		t.Errorf("got %s", r.body)
	}
}

func TestRequests_Refused(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	c := s.guest()
	c.refused("POST", "/auth/refresh", `{"refresh_token":"x","more":1}`, 400, "unknown-field")
	c.refused("POST", "/auth/refresh", `{"refresh_token":1}`, 400, "malformed-json")
	c.refused("POST", "/auth/refresh", nil, 400, "malformed-json")
	c.refused("PATCH", "/players/me", `{"display_name":"`+strings.Repeat("x", 70<<10)+`"}`, 413, "body-too-large")
	c.refused("GET", "/nothing", nil, 404, "not-found")
	c.refused("POST", "/matchmaking/tickets", protocol.TicketRequest{Matchmaker: "nobody"}, 404, "not-found")
	if r := c.send("PATCH", "/players/me", `display_name=x`, "Content-Type: text/plain"); r.status != http.StatusUnsupportedMediaType {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if r := c.send("GET", "/openapi.yaml", nil); r.status != 200 || string(r.body) != string(backend.Description) {
		t.Error("the description is not served as it is")
	}
}

// If callers need keys, limits apply and nobody without a key acts for players.
func TestServe_LimitsHold(t *testing.T) {
	t.Parallel()
	s := bare(t, func(o *app.Options) { o.AcceptAny = false; o.Players.Limits.GuestsPerHour = 3 })
	var c *client
	for range 3 {
		c = s.guest()
	}
	r := (&client{stage: s}).refused("POST", "/auth/guest", nil, 429, "rate-limited")
	if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait < 60 || wait > 1200 {
		t.Errorf("Retry-After is %q, want about 20 minutes", r.header.Get("Retry-After"))
	}
	c.refused("PUT", "/server/players/"+c.login.PlayerID+"/data/server/skill", `12`, 401, "signature-invalid")
	c.refused("PUT", "/server/players/"+c.login.PlayerID+"/ban", protocol.BanRequest{}, 401, "signature-invalid")
	var limited atomic.Int64
	var asking sync.WaitGroup
	for range 100 {
		asking.Go(func() {
			if r, err := c.try(t.Context(), "GET", "/config", nil); err != nil {
				t.Error(err)
			} else if r.status == http.StatusTooManyRequests {
				limited.Add(1)
			}
		})
	}
	if asking.Wait(); limited.Load() == 0 {
		t.Error("a hundred requests at once are all answered")
	}
}
