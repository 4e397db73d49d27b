package backend

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// The operator's own backend is limited by its key, a caller without one by its address.
func TestServe_OperatorsCountByKey(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		player, _ := h.guest()
		h.b.rates.address = newMeter("address", 1, time.Second, 1)
		h.b.rates.key = newMeter("key", 3, time.Second, 3)
		h.b.Deps.Operator = func(r *http.Request, _ auth.Action) (auth.Caller, func([]byte) error, error) {
			if key := r.Header.Get("Authorization"); key != "" {
				return auth.Caller{KeyID: key}, func([]byte) error { return nil }, nil
			}
			return auth.Caller{}, nil, fault.New(fault.MissingAuthentication, "sign it")
		}
		send := func(key string) int {
			r := httptest.NewRequest("GET", protocol.Base+"/server/players/"+player+"/data/server/skill", nil)
			r.Header.Set("Authorization", key)
			w := httptest.NewRecorder()
			h.b.ServeHTTP(w, r)
			return w.Code
		}
		for _, c := range []struct {
			key  string
			want int
		}{{"one", 404}, {"one", 404}, {"one", 404}, {"one", 429}, {"two", 404}, {"", 401}, {"", 429}, {"two", 404}} {
			if got := send(c.key); got != c.want {
				t.Errorf("key %q: got %d, want %d", c.key, got, c.want)
			}
		}
	})
}

// New guests are counted by the IPv6 /56 that one customer has: its networks are not
// counted separately.
func TestServe_GuestsCountBySite(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		h.Must(h.ids.Open(h.Ctx))
		h.b.rates.guest = newMeter("guest", 1, time.Hour, 2)
		for _, c := range []struct {
			from string
			want int
		}{
			{"[2001:db8::1]", 201}, {"[2001:db8:0:1::1]", 201}, {"[2001:db8:0:ff::1]", 429}, {"[2001:db8:0:100::1]", 201},
			{"192.0.2.1", 201}, {"192.0.2.2", 201},
		} {
			if code := h.send(c.from, "", "POST", protocol.Base+"/auth/guest", "").Code; code != c.want {
				t.Errorf("a guest from %s: %d, want %d", c.from, code, c.want)
			}
		}
	})
}

// A new guest is made by a request without members only: one who means to come back with an
// account must not silently get another one.
func TestServe_NewGuestTakesNoMembers(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		h.Must(h.ids.Open(h.Ctx))
		h.b.rates.guest = newMeter("guest", 4, time.Hour, 4)
		const login = "send player_id and guest_secret to /player/v1/auth/guest/login"
		for _, c := range []struct{ body, code, says string }{
			{`{"player_id":"p","guest_secret":"s"}`, "unknown-field", "/player_id: there is no such member here, where new accounts are made; to log in with an account " + login},
			{`{"guest_secret":"s"}`, "unknown-field", "/guest_secret: "},
			{`{"player_id":null}`, "unknown-field", login},
			{`{"foo":1}`, "unknown-field", "/foo: there is no such member here"},
			{`[]`, "malformed-json", "/: must be an object"},
			{`{`, "malformed-json", "is no JSON"},
			{"", "", ""}, {"{}", "", ""}, {" {}\n", "", ""}, {"\n", "", ""}, // none of the above has been counted
		} {
			w := h.send("192.0.2.1", "", "POST", protocol.Base+"/auth/guest", c.body)
			if c.code == "" {
				if w.Code != http.StatusCreated {
					t.Errorf("%q: %d %s", c.body, w.Code, w.Body)
				}
				continue
			}
			var p protocol.Problem
			h.Must(json.Unmarshal(w.Body.Bytes(), &p))
			if w.Code != http.StatusBadRequest || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
				t.Errorf("%q: %d %s", c.body, w.Code, w.Body)
			}
		}
	})
}

// parameters fills in the path parameters of routes.
var parameters = strings.NewReplacer("{provider}", "studio", "{namespace}", "private", "{key}", "k",
	"{ticket}", "t", "{party}", "p", "{player}", "me", "{placement}", "p", "{session}", "s")

// Every change by a player is counted: with a limit used up, every route that changes
// something refuses, and so does looking up many players.
func TestServe_EveryChangeIsCounted(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"POST /auth/{provider}": `{"token":"anna"}`, "PATCH /players/me": `{"display_name":"Anna"}`,
		"PUT /players/me/identities/{provider}": `{"token":"anna"}`, "POST /players/me/merge": `{"conflict_token":"ct_x","keep":"mine"}`,
		"PUT /players/me/data/{namespace}/{key}": `1`, "PUT /players/me/latency": `{"samples":[]}`,
		"POST /matchmaking/tickets": `{"matchmaker":"alone"}`, "POST /matchmaking/tickets/{ticket}/acceptance": `{"accept":true}`,
		"POST /parties": `{"matchmaker":"alone"}`, "POST /parties/join": `{"code":"AAAAAA"}`, "PUT /parties/{party}/members/me": `{"ready":true}`,
		"POST /sessions": `{"pool":"empty"}`, "POST /players/lookup": `{"ids":["x"]}`,
	}
	apart := map[string]bool{ // not by a known player; a failed login locks out
		"POST /auth/guest/login": true, "POST /auth/refresh": true, "POST /auth/logout": true,
	}
	inHouse(t, func(h *house) {
		playerID, token := h.guest()
		none := func(name string) meter {
			m := newMeter(name, 1, time.Hour, 1)
			for _, key := range []string{playerID, "192.0.2.1/32", "lookup " + playerID, "accept " + playerID} {
				m.buckets.Take(key, time.Now())
			}
			return m
		}
		*h.b.rates = meters{
			metrics: h.b.metrics,
			guest:   none("guest"), login: none("login"), ticket: none("ticket"), session: none("session"), write: none("write"), message: none("message"),
		}
		for _, rt := range h.b.routes() {
			if rt.method == http.MethodGet || rt.access.who == operator || apart[rt.name()] {
				continue
			}
			w := h.send("192.0.2.1", token, rt.method, parameters.Replace(rt.path), bodies[rt.name()])
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: got %d %s", rt.name(), w.Code, w.Body)
			}
		}
	})
}

// A lookup of players who have much data is refused; otherwise one request could make the
// server answer with 12 MiB.
func TestServe_LookUpIsBounded(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		var ids []string
		var token string
		for range mostToldOf/identity.MaxNamespace + 1 {
			var id string
			id, token = h.guest()
			ids = append(ids, id)
			value := jsontext.Value(`"` + strings.Repeat("x", identity.MaxValue-2) + `"`)
			for i := range identity.MaxNamespace / identity.MaxValue {
				_, err := h.ids.Data.Put(h.Ctx, id, identity.Public, itoa(int64(i)), value, identity.Expect{})
				h.Must(err)
			}
		}
		lookUp := func(ids ...string) int {
			body, err := json.Marshal(protocol.PlayerLookup{IDs: ids})
			h.Must(err)
			return h.send("192.0.2.1", token, "POST", protocol.Base+"/players/lookup", string(body)).Code
		}
		most := ids[1:]
		if code := lookUp(append(most, most...)...); code != 200 {
			t.Errorf("as much as may be, each asked for twice: got %d", code)
		}
		for _, many := range [][]string{ids, slices.Repeat([]string{"x"}, 51), nil} {
			if code := lookUp(many...); code != 422 {
				t.Errorf("of %d players: got %d", len(many), code)
			}
		}
	})
}

// A client that guesses is locked out: of the account on that network, and with many
// accounts as the network; nobody else is.
func TestServe_GuessersAreLockedOut(t *testing.T) {
	t.Parallel()
	const login, here, there = protocol.Base + "/auth/guest/login", "192.0.2.1", "192.0.2.2"
	inHouse(t, func(h *house) {
		h.b.config.Open = false // on an open server all addresses are one
		h.Must(h.ids.Open(h.Ctx))
		s, err := h.ids.Logins.CreateGuest(h.Ctx)
		h.Must(err)
		try := func(from, player, secret string) int {
			return h.send(from, "", "POST", login, `{"player_id":"`+player+`","guest_secret":"`+secret+`"}`).Code
		}
		wants := func(what string, got, want int) {
			t.Helper()
			if got != want {
				t.Errorf("%s: got %d, want %d", what, got, want)
			}
		}
		for range failuresOfAccount {
			wants("a guess", try(here, s.PlayerID, "guess"), 401)
		}
		wants("the account, after five guesses", try(here, s.PlayerID, s.GuestSecret), 429)
		wants("the owner, elsewhere", try(there, s.PlayerID, s.GuestSecret), 200)
		wait.Pass(accountLock)
		wants("a guess a minute later", try(here, s.PlayerID, "guess"), 401)
		wants("the account, then", try(here, s.PlayerID, s.GuestSecret), 200)
		for range failuresOfAddress - failuresOfAccount - 1 {
			wants("a guess at another account", try(here, newID(), "guess"), 401)
		}
		wants("the network, after ten guesses", try(here, s.PlayerID, s.GuestSecret), 429)
		wants("the network, at a provider", h.send(here, "", "POST", protocol.Base+"/auth/studio", `{"token":"anna"}`).Code, 429)
		wants("the owner, elsewhere", try(there, s.PlayerID, s.GuestSecret), 200)
		wait.Pass(addressLock)
		wants("the network, ten minutes later", try(here, s.PlayerID, s.GuestSecret), 200)
	})
}

// Players name what they play by its name; the ARN behind it is the operator's.
func TestNames(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		_, token := h.guest()
		for path, names := range map[string]map[string]int{
			"/matchmaking/tickets": {"alone": 201, "arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/alone": 404, "other": 404},
			"/sessions":            {"empty": 202, "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/empty": 404, "other": 404},
		} {
			for name, want := range names {
				body := fmt.Sprintf(`{"matchmaker":%q}`, name)
				if path == "/sessions" {
					body = fmt.Sprintf(`{"pool":%q}`, name)
				}
				if got := h.send("192.0.2.1", token, "POST", protocol.Base+path, body); got.Code != want {
					t.Errorf("%s %s: %d, want %d: %s", path, name, got.Code, want, got.Body)
				}
			}
		}
	})
}
